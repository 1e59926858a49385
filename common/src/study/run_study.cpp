// The command line of `tessera study`, and its launches.

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

#include <tessera/cli/nearest.hpp>
#include <tessera/cli/options.hpp>
#include <tessera/cli/sizes.hpp>
#include <tessera/measure/sampling.hpp>
#include <tessera/report/machine_file.hpp>
#include <tessera/report/table.hpp>
#include <tessera/study/model.hpp>
#include <tessera/study/study.hpp>
#include <tessera/table/build_facts.hpp>
#include <tessera/table/runtime.hpp>

#include "../driver/commands.hpp"
#include "../driver/interruption.hpp"
#include "../driver/plan.hpp"
#include "../report/thread_facts.hpp"
#include "arguments.hpp"
#include "child.hpp"

namespace tessera::study {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// ---------------------------------------------------------------------------------------------------------------------
// The command line
// ---------------------------------------------------------------------------------------------------------------------

struct Arguments {
  std::optional<Study> study;
  bool run = false;
  std::string folder;
  std::string program;  // empty: this program
  std::string machine;
  model::Link link;

  void take(Study its_study) {
    if (study) throw UserError("two studies (a file or a preset is one); give only one");
    study = std::move(its_study);
  }
};

std::string text_of(std::string const& path) {
  std::error_code error;
  std::ifstream file(path);
  if (fs::is_directory(path, error) || !file) {
    throw UserError("cannot read the study " + path +
                    " (there is no such file, or it cannot be read); give a file, or " + "--preset NAME");
  }
  return {std::istreambuf_iterator<char>(file), {}};
}

// `change` takes the options that replace a value of the study.
std::vector<OptionEntry> options_of(Arguments& result, OptionEntry::Setter const& change) {
  return {{"--run", "", "", to(result.run)},
          {"--preset", "NAME", "", [&](auto const&, auto const& name) { result.take(preset(name)); }},
          {"--out", "DIR", "folder of the reports (default: the study's name)", to(result.folder)},
          {"--launcher", "TEXT", "starts ranks, e.g. \"srun -n {ranks}\" (default: mpirun -n {ranks}; one rank: none)",
           change},
          {"--apps, --sizes, --sizes-per-rank, --ranks, --variants, --spaces, --dtypes", "a,b",
           "each entry is a separate launch; a+b is one launch of both", change},
          {"--repeats", "N", "launches of each entry (default 5), in turns forwards and backwards", change},
          {"--options", "TEXT", "further options of every launch", change},
          {"--name", "NAME", "name of the study", change},
          {"--machine", "FILE", "roofs for predictions, from a report or --save-machine (default: --run measures them)",
           to(result.machine)},
          {"--link", "SECONDS,BYTES", "link of one rank, for predictions: message latency in seconds, bytes per second",
           [&](auto const& option, auto const& text) { result.link = model::parse_link(option, text); }},
          {"--program", "PATH", "tessera of another build; no predictions, and each launch measures its roofs",
           to(result.program)}};
}

Arguments parse(Words const& words) {
  Arguments result;
  std::vector<std::pair<std::string, std::string>> changes;
  auto const change = [&](auto const& option, auto const& text) { changes.emplace_back(option, text); };
  parse_words(words, "tessera study", options_of(result, change),
              [&](std::string const& path) { result.take(parse_study(text_of(path), path)); });
  if (!result.study) {
    throw UserError("no study (give a file or --preset NAME); see tessera study --help");
  }
  for (auto const& [option, value] : changes) {
    std::string key = option.substr(2);
    std::ranges::replace(key, '-', '_');
    set(*result.study, key, value, option);
  }
  if (result.folder.empty()) result.folder = result.study->name;
  return result;
}

// ---------------------------------------------------------------------------------------------------------------------
// The prediction of a step
// ---------------------------------------------------------------------------------------------------------------------

// A case of a step on a space, as the model sees it, with its predicted and its measured time.
struct Forecast {
  std::string app;
  std::string space;
  DType dtype = DType::float32;
  std::size_t size = 0;
  model::Predicted predicted;
  bool unsure = false;  // the roofs may be wrong

