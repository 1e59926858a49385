// The command line of `tessera limits`, and its table.

#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>
#include <optional>

#include <tessera/cli/nearest.hpp>
#include <tessera/cli/sizes.hpp>
#include <tessera/report/table.hpp>
#include <tessera/table/runtime.hpp>

#include "arguments.hpp"

namespace tessera::study {

namespace {

std::string percent(double share) {
  if (!std::isfinite(share)) return "-";
  return share > 0.995 ? "100%" : share < 0.01 ? "under 1%" : std::to_string(std::lround(100 * share)) + "%";
}

}  // namespace

int run_limits(std::vector<App> const& apps, std::vector<std::string> const& words) {
  std::string file, space, names = "all";
  std::optional<model::Link> link;
  std::vector<std::size_t> ranks{1000, 100000};
  std::size_t each = std::size_t{1} << 28;
  std::vector<OptionEntry> const options{
      {"--machine", "FILE", "roofs of one rank, from a report or --save-machine", to(file)},
      {"--link", "SECONDS,BYTES", "link of one rank: message latency in seconds, bytes per second",
       [&](auto const& option, auto const& text) { link = model::parse_link(option, text); }},
      {"--space", "NAME", "execution space in the machine file (default: its only one, or the GPU's)", to(space)},
      {"--ranks", "N,N", "numbers of ranks (default 1000,100000)",
       [&](auto const&, auto const& text) { ranks = parse_sizes(text, "ranks", "--ranks 1000,100000"); }},
      {"--size-per-rank", "N", "elements per rank of weak scaling (default 2^28)",
       [&](auto const&, auto const& text) {
         each = parse_sizes(text, "size-per-rank", "--size-per-rank 2^28").front();
       }},
      {"--apps", "a,b", "mini-apps (default: all that run on several ranks)", to(names)}};
  if (asks_for_help(words)) {
    std::cout << "tessera limits: predicts where the mini-apps stop scaling, as a table in Markdown\n\nusage\n"
                 "  tessera limits --machine FILE --link SECONDS,BYTES\n\noptions\n"
              << options_text(options, 25) << std::flush;
    return 0;
  }
  parse_words(words, "tessera limits", options, [](std::string const& word) {
    throw UserError("unexpected argument `" + word + "` (tessera limits has options only); see tessera limits --help");
  });
  if (file.empty() || !link) {
    throw UserError("--machine or --link is missing (the table needs both); see tessera limits --help");
  }
  for (std::size_t const count : ranks) {
    if (count < 2 || count > 10000000 || each < 1 || each > (std::size_t{1} << 36)) {
      throw UserError(
          "bad --ranks or --size-per-rank (2 to 10^7 ranks of 1 to 2^36 elements); see tessera limits --help");
    }
  }
  std::map<std::string, model::Machine> const machines = model::read_machines(file);
  if (space.empty() && !machines.empty()) {
    auto const gpu = std::ranges::find_if(machines, [](auto const& one) { return !is_host_space(one.first); });
    space = gpu != machines.end() ? gpu->first : machines.begin()->first;
  }
  Words known;
  for (auto const& [name, ignored] : machines) known.push_back(name);
  check_name("space", space, known, file + " has");
  auto const machine = machines.find(space);
  Roofs const& roofs = machine->second.roofs;
  std::cout << "A rank is one " << machine->second.device << " (" << space << "): copy "
            << format_number(roofs.copy_bytes_per_second / 1e9) << " GB/s, float peak "
            << format_number(roofs.peak(DType::float32) / 1e9) << " GFLOP/s, a launch "
            << format_seconds(roofs.launch_seconds) << ", with its fence "
            << format_seconds(roofs.launch_and_fence_seconds) << ". Message latency between ranks is "
            << format_seconds(link->word_seconds) << ", a rank's link moves "
            << format_number(link->bytes_per_second / 1e9) << " GB/s. Float, default parameters, weak scaling at "
            << size_text(each) << " elements per rank."
            << (roofs.unsure.empty() ? "" : " The roofs are unsure (" + roofs.unsure + "), and so is this table.")
            << "\n\n| mini-app | ranks exchange |";
  for (std::size_t const count : ranks) {
    std::cout << " " << count << " ranks: efficiency | bound by | elements per rank for 50% |";
  }
  std::cout << "\n|---|---|";
  for (std::size_t i = 0; i < ranks.size(); ++i) std::cout << "---:|---|---:|";
  std::cout << "\n";
  for (App const* const app : find_apps(apps, names)) {
    if (!app->distributed || !is_modelled(*app)) continue;
    std::string line;
    for (std::size_t const count : ranks) {
      std::optional<model::Limit> const limit =
          model::limit_of([&](std::size_t size) { return model_case(*app, DType::float32, size, {}); }, count, each,
                          machine->second, *link);
      if (!limit) break;
      std::size_t const working = limit->working_ranks;
      bool const few = 10 * working < 9 * count;
      if (line.empty()) line = concat("| ", limit->app, " | ", limit->by, " |");
      bool const is_known = std::isfinite(limit->weak_efficiency);
      line += " " + percent(limit->weak_efficiency) + " | " +
              (few        ? concat("rows: ", working, working == 1 ? " rank works" : " ranks work")
               : is_known ? std::string(limit->bound)
                          : "-") +
              " | " +
              (!is_known      ? "-"
               : limit->never ? "never"
                              : size_text(limit->least_each)) +
              " |";
    }
    if (!line.empty()) std::cout << line << "\n";
  }
  std::cout << std::flush;
  return 0;
}

}  // namespace tessera::study
