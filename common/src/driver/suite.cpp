// The command lines of one mini-app and of the umbrella program.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <iostream>
#include <limits>
#include <new>
#include <stdexcept>
#include <streambuf>
#include <system_error>

#include <tessera/cli/nearest.hpp>
#include <tessera/cli/options.hpp>
#include <tessera/cli/sizes.hpp>
#include <tessera/cli/sweeps.hpp>
#include <tessera/driver/run.hpp>
#include <tessera/driver/run_suite.hpp>
#include <tessera/ranks/agreement.hpp>
#include <tessera/ranks/ranks.hpp>
#include <tessera/report/table.hpp>
#include <tessera/table/app.hpp>
#include <tessera/table/runtime.hpp>

#include "compare.hpp"
#include "session.hpp"
#include "study.hpp"

namespace tessera {

namespace {

// The request of a command line, determined without MPI, Kokkos and files.
struct Task {
  std::vector<ranks::Fact> facts;  // must be the same on all ranks that do it together
  std::function<int()> run;
  bool on_ranks = false;  // it computes, on all ranks; otherwise one process can do it
};

Task task_of_text(std::string const& asked, std::function<std::string()> const& text) {
  return {{{"what to do", asked}}, [text] {
            std::cout << text() << std::flush;
            return 0;
          }};
}

// File names may differ between ranks; contents are compared later. Files that only the first rank uses must be given
// on all ranks or on none.
std::string shown(std::string const& option, std::vector<std::string> const& values) {
  for (std::string_view const path : {"--inputs", "--json", "--log", "--machine", "--save-machine", "--baseline"}) {
    if (option == path) return "a path";
  }
  if (option == "--input") return std::to_string(values.size()) + (values.size() == 1 ? " file" : " files");
  return join(values, " ");
}

Task task_of(Command const& command, std::vector<std::string> const& arguments) {
  Options const options = parse_options(command, arguments);
  if (options.help) return task_of_text(command.program + " --help", [command] { return help_text(command); });
  if (options.version) {
    return task_of_text(command.program + " --version", [command] { return version_text(command.program); });
  }
  if (options.list) return task_of_text(command.program + " --list", [command] { return list_text(command.apps); });
  Task task;
  task.on_ranks = true;
  task.facts = {{"what to do", command.program}};
  for (auto const& [option, values] : options.given) task.facts.push_back({option, shown(option, values)});
  Facts const build = build_facts();
  for (char const* const fact : {"version", "git_commit"}) {
    if (auto const found = build.find(fact); found != build.end()) {
      task.facts.push_back({"the " + std::string(fact) + " of the program", found->second});
    }
  }
  task.run = [command, options, arguments] { return run_plan(command, options, arguments); };
  return task;
}

// Opens stdin, stdout and stderr if the caller closed them. Otherwise the run's own files would get their numbers.
void occupy_standard_streams() {
  for (int const descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // Read-only, so that writing to a closed stdout fails as it should. Stays open until the end.
    if (::fcntl(descriptor, F_GETFD) < 0) (void)::open("/dev/null", O_RDONLY);
  }
}

// Suppresses std::cout and std::cerr after begin(), for its lifetime: the first rank prints what all ranks would print.
class Quiet {
 public:
  Quiet() = default;
  void begin() {
    out_ = std::cout.rdbuf(&nothing_);
    error_ = std::cerr.rdbuf(&nothing_);
  }
  ~Quiet() {
    if (out_ != nullptr) std::cout.rdbuf(out_);
    if (error_ != nullptr) std::cerr.rdbuf(error_);
  }
  Quiet(Quiet const&) = delete;
  Quiet& operator=(Quiet const&) = delete;