  [[nodiscard]] std::string words() const { return concat(app, " ", size_text(size), " ", name_of(dtype), " ", space); }
};

using Machines = std::map<std::string, model::Machine>;

// Parses the step's command line as the program will. Throws UserError for errors in it.
Options options_of(std::vector<App> const& apps, Step const& step) {
  Command const command{"tessera run " + step.apps, find_apps(apps, step.apps), true};
  Options options = parse_options(command, step.arguments);
  if (command.apps.size() == 1) {
    check_selection(*command.apps.front(), options, dtypes_of(*command.apps.front(), options));
  }
  if (options.sizes_per_rank) {
    for (std::size_t& size : options.sizes) size *= step.ranks;
  }
  return options;
}

// Rows that measure roofs are left out, because they are not the work of a case.
std::vector<Forecast> forecasts_of(std::vector<App> const& apps, Step const& step, Machines const& machines,
                                   model::Link const& link) {
  std::vector<Forecast> forecasts;
  Options const options = options_of(apps, step);
  for (App const* const app : find_apps(apps, step.apps)) {
    if (app->info.measures_roofs || !is_modelled(*app) || (step.ranks > 1 && !app->distributed)) continue;
    for (DType const dtype : dtypes_of(*app, options)) {
      Words const spaces = spaces_of(select_rows(*app, options, dtype));
      for (std::size_t const size : options.sizes) {
        model::ModelCase const c = model_case(*app, dtype, size, options.parameters.front());
        std::optional<model::Talk> const talk = model::talk_of(c, step.ranks);
        if (!talk) continue;
        for (std::string const& space : spaces) {
          auto const machine = machines.find(space);
          if (machine == machines.end()) continue;
          forecasts.push_back({c.app, space, dtype, size,
                               model::predict(c, *talk, step.ranks, machine->second, link, is_host_space(space)),
                               !machine->second.roofs.unsure.empty()});
        }
      }
    }
  }
  return forecasts;
}

constexpr std::size_t most_lines = 6;

std::string before(std::vector<Forecast> const& forecasts) {
  std::string text;
  for (std::size_t i = 0; i < forecasts.size() && i < most_lines; ++i) {
    text += concat("  predicted ", forecasts[i].words(), ": ", format_seconds(forecasts[i].predicted.seconds()), " (",
                   forecasts[i].predicted.bound(), ")\n");
  }
  if (forecasts.size() > most_lines) {
    text += concat("  predicted ", forecasts.size() - most_lines, " more\n");
  }
  return text;
}

// ---------------------------------------------------------------------------------------------------------------------
// The report of a step
// ---------------------------------------------------------------------------------------------------------------------

// Returns why a report has no results; empty if one of its rows ran.
std::string nothing_ran(Json const& rows) {
  if (rows.empty()) return "it has no rows";
  std::string why;
  for (Json const& row : rows) {
    if (row.value("status", std::string()) != "skipped") return "";
    if (why.empty() && row.contains("reason") && row["reason"].is_string()) why = row["reason"].get<std::string>();
  }
  return "all of its rows were skipped" + (why.empty() ? "" : " (" + why + ")");
}

// A report, or why there is no usable report.
struct Found {
  Json report;
  std::string why_not;  // empty: the step is done
  bool there = false;   // a file exists
};

// `same_build`: the report must be from this program.
Found look(std::string const& path, Step const& step, bool same_build) {
  Found found;
  std::ifstream file(path);
  if (!file) {
    found.why_not = "there is no report";
    return found;
  }
  found.there = true;
  found.report = Json::parse(file, nullptr, false);
  Json const& report = found.report;
  auto const text = [&](char const* part, std::string const& key) -> std::string {
    if (!report.contains(part) || !report[part].is_object() || !report[part].contains(key)) return "";
    return report[part][key].is_string() ? report[part][key].get<std::string>() : "";
  };
  std::string const asked = "tessera run " + step.apps + " " + join(step.arguments, " ") + " --json ";
  if (report.is_discarded() || !report.is_object() || report.value("schema", Json()) != "tessera-report/1") {
    found.why_not = "the file is not a report";
  } else if (!report.contains("rows") || !report["rows"].is_array() || text("system", "finished").empty()) {
    found.why_not = "its run did not end";
  } else if (!text("system", "command").starts_with(asked)) {
    found.why_not = "the report is of another command";
  } else if (text("system", "ranks") != std::to_string(step.ranks)) {
    found.why_not = concat("the report is of ", text("system", "ranks"), " ranks, not of ", step.ranks,
                           ": the build has no MPI, or the launcher started something else");
  } else if (same_build && (text("build", "git_commit") != build::git_commit ||
                            text("build", "compiler") != build::compiler || text("build", "flags") != build::flags)) {
    found.why_not = "the report is of another build";
  } else {
    found.why_not = nothing_ran(report["rows"]);
  }
  return found;
}

std::size_t failed_rows(Json const& report) {
  return static_cast<std::size_t>(std::ranges::count_if(
      report["rows"], [](Json const& row) { return row.value("status", std::string()) == "failed"; }));
}

// For each forecast, the ratio of its fastest verified row (noisy rows last) to the prediction.
struct Errors {
  std::vector<std::pair<double, std::string>> ratios;
  std::ostringstream csv;  // a line for each ratio

