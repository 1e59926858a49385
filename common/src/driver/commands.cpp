#include "commands.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include <tessera/cli/nearest.hpp>
#include <tessera/cli/sizes.hpp>
#include <tessera/table/runtime.hpp>

#include "../cli/option_table.hpp"

namespace tessera {

namespace {

namespace fs = std::filesystem;

std::string run_of(Command const& command, std::string const& apps) {
  return program_as_called(command.typed) + (command.in_suite ? " run " + apps : "");
}

// Returns the command line without these options and their values.
std::vector<std::string> without_options(Command const& command, std::vector<std::string> const& arguments,
                                         std::vector<std::string> const& dropped) {
  Options unused;
  std::vector<cli::OptionEntry> const table = cli::option_table(command, unused);
  std::vector<std::string> kept;
  bool drops = false;
  for (std::string const& argument : arguments) {
    std::string const name = argument.substr(0, argument.find('='));
    bool const option = std::ranges::find(table, name, &cli::OptionEntry::name) != table.end();
    // A word that is not an option is a value of the preceding option.
    if (option || argument.starts_with("--kokkos-")) drops = std::ranges::find(dropped, name) != dropped.end();
    if (!drops) kept.push_back(argument);
  }
  return kept;
}

}  // namespace

std::string quoted(std::string const& text) {
  std::string_view const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%^";
  if (!text.empty() && text.find_first_not_of(plain) == std::string::npos) return text;
  std::string result = "'";
  for (char const letter : text) result += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return result + "'";
}

std::string program_as_called(std::string const& typed) {
  char const* const launcher = std::getenv("TESSERA_LAUNCHER");
  if (launcher == nullptr || *launcher == '\0') return quoted(typed);
  return concat(launcher, " ", quoted(fs::path(typed).filename().string()));
}

std::string repeat_command(Command const& command, Options const& options, std::vector<std::string> const& arguments,
                           PlannedCase const& planned, Row const& row) {
  std::string text = run_of(command, std::string(planned.app->info.name));
  if (planned.path.empty()) {
    text += concat(" --size ", size_text(planned.size), " --seed ", options.seed, " --dtype ", name_of(planned.dtype));
  } else {
    text += " --input " + quoted(planned.path);
  }
  text += concat(" --variant ", row.info.name, " --space ", row.space);
  std::vector<std::string> dropped{"--size",    "--size-per-rank", "--seed",         "--input",  "--inputs", "--sweep",
                                   "--variant", "--level",         "--space",        "--dtype",  "--json",   "--csv",
                                   "--output",  "--log",           "--save-machine", "--digest", "--lines"};
  for (ParameterSpec const& spec : planned.app->parameters) {
    // An option that shapes generated data is not allowed with a single file.
    if (spec.shapes_generated && !planned.path.empty()) dropped.push_back("--" + spec.name);
    if (spec.sweep && options.parameters.size() > 1 && options.parameters.front().contains(spec.name)) {
      text += " --" + spec.name + " " + to_string(planned.parameters.at(spec.name));
      dropped.push_back("--" + spec.name);
    }
  }
  for (std::string const& argument : without_options(command, arguments, dropped)) text += " " + quoted(argument);
  return text;
}

std::vector<std::pair<std::string, std::string>> commands_to_try(Command const& command, Options const& options,
                                                                 Plan const& plan,
                                                                 std::pair<std::string, std::string> const& slowest) {
  std::vector<std::string> apps;
  std::size_t sizes = 0;
  for (PlannedCase const& planned : plan.cases) {
    std::string const name(planned.app->info.name);
    if (std::ranges::find(apps, name) == apps.end()) apps.push_back(name);
    if (planned.path.empty()) ++sizes;
  }
  std::string const all = command.program.substr(command.program.rfind(' ') + 1);  // of "tessera run all"
  std::string const one = slowest.first.empty() ? apps.front() : slowest.first;
  std::string const largest =
      options.sizes.empty() ? "2^24" : size_text(*std::max_element(options.sizes.begin(), options.sizes.end()));
  std::vector<std::pair<std::string, std::string>> commands;
  if (sizes == 0) {
    commands.emplace_back(run_of(command, all) + " --size 2^24 --digest", "how fast: 2^24 generated elements");
  }
  if (!options.from_files() && fs::is_directory("inputs")) {
    commands.emplace_back(run_of(command, all) + " --inputs inputs --digest", "cases with known results");
  }
  if (sizes > 0) {
    bool const compared = !slowest.second.empty() && apps.size() > 1;
    commands.emplace_back(run_of(command, one) + " --size " + largest,
                          "all its rows" + (compared ? ": furthest from its roof, " + slowest.second : ""));
  }
  if (options.sizes.size() < 2) {
    commands.emplace_back(run_of(command, one) + " --size 2^16:2^26 --json sizes.json",
                          "how it scales, with all samples");
  }
  commands.emplace_back(command.in_suite ? program_as_called(command.typed) + " help " + one
                                         : program_as_called(command.typed) + " --help",
                        "its options and variants");
  if (!options.dtypes.given && enabled_dtypes().size() > 1) {
    commands.emplace_back(run_of(command, all) + " --dtype all --digest", "all of " + join(enabled_dtypes()));
  }
  commands.resize(std::min<std::size_t>(commands.size(), 3));
  return commands;
}

}  // namespace tessera
