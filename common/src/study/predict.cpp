// The command line of `tessera predict`: the model's time beside each time in a report.

#include <algorithm>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>

#include <nlohmann/json.hpp>

#include <tessera/cli/nearest.hpp>
#include <tessera/cli/sizes.hpp>
#include <tessera/table/runtime.hpp>

#include "../report/thread_facts.hpp"
#include "arguments.hpp"

namespace tessera::study {

namespace {

using Json = nlohmann::json;

// The value of a report for a parameter. Nothing if the report has none of its type.
std::optional<ParameterValue> value_of(ParameterSpec const& spec, Json const& value) {
  return std::visit(
      [&]<class Value>(Value const&) -> std::optional<ParameterValue> {
        bool const fits = std::is_same_v<Value, bool>           ? value.is_boolean()
                          : std::is_same_v<Value, std::int64_t> ? value.is_number_integer()
                          : std::is_same_v<Value, double>       ? value.is_number()
                                                                : value.is_string();
        if (!fits) return std::nullopt;
        return value.get<Value>();
      },
      spec.default_value);
}

// What `--name value` gave; sizes, seeds and dtypes are told otherwise.
ParameterMap parameters_of(App const& app, Json const& values) {
  ParameterMap result;
  for (ParameterSpec const& spec : app.parameters) {
    if (spec.given_by != GivenBy::option || !values.contains(spec.name)) continue;
    if (auto const value = value_of(spec, values[spec.name])) result[spec.name] = *value;
  }
  return result;
}

std::optional<DType> dtype_of(App const& app, std::string const& name) {
  for (Row const& row : app.rows) {
    if (name_of(row.dtype) == name) return row.dtype;
  }
  return std::nullopt;
}

// A line for each row that ran on generated input and passed. Its prediction is empty if the model cannot know it.
void write_lines(std::vector<App> const& apps, Json const& report,
                 std::map<std::string, model::Machine> const& machines, model::Link const& link) {
  Json const& system = report.at("system");
  std::size_t const ranks = system.contains("ranks") ? std::stoul(system["ranks"].get<std::string>()) : 1;
  for (Json const& row : report.at("rows")) {
    if (row.at("status") != "passed" || !row.at("seconds").is_number()) continue;
    Json const& of = report.at("input").at(row.at("case").get<std::size_t>());
    auto const name = row.at("app").get<std::string>();
    auto const app = std::ranges::find(apps, name, [](App const& one) { return one.info.name; });
    auto const machine = machines.find(row.at("space").get<std::string>());
    if (app == apps.end() || machine == machines.end() || of.at("source") != "generated") continue;
    std::optional<DType> const dtype = dtype_of(*app, row.at("dtype").get<std::string>());
    if (!dtype || (ranks > 1 && row.at("level") != "ranks")) continue;
    model::ModelCase const c =
        model_case(*app, *dtype, of.at("size").get<std::size_t>(), parameters_of(*app, of.at("parameters")));
    std::optional<model::Talk> const talk = model::talk_of(c, ranks);
    std::cout << app->info.name << ',' << of["size"] << ',' << name_of(*dtype) << ',' << machine->first << ',' << ranks
              << ',';
    if (talk && is_modelled(*app)) {
      // The report's space may not be in this build.
      bool const is_host = !report::threads_of_device(machine->second.device).empty();
      model::Predicted const predicted = model::predict(c, *talk, ranks, machine->second, link, is_host);
      std::cout << predicted.seconds() << ',' << predicted.bound();
    } else {
      std::cout << ',';
    }
    std::cout << ',' << row["seconds"].get<double>() << ',' << row["variant"].get<std::string>() << ','
              << row.value("noisy", false) << ',' << !machine->second.roofs.unsure.empty() << '\n';
  }
}

}  // namespace

int run_predict(std::vector<App> const& apps, Words const& words) {
  std::string file;
  model::Link link;
  Words paths;
  std::vector<OptionEntry> const options{
      {"--machine", "FILE", "roofs, from a report or --save-machine (default: those of each report)", to(file)},
      {"--link", "SECONDS,BYTES", "link of one rank: message latency in seconds, bytes per second",
       [&](auto const& option, auto const& text) { link = model::parse_link(option, text); }}};
  if (asks_for_help(words)) {
    std::cout << "tessera predict: the model's time beside each time in reports, as CSV\n\nusage\n  tessera predict "
                 "REPORT.json... [options]\n\noptions\n"
              << options_text(options, 25) << std::flush;
    return 0;
  }
  parse_words(words, "tessera predict", options, [&](std::string const& path) { paths.push_back(path); });
  if (paths.empty()) throw UserError("no report after `tessera predict` (it needs one); see tessera predict --help");
  std::map<std::string, model::Machine> machines;
  if (!file.empty()) machines = model::read_machines(file);
  std::cout << predictions_head << '\n';
  for (std::string const& path : paths) {
    if (file.empty()) machines = model::read_machines(path);
    std::ifstream stream(path);
    Json const report = Json::parse(stream, nullptr, false);
    try {
      write_lines(apps, report, machines, link);
    } catch (UserError const&) {
      throw;
    } catch (std::exception const& problem) {  // from the JSON library, or an invalid number of ranks
      throw UserError("cannot read " + path + " (" + problem.what() + "); give a report of --json");
    }
  }
  std::cout << std::flush;
  return 0;
}

}  // namespace tessera::study