  std::string add(Step const& step, std::vector<Forecast> const& forecasts, Json const& report) {
    std::string text;
    std::size_t lines = 0;
    for (Forecast const& forecast : forecasts) {
      double fastest = unknown;
      bool noisy = false;
      std::string variant;
      for (Json const& row : report["rows"]) {
        Json const& of = report["input"][row["case"].get<std::size_t>()];
        if (row["status"] != "passed" || !row["seconds"].is_number() || row["app"] != forecast.app ||
            row["space"] != forecast.space || row["dtype"] != name_of(forecast.dtype) || of["size"] != forecast.size) {
          continue;
        }
        double const seconds = row["seconds"].get<double>();
        bool const of_noise = row.value("noisy", false);
        if (!std::isnan(fastest) && std::pair(noisy, fastest) <= std::pair(of_noise, seconds)) continue;
        fastest = seconds;
        noisy = of_noise;
        variant = row["variant"].get<std::string>();
      }
      if (std::isnan(fastest)) continue;
      double const ratio = fastest / forecast.predicted.seconds();
      ratios.emplace_back(ratio, forecast.words() + " " + variant);
      csv << forecast.app << ',' << forecast.size << ',' << name_of(forecast.dtype) << ',' << forecast.space << ','
          << step.ranks << ',' << forecast.predicted.seconds() << ',' << forecast.predicted.bound() << ',' << fastest
          << ',' << variant << ',' << noisy << ',' << forecast.unsure << '\n';
      if (++lines <= most_lines) {
        text += "  measured  " + forecast.words() + ": " + (noisy ? std::string(noise_mark) : "") +
                format_seconds(fastest) + " by " + variant + ", " + format_number(ratio) + " times the prediction\n";
      }
    }
    return text;
  }

