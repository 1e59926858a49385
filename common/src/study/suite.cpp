// The command line of the umbrella program.

#include <tessera/study/run_suite.hpp>

#include <algorithm>
#include <limits>

#include <tessera/cli/nearest.hpp>
#include <tessera/cli/options.hpp>
#include <tessera/cli/sweeps.hpp>
#include <tessera/report/table.hpp>
#include <tessera/table/app.hpp>

#include "../driver/task.hpp"
#include "arguments.hpp"

namespace tessera {

namespace {

std::string suite_help() {
  return "tessera: a suite of Kokkos mini-apps\n\nusage\n  tessera list                        the mini-apps\n  "
         "tessera help APP                    one mini-app: its options and variants\n  tessera run APP [options]     "
         "      run one; its own options are those of `tessera help APP`\n  tessera run all [options]           run "
         "every mini-app; also APP,APP\n  tessera run all --inputs DIR        run each on the cases DIR/<app>/*.h5\n  "
         "tessera run all --digest            print one screen instead of the tables\n  tessera run --sweep NAME "
         "[options]  the cases of a benchmark table; names in `tessera list`\n  tessera compare OLD NEW             "
         "reports of two builds: what became slower (tessera compare --help)\n  tessera study --preset NAME         a "
         "study's launches: strong, weak, sizes, variants; --run runs them\n  tessera predict REPORT.json ...     "
         "the model's time beside each time in reports\n  tessera limits --machine FILE ...   "
         "predict where the mini-apps stop scaling\n  tessera roof PEAK,BANDWIDTH [X...]  the ridge of these roofs, "
         "and what they allow at X FLOP/B\n  tessera --help | --version\n\nexamples\n  tessera run all --inputs "
         "inputs --json report.json\n  tessera run all --inputs inputs --size 2^24 --digest --log tables.txt\n  "
         "tessera run all --help              the options common to all mini-apps\n\nexit codes\n  0  every row "
         "verified, 1  a row failed, 2  a mistake and nothing ran,\n  128 + signal  interrupted (130: Ctrl-C, 143: "
         "SIGTERM)\n";
}

std::string suite_list(std::vector<App> const& apps) {
  std::size_t width = 0;
  for (App const& app : apps) width = std::max(width, app.info.name.size());
  auto const line = [&](std::string_view name, std::size_t count, std::string_view what, std::string_view summary) {
    return concat(padded(name, width), count < 10 ? "   " : "  ", count, what, summary, "\n");
  };
  std::string text;
  for (App const& app : apps) text += line(app.info.name, app.variants.size(), " variants  ", app.info.summary);
  std::string of_sweeps;
  for (Sweep const& sweep : sweeps()) {
    if (std::ranges::find(apps, sweep.app, [](App const& app) { return app.info.name; }) == apps.end()) continue;
    of_sweeps += line(sweep.name, sweep.cases.size(), " cases     ", sweep.summary);
  }
  if (!of_sweeps.empty()) text += "\nsweeps, run by `tessera run --sweep NAME`\n" + of_sweeps;
  return text;
}

// `tessera roof`: prints the ridge, and the attainable performance at some arithmetic intensities.
std::string roof_text(std::vector<std::string> const& arguments) {
  if (arguments.empty()) {
    throw UserError(
        "no roof after `tessera roof` (it needs peak and bandwidth); write for example tessera roof 19.5e12,1555e9 "
        "0.1875");
  }
  Roofs const roofs = parse_roof("tessera roof", arguments.front());
  double const peak = roofs.peak(DType::float32);
  double const bandwidth = roofs.copy_bytes_per_second;
  std::string text = "peak " + format_number(peak / 1e9) + " GFLOP/s, memory " + format_number(bandwidth / 1e9) +
                     " GB/s: the ridge is at " + format_number(peak / bandwidth) + " FLOP/B\n";
  ParameterSpec intensity{"FLOP/B", "operations per byte", 0.1875, {}};
  intensity.minimum = std::numeric_limits<double>::min();
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    double const x = std::get<double>(parse_parameter(intensity, arguments[i]).front());
    double const reached = x / roofs.least_seconds(1, x, peak);
    text += to_string(x) + " FLOP/B: at most " + format_number(reached / 1e9) + " GFLOP/s, " +
            format_number(100 * reached / peak) + "% of the peak, bound by " +
            (roofs.compute_bound(1, x, peak) ? "arithmetic" : "memory") + "\n";
  }
  return text;
}

// Returns the mini-app of the sweep in `tessera run --sweep NAME`, or nullptr without --sweep.
App const* app_of_sweep(std::vector<App> const& apps, std::vector<std::string> const& arguments) {
  std::string const option = "--sweep";
  auto const at = std::ranges::find_if(
      arguments, [&](std::string const& argument) { return argument == option || argument.starts_with(option + "="); });
  if (at == arguments.end()) return nullptr;
  bool const joined = at->size() > option.size();
  if (!joined && at + 1 == arguments.end()) {
    throw UserError("no value for --sweep (it needs one); write --sweep NAME with a name that `tessera list` shows");
  }
  std::string const name = joined ? at->substr(option.size() + 1) : *(at + 1);
  std::vector<std::string> names;
  for (App const& app : apps) {
    for (Sweep const& sweep : sweeps_of(app.info.name)) {
      if (sweep.name == name) return &app;
      names.emplace_back(sweep.name);
    }
  }
  if (names.empty())
    throw UserError("no sweep `" + name + "` (this build has no mini-app with sweeps); see tessera list");
  throw UserError(unknown_name("sweep", name, names, "this build has"));
}

Task suite_task(std::vector<App> const& apps, std::vector<std::string> const& arguments, std::string const& typed) {
  std::vector<std::string> const commands{"list", "run", "study", "predict", "compare", "limits", "roof", "help"};
  if (arguments.empty()) throw UserError("no command (there are " + join(commands) + "); see tessera --help");
  std::string const& command = arguments[0];
  std::vector<std::string> const rest(arguments.begin() + 1, arguments.end());
  std::string const asked = "tessera " + join(arguments, " ");
  auto const expect_end = [&](std::size_t count) {
    if (arguments.size() > count) {
      throw UserError("unexpected argument `" + arguments[count] + "` (tessera " + command + " takes no more); see " +
                      "tessera --help");
    }
  };
  if (command == "--help" || command == "-h" || (command == "help" && arguments.size() == 1)) {
    return task_of_text(asked, suite_help);
  }
  if (command == "--version") {
    expect_end(1);
    return task_of_text(asked, [] { return version_text("tessera"); });
  }
  if (command == "list" || command == "--list") {
    expect_end(1);
    return task_of_text(asked, [&apps] { return suite_list(apps); });
  }
  if (command == "help") {
    expect_end(2);
    Command const of{"tessera run " + arguments[1], study::find_apps(apps, arguments[1], "there are"), true};
    return task_of_text(asked, [of] { return help_text(of); });
  }
  if (command == "roof") return task_of_text(asked, [rest] { return roof_text(rest); });
  auto const other = [&](std::function<int()> const& run) { return Task{{{"what to do", asked}}, run}; };
  if (command == "compare") return other([rest] { return comparison::run_compare(rest); });
  if (command == "study") return other([&apps, rest, typed] { return study::run_study(apps, rest, typed); });
  if (command == "predict") return other([&apps, rest] { return study::run_predict(apps, rest); });
  if (command == "limits") return other([&apps, rest] { return study::run_limits(apps, rest); });
  if (command != "run") {
    std::vector<std::string> names;
    for (App const& app : apps) names.emplace_back(app.info.name);
    bool const is_app = std::ranges::find(names, command) != names.end();
    if (!is_app && !nearest(command, commands).empty()) throw UserError(unknown_name("command", command, commands));
    throw UserError("unknown command `" + shortened(command) + "` (" +
                    (is_app ? "it is a mini-app: `tessera run` runs them" : "there are " + join(commands)) + "); " +
                    did_you_mean(command, names, "see tessera --help", "tessera run "));
  }
  if (arguments.size() < 2 || arguments[1].starts_with('-')) {
    if (arguments.size() > 1 && (arguments[1] == "--help" || arguments[1] == "-h")) {
      return task_of_text(asked, suite_help);
    }
    if (App const* const app = app_of_sweep(apps, arguments)) {
      return task_of({"tessera run " + std::string(app->info.name), {app}, true, typed}, rest);
    }
    throw UserError(
        "no mini-app after `tessera run` (its name comes before the options); write `tessera run all` or `tessera "
        "run` and a name that `tessera list` shows");
  }
  return task_of({"tessera run " + arguments[1], study::find_apps(apps, arguments[1], "there are"), true, typed},
                 {arguments.begin() + 2, arguments.end()});
}

}  // namespace

int run_suite(std::vector<App> const& apps, int argc, char** argv) {
  std::vector<std::string> const arguments = arguments_of(argc, argv);
  bool const launches = !arguments.empty() && (arguments[0] == "study" || arguments[0] == "compare");
  return guarded("tessera", launches, [&] { return suite_task(apps, arguments, argc > 0 ? argv[0] : "tessera"); });
}

}  // namespace tessera