 private:
  struct Nothing final : std::streambuf {
    int_type overflow(int_type letter) override { return traits_type::not_eof(letter); }
    std::streamsize xsputn(char const*, std::streamsize count) override { return count; }
  };
  Nothing nothing_;
  std::streambuf* out_ = nullptr;
  std::streambuf* error_ = nullptr;
};

// All ranks must agree before one of them acts: a rank that ends on its own would leave the others waiting. If there
// may be other ranks, a rank that was asked for help, or found an error, meets them first.
void meet(std::exception_ptr const& mistake, Task const& task, Quiet& quiet) {
  if (!task.on_ranks && !ranks::may_be_one_of_several()) {
    if (mistake) std::rethrow_exception(mistake);
    return;
  }
  try {
    if (!ranks::world().first()) quiet.begin();
  } catch (UserError const&) {  // the launcher belongs to another MPI: there are no other ranks to meet
    if (task.on_ranks) throw;
    if (mistake) std::rethrow_exception(mistake);
    return;
  }
  ranks::together(ranks::world(), [&] {
    if (mistake) std::rethrow_exception(mistake);
  });
  ranks::check_same(ranks::world(), task.facts);
}

// Runs the task that `find` returns. Returns the exit code. An exception becomes one message on stderr. If `launches`,
// MPI is not started: a launcher that is started by an MPI rank may take that rank's launcher for its own.
template <class Find>
int guarded(std::string const& program, bool launches, Find const& find) {
  occupy_standard_streams();
  int code = 0;
  std::string complaint;
  Quiet quiet;
  try {
    Task task;
    if (launches) {
      ranks::check_alone("it starts the ranks of its launches itself", "start it as one process");
      task = find();
    } else {
      std::exception_ptr mistake;
      try {
        task = find();
      } catch (...) {
        mistake = std::current_exception();
      }
      meet(mistake, task, quiet);
    }
    code = task.run();
  } catch (UserError const& error) {
    code = 2;
    complaint = error.what();
  } catch (std::bad_alloc const&) {
    code = 2;  // nothing has run: see run_plan()
    complaint = "out of memory (an allocation failed); choose a smaller case, or allow more (ulimit -v)";
  } catch (std::system_error const& error) {
    bool const is_limit = error.code() == std::errc::resource_unavailable_try_again;
    code = is_limit ? 2 : 1;
    complaint = is_limit
                    ? "no thread can be started (" + std::string(error.what()) + "); allow more (ulimit -u, ulimit -v)"
                    : "unexpected error (" + std::string(error.what()) + "); please report it with the command line";
  } catch (std::exception const& error) {
    code = 1;
    complaint = "unexpected error (" + std::string(error.what()) + "); please report it with the command line";
  }
  if (!complaint.empty()) std::cerr << program << ": " << one_line(complaint) << std::endl;
  std::cout.flush();
  if (!std::cout) {
    std::cout.clear();  // so that it is reported once, also by a program that continues
    std::cerr << program
              << ": cannot write to stdout (the disk is full, or nobody reads it: what was printed is not complete); "
                 "send it elsewhere"
              << std::endl;
    if (code == 0) code = 1;
  }
  return code;
}

std::string suite_help() {
  return "tessera: a suite of Kokkos mini-apps\n"
         "\n"
         "usage\n"
         "  tessera list                        the mini-apps\n"
         "  tessera help APP                    one mini-app: its options and variants\n"
         "  tessera run APP [options]           run one; its own options are those of `tessera help APP`\n"
         "  tessera run all [options]           run every mini-app; also APP,APP\n"
         "  tessera run all --inputs DIR        run each on the cases DIR/<app>/*.h5\n"
         "  tessera run all --digest            one screen instead of the tables\n"
         "  tessera run --sweep NAME [options]  the cases of a benchmark table; names in `tessera list`\n"
         "  tessera compare OLD NEW             reports of two builds: what became slower (tessera compare --help)\n"
         "  tessera study --preset NAME         the launches of a study: strong, weak, sizes, variants; --run runs them\n"
         "  tessera limits --machine FILE ...   where the mini-apps stop scaling, on paper\n"
         "  tessera roof PEAK,BANDWIDTH [X...]  the ridge of these roofs, and what they allow at X operations a byte\n"
         "  tessera --help | --version\n"
         "\n"
         "examples\n"
         "  tessera run all --inputs inputs --json report.json\n"
         "  tessera run all --inputs inputs --size 2^24 --digest --log tables.txt\n"
         "  tessera run all --help              the options common to all mini-apps\n"
         "\n"
         "exit codes\n"
         "  0  every row verified, 1  a row failed, 2  a mistake and nothing ran,\n"
         "  128 + signal  interrupted (130: Ctrl-C, 143: SIGTERM)\n";
}

std::string suite_list(std::vector<App> const& apps) {
  std::size_t width = 0;
  for (App const& app : apps) width = std::max(width, app.info.name.size());
  std::string text;
  for (App const& app : apps) {
    std::string name(app.info.name);
    name.resize(width, ' ');
    std::string const count = std::to_string(app.variants.size());
    text += name + "  " + std::string(2 - std::min<std::size_t>(2, count.size()), ' ') + count + " variants  " +
            std::string(app.info.summary) + "\n";
  }
  std::string of_sweeps;
  for (Sweep const& sweep : sweeps()) {
    if (std::ranges::find(apps, sweep.app, [](App const& app) { return app.info.name; }) == apps.end()) continue;
    std::string name(sweep.name);
    name.resize(std::max(width, name.size()), ' ');
    std::string const count = std::to_string(sweep.cases.size());
    of_sweeps += name + "  " + std::string(2 - std::min<std::size_t>(2, count.size()), ' ') + count + " cases     " +
                 std::string(sweep.summary) + "\n";
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
  ParameterSpec intensity{"FLOP/B", "operations a byte", 0.1875, {}};
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

std::vector<App const*> find_apps(std::vector<App> const& apps, std::string const& text) {
  std::vector<App const*> found;
  std::vector<std::string> names;
  for (App const& app : apps) {
    names.emplace_back(app.info.name);
    found.push_back(&app);
  }
  if (text == "all") return found;
  found.clear();
  for (std::string const& name : split_at_commas(text)) {
    auto const at = std::ranges::find(names, name);
    if (at == names.end()) throw UserError(unknown_name("mini-app", name, names));
    App const* const app = &apps[static_cast<std::size_t>(at - names.begin())];
    if (std::ranges::find(found, app) == found.end()) found.push_back(app);
  }
  return found;
}

// Returns the mini-app of the sweep in `tessera run --sweep NAME`, or nullptr without --sweep.
App const* app_of_sweep(std::vector<App> const& apps, std::vector<std::string> const& arguments) {
  std::string const option = "--sweep";
  auto const at = std::ranges::find_if(
      arguments, [&](std::string const& argument) { return argument == option || argument.starts_with(option + "="); });
  if (at == arguments.end()) return nullptr;
  bool const joined = at->size() > option.size();
  if (!joined && at + 1 == arguments.end()) {
    throw UserError("no value for --sweep (it needs one); write --sweep NAME, of those that `tessera list` shows");
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
  std::vector<std::string> const commands{"list", "run", "study", "compare", "limits", "roof", "help"};
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
    Command const of{"tessera run " + arguments[1], find_apps(apps, arguments[1]), true};
    return task_of_text(asked, [of] { return help_text(of); });
  }
  if (command == "roof") return task_of_text(asked, [rest] { return roof_text(rest); });
  auto const other = [&](std::function<int()> const& run) { return Task{{{"what to do", asked}}, run}; };
  if (command == "compare") return other([rest] { return comparison::run_compare(rest); });
  if (command == "study") return other([&apps, rest, typed] { return study::run_study(apps, rest, typed); });
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
        "no mini-app after `tessera run` (its name comes before the options); write `tessera run all` or "
        "one of those that `tessera list` shows");
  }
  return task_of({"tessera run " + arguments[1], find_apps(apps, arguments[1]), true, typed},
                 {arguments.begin() + 2, arguments.end()});
}

std::vector<std::string> arguments_of(int argc, char** argv) {
  return std::vector<std::string>(argv + std::min(argc, 1), argv + argc);
}

std::string typed(int argc, char** argv, std::string const& name) { return argc > 0 ? argv[0] : name; }

}  // namespace

int run_app(App const& app, int argc, char** argv) {
  std::string const name(app.info.name);
  return guarded(name, false,
                 [&] { return task_of({name, {&app}, false, typed(argc, argv, name)}, arguments_of(argc, argv)); });
}

int run_app(App (*app)(), int argc, char** argv) { return run_app(app(), argc, argv); }

int run_suite(std::vector<App> const& apps, int argc, char** argv) {
  std::vector<std::string> const arguments = arguments_of(argc, argv);
  bool const launches = !arguments.empty() && (arguments[0] == "study" || arguments[0] == "compare");
  return guarded("tessera", launches, [&] { return suite_task(apps, arguments, typed(argc, argv, "tessera")); });
}

}  // namespace tessera