  [[nodiscard]] std::string summary() const {
    if (ratios.empty()) return "";
    auto sorted = ratios;
    std::ranges::sort(sorted);
    return concat("the fastest rows took ", format_number(sorted[sorted.size() / 2].first),
                  " times the prediction (median of ", sorted.size(), "), from ", format_number(sorted.front().first),
                  " (", sorted.front().second, ") to ", format_number(sorted.back().first), " (", sorted.back().second,
                  ")\n");
  }
};

// ---------------------------------------------------------------------------------------------------------------------
// A study
// ---------------------------------------------------------------------------------------------------------------------

// Returns the kind of pictures for a study.
std::string kind_of(Study const& study) {
  if (study.ranks.size() > 1) return study.sizes_per_rank ? "weak" : "strong";
  return study.sizes.size() > 1 ? "sizes" : "shares";
}

class Runner {
 public:
  Runner(std::vector<App> const& apps, Arguments const& arguments, std::string const& typed)
      : apps_(apps),
        arguments_(arguments),
        study_(*arguments.study),
        own_(arguments.program.empty()),
        steps_(steps_of(study_)),
        folder_(arguments.folder),
        this_program_(program_as_called(typed)) {
    shown_ = own_ ? this_program_ : quoted(arguments.program);
    // If the user names roofs for the launches, they are used.
    measures_once_ = own_ && std::ranges::none_of(study_.options, [](std::string const& word) {
                       return word.starts_with("--roof") || word.starts_with("--machine");
                     });
    program_ = own_ ? own_program(typed) : arguments.program;
    // Reports every error before the first launch. Another program may have other mini-apps.
    if (own_) {
      for (Step const& step : steps_) {
        if (step.repeat == 1) (void)options_of(apps_, step);
      }
    }
    if (!arguments.machine.empty()) machines_ = model::read_machines(arguments.machine);
  }

  int print() {
    std::cout << "# study " << study_.name << ": " << count(steps_.size(), "launch", "launches") << ", reports in "
              << folder_ << "\nmkdir -p " << quoted(folder_) << "\n";
    std::size_t done = 0;
    for (Step const& step : steps_) {
      bool const is_done = look(report_of(step), step, own_).why_not.empty();
      if (is_done) ++done;
      if (own_ && !machines_.empty()) {
        std::istringstream lines(before(forecasts_of(apps_, step, machines_, arguments_.link)));
        for (std::string line; std::getline(lines, line);) std::cout << "#" << line << "\n";
      }
      std::cout << (is_done ? "# done: " : "") << command_text(step) << "\n";
    }
    for (std::string const& line : doubts()) std::cout << "# " << line << "\n";
    std::cout << "# " << done << " of " << steps_.size() << " are done"
              << (done < steps_.size() ? "; tessera study ... --run runs the others" : "") << "\n";
    for (std::string const& line : look_at()) std::cout << "# " << line << "\n";
    std::cout << std::flush;
    return 0;
  }

  int run() {
    for (Step const& step : steps_) {
      if (step.launcher.empty() || is_program(step.launcher.front())) continue;
      throw UserError("there is no " + step.launcher.front() +
                      " (it starts the launches on several ranks); load an MPI module, or name another in --launcher");
    }
    if (!is_program(program_)) {
      throw UserError("there is no program " + program_ + " (--program names it); give the path of a tessera");
    }
    std::error_code error;
    fs::create_directories(folder_, error);
    if (!error && ::access(folder_.c_str(), W_OK | X_OK) != 0) error = std::error_code(errno, std::generic_category());
    if (error) throw UserError("cannot write --out " + folder_ + " (" + error.message() + "); name another folder");
    SignalGuard const guard;
    if (measures_once_) fs::create_directories(fs::path(folder_) / "machine", error);
    std::cout << "launches on " << one_line(report::thread_text(report::thread_facts())) << std::endl;
    measure_machine();
    for (std::string const& line : doubts()) std::cout << line << std::endl;
    for (std::size_t i = 0; i < steps_.size() && !interrupted(); ++i) {
      Step const& step = steps_[i];
      std::string const of = concat(i + 1, " of ", steps_.size());
      Found const old = look(report_of(step), step, own_);
      std::vector<Forecast> forecasts;
      if (own_) forecasts = forecasts_of(apps_, step, machines_, arguments_.link);
      if (old.why_not.empty()) {
        ++before_;
        failed_rows_ += failed_rows(old.report);
        (void)errors_.add(step, forecasts, old.report);
        continue;
      }
      std::cout << of << ": " << command_text(step, roofs_of(step)) << "\n";
      if (old.there) put_aside(step, old.why_not);
      std::cout << before(forecasts) << std::flush;
      std::string const why = launch(step, forecasts);
      if (interrupted()) break;
      if (!why.empty()) {
        ++failed_;
        std::cout << "  FAILED: " << one_line(why) << std::endl;
      }
    }
    return end();
  }

 private:
  static std::string count(std::size_t n, char const* one, char const* many) {
    return concat(n, " ", n == 1 ? one : many);
  }

  // Returns this program's file with its full path, because a launcher may start it in another folder. The scripts of
  // `./run install` start the loader (ld-linux-x86-64.so.2 or similar), and pass the program's path themselves.
  static std::string own_program(std::string const& typed) {
    std::error_code error;
    fs::path const path = fs::read_symlink("/proc/self/exe", error);
    return error || path.filename().string().starts_with("ld-") ? typed : path.string();
  }

  [[nodiscard]] std::string report_of(Step const& step) const {
    return (fs::path(folder_) / (step.name + ".json")).string();
  }

  // `more`, which follows `--json`, is not compared by look().
  [[nodiscard]] Words words_of(Step const& step, Words const& more) const {
    Words words = step.launcher;
    words.insert(words.end(), {program_, "run", step.apps});
    words.insert(words.end(), step.arguments.begin(), step.arguments.end());
    words.insert(words.end(), {"--json", report_of(step)});
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  [[nodiscard]] std::string command_text(Step const& step, Words const& more = {}) const {
    std::string text;
    for (std::string const& word : step.launcher) text += quoted(word) + " ";
    text += shown_ + " run " + step.apps;
    for (std::string const& word : step.arguments) text += " " + quoted(word);
    text += " --json " + quoted(report_of(step));
    for (std::string const& word : more) text += " " + quoted(word);
    return text;
  }

  [[nodiscard]] std::string roofs_file(std::size_t ranks) const {
    return (fs::path(folder_) / "machine" / concat("roofs-r", ranks, ".json")).string();
  }

  // Roofs belong to all ranks together: the first launch on a number of ranks measures them, and later launches read
  // its file. A launch that needs an additional space measures again. An earlier file may come from another machine,
  // and is not used.
  [[nodiscard]] Words roofs_of(Step const& step) const {
    if (!measures_once_) return {};
    std::string const file = roofs_file(step.ranks);
    if (!measured_.contains(step.ranks) || !fs::exists(file)) return {"--save-machine", file};
    std::map<std::string, SpaceReport> const known = read_machine_file(file);
    Options const options = options_of(apps_, step);
    for (App const* const app : find_apps(apps_, step.apps)) {
      for (DType const dtype : dtypes_of(*app, options)) {
        for (std::string const& space : spaces_of(select_rows(*app, options, dtype))) {
          if (!known.contains(space)) return {"--save-machine", file};
        }
      }
    }
    return {"--machine", file};
  }

  // Measures roofs and cache bandwidths for the model. Without roofline there is no prediction, and the study
  // continues.
  void measure_machine() {
    if (!machines_.empty()) return;
    bool const has_roofline = std::ranges::any_of(apps_, [](App const& app) { return app.info.name == "roofline"; });
    if (!own_ || !has_roofline) {
      std::cout << "no predictions (" << (own_ ? "this build has no roofline" : "--program is another build")
                << "); --machine FILE gives the roofs" << std::endl;
      return;
    }
    Step step;
    step.name = "machine/roofs";
    step.apps = "roofline";
    step.arguments = {"--variant", "copy", "--size", "2^12:2^24"};
    for (auto const& [option, list] :
         {std::pair<std::string, Words const&>{"--space", study_.spaces}, {"--dtype", study_.dtypes}}) {
      if (list.empty()) continue;
      std::string text = join(list, ",");
      std::ranges::replace(text, '+', ',');
      step.arguments.insert(step.arguments.end(), {option, text});
    }
    if (!study_.launcher.empty()) {
      Study one = study_;
      one.ranks = {1};
      one.sizes_per_rank = false;
      step.launcher = steps_of(one).front().launcher;
    }
    std::error_code ignored;
    fs::create_directories(fs::path(folder_) / "machine", ignored);
    if (!look(report_of(step), step, true).why_not.empty()) {
      std::cout << "the machine: " << command_text(step, roofs_of(step)) << std::endl;
      std::string const why = launch(step, {});
      if (interrupted()) return;
      if (!why.empty()) {
        std::cout << "  no predictions: " << one_line(why) << std::endl;
        return;
      }
      --done_;  // not a step of the study
    }
    machines_ = model::read_machines(report_of(step));
  }

  // An existing file may contain hours of computing: it is kept.
  void put_aside(Step const& step, std::string const& why) const {
    std::error_code error;
    fs::path const older = fs::path(folder_) / "older";
    fs::create_directories(older, error);
    fs::path target;
    for (int i = 1; target.empty() || fs::exists(target); ++i) {
      target = older / concat(step.name, ".", i, ".json");
    }
    fs::rename(report_of(step), target, error);
    std::cout << "  again, since " << why << (error ? "" : "; it is kept as " + target.string()) << "\n";
  }

  // Returns why the step failed; empty if it succeeded.
  std::string launch(Step const& step, std::vector<Forecast> const& forecasts) {
    fs::path const base = fs::path(folder_) / step.name;
    ChildEnd const end = run_child(words_of(step, roofs_of(step)), base.string() + ".txt", base.string() + ".stderr");
    if (interrupted()) return "";
    if (!end.ran()) return end.how();
    if (measures_once_ && fs::exists(roofs_file(step.ranks))) measured_.insert(step.ranks);
    Found const found = look(report_of(step), step, own_);
    if (!found.why_not.empty()) return found.why_not + " (" + end.how() + "); see " + base.string() + ".txt";
    std::size_t const bad = failed_rows(found.report);
    failed_rows_ += bad;
    ++done_;
    std::cout << threads_of(step, found.report) << errors_.add(step, forecasts, found.report);
    if (bad > 0) std::cout << "  " << count(bad, "row", "rows") << " FAILED: see " << base.string() << ".txt\n";
    std::cout << std::flush;
    return "";
  }

  // Returns the number of threads of the launches on this number of ranks: only once, and again if a launch has another
  // number.
  std::string threads_of(Step const& step, Json const& report) {
    Json const spaces = report["system"].value("spaces", Json::object());
    std::string first, other;
    for (auto const& [name, space] : spaces.items()) {
      std::string const threads = report::threads_of_device(space.value("device", std::string()));
      if (threads.empty()) continue;
      auto const [known, is_new] = threads_.try_emplace({step.ranks, name}, threads);
      if (is_new) first += (first.empty() ? "" : ", ") + name + " " + threads;
      if (known->second == threads) continue;
      other += "  warning: " + name + " has " + threads + ", the launches before had " + known->second + "\n";
    }
    std::string const each = step.ranks == 1 ? "" : concat("on each of ", step.ranks, " ranks ");
    return (first.empty() ? "" : "  threads: " + each + first + "\n") + other;
  }

  // Returns warnings of predictions from roofs that may be wrong.
  [[nodiscard]] Words doubts() const {
    Words lines;
    for (auto const& [space, machine] : machines_) {
      if (machine.roofs.unsure.empty()) continue;
      lines.push_back("warning: the roofs of " + space + " are unsure (" + one_line(machine.roofs.unsure) +
                      "), and so are the predictions");
    }
    return lines;
  }

  [[nodiscard]] Words look_at() const {
    std::string const reports = quoted(folder_) + "/*.json";
    // In a checkout tessera-plot is not on the PATH.
    std::string const plot = fs::exists("common/plot/tessera-plot") ? "common/plot/tessera-plot " : "tessera-plot ";
    return {"pictures:  " + plot + reports + " --kind " + kind_of(study_) + " -o " + quoted(folder_) + "/pictures",
            "two builds: " + this_program_ + " compare " + quoted(folder_) + " FOLDER-OF-THE-OTHER"};
  }

  // All predictions beside the measurements; the output shows the first of each launch.
  void write_predictions() const {
    if (errors_.ratios.empty()) return;
    std::string const path = (fs::path(folder_) / "predictions.csv").string();
    std::ofstream file(path);
    file << predictions_head << '\n' << errors_.csv.str();
    file.close();
    std::cout << (file ? "predictions: " : "warning: cannot write ") << path << "\n";
  }

  int end() {
    if (interrupted()) {
      std::cout << "interrupted; the same command goes on from there\n";
      write_predictions();
    } else {
      std::cout << errors_.summary();
      write_predictions();
      for (std::string const& line : look_at()) std::cout << line << "\n";
    }
    std::cout << "TESSERA study steps=" << steps_.size() << " done=" << done_ << " before=" << before_
              << " failed=" << failed_ << " rows_failed=" << failed_rows_ << std::endl;
    if (interrupted()) return 128 + caught_signal();
    return failed_ + failed_rows_ > 0 ? 1 : 0;
  }

  std::vector<App> const& apps_;
  Arguments const& arguments_;
  Study const& study_;
  bool own_;  // the launches use this program
  std::vector<Step> steps_;
  std::string folder_;
  std::string this_program_;  // how this program is called
  std::string shown_;         // how the program of the launches is called
  std::string program_;
  bool measures_once_ = false;
  // numbers of ranks whose roofs are in their file
  std::set<std::size_t> measured_;
  std::map<std::pair<std::size_t, std::string>, std::string> threads_;  // of the spaces, by number of ranks
  Machines machines_;
  Errors errors_;
  std::size_t done_ = 0;
  std::size_t before_ = 0;
  std::size_t failed_ = 0;
  std::size_t failed_rows_ = 0;
};

std::string study_help() {
  std::string text =
      "tessera study: plans and runs the launches that show how rows depend on sizes, ranks, variants or "
      "spaces\n\nusage\n  tessera study FILE.json            print the commands\n  tessera study --preset NAME        "
      "print the commands of a built-in study\n  tessera study ... --run            run them; finished launches are "
      "not repeated, roofs are measured once\n\npresets\n";
  for (auto const& [summary, study] : presets()) text += concat("  ", padded(study.name, 10), summary, "\n");
  Arguments arguments;
  text += "\noptions\n" + options_text(options_of(arguments, {}), 25);
  text +=
      "\na study file\n  {\"schema\": \"tessera-study/1\", \"name\": \"mine\", \"apps\": [\"dot\", "
      "\"prefix_sum\"],\n   \"sizes\": \"2^20:2^26\", \"ranks\": [1, 2, 4], \"variants\": [\"distributed\"], "
      "\"repeats\": 5,\n   \"options\": [\"--samples\", \"20\"], \"launcher\": \"srun -n {ranks} "
      "--gpu-bind=none\"}\n\nexit codes\n  0  all is done and every row verified, 1  a step or a row failed, 2  a "
      "mistake and nothing ran,\n  128 + signal  interrupted\n";
  return text;
}

}  // namespace

int run_study(std::vector<App> const& apps, std::vector<std::string> const& words, std::string const& typed) {
  if (asks_for_help(words)) {
    std::cout << study_help() << std::flush;
    return 0;
  }
  Arguments const arguments = parse(words);
  Runner runner(apps, arguments, typed);
  return arguments.run ? runner.run() : runner.print();
}

}  // namespace tessera::study
