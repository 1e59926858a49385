#include <tessera/app/driver.hpp>

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <deque>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <utility>

#include <tessera/app/runtime.hpp>
#include <tessera/cli/nearest.hpp>
#include <tessera/io/case_file.hpp>
#include <tessera/report/machine_file.hpp>
#include <tessera/report/table.hpp>
#include <tessera/verify/verify.hpp>

namespace tessera {

namespace {

namespace fs = std::filesystem;

// ---------------------------------------------------------------------------------------------------------------------
// Interruption: the first signal asks for an end after the current sample, the second kills.
// ---------------------------------------------------------------------------------------------------------------------

std::sig_atomic_t volatile caught_signal = 0;

extern "C" void catch_signal(int signal) { caught_signal = signal; }

class SignalGuard {
 public:
  SignalGuard() {
    caught_signal = 0;
    struct sigaction action{};
    action.sa_handler = catch_signal;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    // SIGTERM is what batch systems send at a job's time limit.
    sigaction(SIGINT, &action, &old_interrupt_);
    sigaction(SIGTERM, &action, &old_terminate_);
    // What is ignored stays ignored: shells start background jobs so.
    if (old_interrupt_.sa_handler == SIG_IGN) sigaction(SIGINT, &old_interrupt_, nullptr);
    if (old_terminate_.sa_handler == SIG_IGN) sigaction(SIGTERM, &old_terminate_, nullptr);
  }
  ~SignalGuard() {
    sigaction(SIGINT, &old_interrupt_, nullptr);
    sigaction(SIGTERM, &old_terminate_, nullptr);
  }
  SignalGuard(SignalGuard const&) = delete;
  SignalGuard& operator=(SignalGuard const&) = delete;

 private:
  struct sigaction old_interrupt_{};
  struct sigaction old_terminate_{};
};

bool interrupted() { return caught_signal != 0; }

// A line on stderr that the next one overwrites, where somebody looks at it.
class Progress {
 public:
  void show(std::string const& text) const {
    if (terminal_) std::cerr << "\r\033[K" << text << std::flush;
  }
  void clear() const { show(""); }

 private:
  bool terminal_ = ::isatty(STDERR_FILENO) == 1;
};

// ---------------------------------------------------------------------------------------------------------------------
// Planning: everything that can be the user's mistake, before anything runs.
// ---------------------------------------------------------------------------------------------------------------------

struct PlannedCase {
  App const* app = nullptr;
  std::string path;  // of its file; empty if generated
  std::size_t size = 0;
  DType dtype = DType::float32;
  ParameterMap parameters;
  Footprint footprint;
  bool has_expected = false;
  std::vector<Row const*> rows;
};

struct Plan {
  std::vector<PlannedCase> cases;
  std::vector<std::string> remarks;  // what was left out, and why
};

// Defaults, then what the file says, then what the command line says.
ParameterMap complete_parameters(App const& app, ParameterMap const& from_file, ParameterMap const& from_options) {
  ParameterMap parameters = from_options;
  parameters.insert(from_file.begin(), from_file.end());
  for (ParameterSpec const& spec : app.parameters) parameters.try_emplace(spec.name, spec.default_value);
  return parameters;
}

// Those that a file may have: its shapes are what they are.
std::vector<ParameterSpec> parameters_of_files(App const& app) {
  std::vector<ParameterSpec> specs;
  std::ranges::copy_if(app.parameters, std::back_inserter(specs), [](auto const& s) { return !s.shapes_generated; });
  return specs;
}

ParameterMap without_shaping(App const& app, ParameterMap parameters) {
  for (ParameterSpec const& spec : app.parameters) {
    if (spec.shapes_generated) parameters.erase(spec.name);
  }
  return parameters;
}

// What a size needs, in words: "size 1024 of map in float".
std::string describe(PlannedCase const& planned) {
  std::string const what = planned.path.empty() ? "size " + std::to_string(planned.size) : planned.path;
  return what + " of " + std::string(planned.app->info.name) + " in " + std::string(name_of(planned.dtype));
}

PlannedCase plan_file(App const& app, Options const& options, std::string const& path) {
  CaseFile const file(path);
  PlannedCase planned;
  planned.app = &app;
  planned.path = path;
  planned.dtype = file.run_dtype(app);
  for (ParameterSpec const& spec : app.parameters) {
    if (spec.shapes_generated && options.parameters.contains(spec.name)) {
      throw UserError("conflicting options --" + spec.name + " and --input (the shapes are those of " + path +
                      ") leave out one of them");
    }
  }
  planned.parameters =
      without_shaping(app, complete_parameters(app, file.parameters(parameters_of_files(app)), options.parameters));
  app.check_parameters(planned.parameters);
  for (FieldSpec const& field : app.input_fields(planned.dtype)) (void)file.shape(field);
  planned.footprint = app.footprint_of_source(planned.dtype, file, planned.parameters);
  planned.has_expected = file.has_expected();
  return planned;
}

void plan_generated(App const& app, Options const& options, Plan& plan) {
  ParameterMap const parameters = complete_parameters(app, {}, options.parameters);
  app.check_parameters(parameters);
  for (DType const dtype : dtypes_of(app, options)) {
    for (std::size_t const size : options.sizes) {
      PlannedCase planned;
      planned.app = &app;
      planned.size = size;
      planned.dtype = dtype;
      planned.parameters = parameters;
      planned.footprint = app.footprint_of_size(dtype, size, parameters);
      planned.rows = select_rows(app, options, dtype);
      if (!planned.rows.empty()) plan.cases.push_back(std::move(planned));
    }
  }
}

void plan_files(App const& app, Options const& options, std::vector<std::string> const& paths, Plan& plan) {
  for (std::string const& path : paths) {
    PlannedCase planned = plan_file(app, options, path);
    std::string const dtype(name_of(planned.dtype));
    if (!options.dtypes.has(dtype)) {
      throw UserError(path + ": holds " + dtype + " (--dtype asks for " + join(options.dtypes.names) +
                      "; nothing is converted) leave out --dtype: the file decides");
    }
    Options without_dtype = options;  // checked just now, for this file
    without_dtype.dtypes = {};
    check_selection(app, without_dtype, {planned.dtype});
    planned.rows = select_rows(app, options, planned.dtype);
    plan.cases.push_back(std::move(planned));
  }
}

// The dtype of a run that this build lacks but that the file is for, if that is what is the matter with it. A build
// for float alone should run the float cases of a directory and say what it leaves out.
std::optional<DType> missing_dtype(App const& app, std::string const& path) {
  CaseFile const file(path);
  for (DType const dtype : run_dtypes) {
    if (std::ranges::any_of(app.rows, [&](Row const& row) { return row.dtype == dtype; })) continue;
    bool fits = true;
    DType const known = app.rows.front().dtype;
    for (FieldSpec field : app.input_fields(known)) {
      if (field.dtype == known) field.dtype = dtype;
      try {
        (void)file.shape(field);
      } catch (UserError const&) {
        fits = false;
      }
    }
    if (fits) return dtype;
  }
  return std::nullopt;
}

void plan_directory(App const& app, Options const& options, Plan& plan) {
  std::string const name(app.info.name);
  fs::path const directory = fs::path(options.inputs_directory) / name;
  std::vector<std::string> paths;
  if (fs::is_directory(directory)) {
    for (fs::directory_entry const& entry : fs::directory_iterator(directory)) {
      if (entry.path().extension() == ".h5") paths.push_back(entry.path().string());
    }
  }
  std::ranges::sort(paths);
  if (paths.empty()) plan.remarks.push_back(name + ": skipped (there is no " + (directory / "*.h5").string() + ")");
  for (std::string const& path : paths) {
    std::optional<DType> left_out;
    try {
      PlannedCase planned = plan_file(app, options, path);
      planned.rows = select_rows(app, options, planned.dtype);
      if (!options.dtypes.has(name_of(planned.dtype)) || planned.rows.empty()) {
        left_out = planned.dtype;
      } else {
        plan.cases.push_back(std::move(planned));
      }
    } catch (UserError const&) {
      left_out = app.rows.empty() ? std::nullopt : missing_dtype(app, path);
      if (!left_out) throw;
    }
    if (left_out) {
      plan.remarks.push_back(path + ": skipped (it holds " + std::string(name_of(*left_out)) +
                             ", for which no row is selected)");
    }
  }
}

fs::path resolved(std::string const& path) {
  std::error_code error;
  fs::path const result = fs::weakly_canonical(path, error);
  return error ? fs::path(path) : result;
}

// No file may be asked to be two things.
void check_paths(Options const& options, Plan const& plan) {
  auto const same = [](std::string const& a, std::string const& b) {
    std::error_code ignored;
    return !a.empty() && !b.empty() && (resolved(a) == resolved(b) || fs::equivalent(a, b, ignored));
  };
  if (same(options.output, options.json)) {
    throw UserError("conflicting options --output and --json (both name " + options.output + ") name two files");
  }
  std::pair<char const*, std::string const&> const written_files[] = {
      {"--output", options.output}, {"--json", options.json}, {"--save-machine", options.save_machine}};
  if (same(options.output, options.save_machine) || same(options.json, options.save_machine)) {
    throw UserError("conflicting options --save-machine and " +
                    std::string(same(options.json, options.save_machine) ? "--json" : "--output") + " (both name " +
                    options.save_machine + ") name two files");
  }
  for (PlannedCase const& planned : plan.cases) {
    for (auto const& [option, written] : written_files) {
      if (same(planned.path, written)) {
        throw UserError("conflicting options --input and " + std::string(option) + " (both name " + written +
                        ", which would be overwritten) name another file");
      }
    }
  }
  if (!options.output.empty() && plan.cases.size() > 1) {
    throw UserError("conflicting options: --output with " + std::to_string(plan.cases.size()) +
                    " cases (the file has room for the rows of one) choose one size or file, and one dtype");
  }
}

// Each variant, space and dtype that was named must occur somewhere.
void check_named(Options const& options, Plan const& plan) {
  auto const check = [&](std::string const& kind, Selection const& selection, auto const& name_in) {
    for (std::string const& name : selection.names) {
      bool const found = std::ranges::any_of(plan.cases, [&](PlannedCase const& planned) {
        return std::ranges::any_of(planned.rows, [&](Row const* row) { return name_in(*row) == name; });
      });
      if (!found) {
        throw UserError("nothing to run for " + kind + " " + name +
                        " (no selected row or case has it in this build) see --list");
      }
    }
  };
  check("variant", options.variants, [](Row const& row) { return row.info.name; });
  check("space", options.spaces, [](Row const& row) { return row.space; });
  check("dtype", options.dtypes, [](Row const& row) { return name_of(row.dtype); });
}

Plan make_plan(Command const& command, Options const& options) {
  Plan plan;
  if (!options.inputs_directory.empty() && !fs::is_directory(options.inputs_directory)) {
    throw UserError(options.inputs_directory +
                    ": no such directory (--inputs names one with a folder for each mini-app) check the path");
  }
  // Among several apps or files, one that the selection leaves without a row is not a mistake.
  bool const several = command.apps.size() > 1;
  for (App const* app : command.apps) {
    if (!options.inputs_directory.empty()) {
      plan_directory(*app, options, plan);
    } else if (!options.inputs.empty()) {
      plan_files(*app, options, options.inputs, plan);
    } else {
      if (!several) check_selection(*app, options, dtypes_of(*app, options));
      std::size_t const before = plan.cases.size();
      plan_generated(*app, options, plan);
      if (plan.cases.size() == before) {
        plan.remarks.push_back(std::string(app->info.name) + ": skipped (no row is selected)");
      }
    }
  }
  if (plan.cases.empty()) {
    throw UserError("nothing to run (" + (plan.remarks.empty() ? "no case is selected" : join(plan.remarks, "; ")) +
                    ") see " + command.program + " --list");
  }
  check_named(options, plan);
  check_paths(options, plan);
  return plan;
}

// ---------------------------------------------------------------------------------------------------------------------
// Running
// ---------------------------------------------------------------------------------------------------------------------

std::unique_ptr<Case> build(PlannedCase const& planned, Options const& options) {
  App const& app = *planned.app;
  if (planned.path.empty()) return app.generate(planned.dtype, planned.size, options.seed, planned.parameters);
  return app.read(planned.dtype, CaseFile(planned.path), planned.parameters);
}

std::vector<HostField> expected_of(PlannedCase const& planned, Case const& problem_case) {
  if (!planned.has_expected) return {};
  std::vector<HostField> fields = CaseFile(planned.path).expected(planned.app->output_fields(planned.dtype));
  check_expected_shapes(fields, problem_case.output_shapes(), planned.path);
  return fields;
}

void check_memory(PlannedCase const& planned) {
  std::vector<std::string> spaces;
  for (Row const* row : planned.rows) {
    if (std::ranges::find(spaces, row->space) == spaces.end()) spaces.push_back(row->space);
  }
  check_memory(describe(planned), memory_need(planned.footprint, planned.has_expected), spaces,
               planned.path.empty() ? "choose a smaller --size" : "use a machine with more memory");
}

std::vector<std::pair<std::string, Shape>> shapes_of(std::vector<HostField> const& fields) {
  std::vector<std::pair<std::string, Shape>> shapes;
  for (HostField const& field : fields) shapes.emplace_back(field.name, field.shape);
  return shapes;
}

// "100% copy on openmp is 23.5 GB/s, ..."
std::string roofs_text(SpaceReport const& space) {
  Roofs const& roofs = space.roofs;
  std::string text = "100% copy on " + space.name + " is " + format_number(roofs.copy_bytes_per_second / 1e9) + " GB/s";
  text += " (" + space.device + ")";
  for (DType const dtype : run_dtypes) {
    if (std::isfinite(roofs.peak(dtype))) {
      text += ", " + std::string(name_of(dtype)) + " peak " + format_number(roofs.peak(dtype) / 1e9) + " GFLOP/s";
    }
  }
  return text + (space.machine_file.empty() ? "" : ", from " + space.machine_file) + "\n";
}

class Session {
 public:
  Session(Command const& command, Options const& options, Plan const& plan)
      : command_(command), options_(options), plan_(plan), report_(options.json), table_(std::cout) {
    if (!options.save_machine.empty()) machine_path_ = writable_machine_file(options.save_machine);
    if (!options.output.empty()) output_ = std::make_unique<OutputFile>(options.output);
  }

  int run(std::vector<std::string> const& arguments) {
    describe_machine(arguments);
    if (!options_.machine.empty()) read_machine();
    for (std::size_t i = 0; i < plan_.cases.size() && !interrupted(); ++i) run_case(plan_.cases[i], i);
    progress_.clear();
    return finish();
  }

 private:
  void describe_machine(std::vector<std::string> const& arguments) {
    report_.build = build_facts();
    report_.system["command"] = command_.program + (arguments.empty() ? "" : " ") + join(arguments, " ");
    struct utsname machine{};
    if (::uname(&machine) == 0) {
      report_.system["host"] = machine.nodename;
      report_.system["kernel"] = std::string(machine.sysname) + " " + machine.release + " " + machine.machine;
    }
    auto const type = report_.build.find("build_type");
    if (type != report_.build.end() && type->second != "Release") {
      warn("this is a " + (type->second.empty() ? std::string("build without a type") : type->second + " build") +
           ", not a Release build: its times say little");
    }
    if (options_.sampling.samples < fewest_samples) {
      warn("only " + std::to_string(options_.sampling.samples) + " samples a row: fewer than " +
           std::to_string(fewest_samples) + " say little about the spread");
    }
  }

  // Roofs of another machine would be worse than none.
  void read_machine() {
    machine_ = read_machine_file(options_.machine);
    for (PlannedCase const& planned : plan_.cases) {
      for (Row const* row : planned.rows) {
        auto const found = machine_.find(row->space);
        if (found == machine_.end()) {
          throw UserError("cannot use --machine " + options_.machine + " (it has no roofs of " + row->space +
                          ") write one with roofline --save-machine FILE, or choose a --space");
        }
        if (std::string const here = device_name(row->space); found->second.device != here) {
          throw UserError("cannot use --machine " + options_.machine + " (its " + row->space + " is " +
                          found->second.device + ", here it is " + here +
                          ") write one with roofline --save-machine FILE");
        }
      }
    }
  }

  // For people, and for those who read the report later.
  void warn(std::string const& text) {
    warnings_.push_back(text);
    std::string& all = report_.system["warnings"];
    all += (all.empty() ? "" : "; ") + text;
  }

  // What stands above the rows of an app. Printed as late as that, so that a mistake found in the first case has
  // stdout empty.
  void announce(App const& app) {
    if (announced_ == nullptr) {
      for (std::string const& remark : plan_.remarks) std::cout << remark << "\n";
    }
    for (std::string const& warning : std::exchange(warnings_, {})) std::cout << "warning: " << warning << "\n";
    if (announced_ == &app) return;
    announced_ = &app;
    std::vector<Row const*> rows;
    for (PlannedCase const& planned : plan_.cases) {
      if (planned.app == &app) rows.insert(rows.end(), planned.rows.begin(), planned.rows.end());
    }
    table_.begin_app(app, rows);
  }

  void run_case(PlannedCase const& planned, std::size_t index) {
    CaseReport report;
    report.app = planned.app->info.name;
    report.source = planned.path;
    if (planned.path.empty()) {
      report.size = planned.size;
      report.seed = options_.seed;
    }
    report.dtype = planned.dtype;
    report.parameters = planned.parameters;
    report.has_expected = planned.has_expected;

    std::unique_ptr<Case> problem_case;
    Oracle oracle;
    std::string fault;
    try {
      progress_.show(describe(planned) + ": input");
      problem_case = build(planned, options_);
      oracle.from_file = expected_of(planned, *problem_case);
      report.input = shapes_of(problem_case->input());
      report.output = shapes_of(problem_case->output_shapes());
      Work const work = problem_case->work();
      report.bytes = work.bytes;
      report.flops = work.flops;
      progress_.show(describe(planned) + ": reference");
      double const start = steady_seconds();
      oracle.reference = problem_case->reference();
      report.reference_seconds = steady_seconds() - start;
      fault = disagreement(oracle);
    } catch (UserError const& error) {
      // As long as nothing has run it is a mistake like any other.
      if (report_.rows() == 0) throw;
      fault = error.what();
    } catch (std::bad_alloc const&) {
      fault = "out of memory (the input or the reference did not fit) choose a smaller size";
    } catch (std::exception const& error) {
      fault = std::string("the case could not be prepared: ") + error.what();
    }
    if (interrupted()) return;

    std::size_t const case_index = report_.add_case(report);
    progress_.clear();
    announce(*planned.app);
    table_.begin_case(report, index, plan_.cases.size());
    if (problem_case)
      write_output(
          [&] { output_->write_input(problem_case->input(), without_shaping(*planned.app, planned.parameters)); });
    std::string space;
    for (std::size_t i = 0; i < planned.rows.size() && !interrupted(); ++i) {
      Row const& row = *planned.rows[i];
      if (row.space != space && !space.empty() && problem_case) problem_case->release_device_input();
      space = row.space;
      RowReport start;
      start.app = report.app;
      start.case_index = case_index;
      start.bytes = report.bytes;
      start.flops = report.flops;
      if (!fault.empty()) {
        start.variant = row.info.name;
        start.space = row.space;
        start.dtype = row.dtype;
        start.level = row.info.level;
        start.deterministic = row.info.deterministic;
        start.cold = options_.sampling.cold;
        start.reason = fault;
        record(start);
        continue;
      }
      start.roofs = roofs_of(space);
      if (interrupted()) return;
      progress_.show("case " + std::to_string(index + 1) + "/" + std::to_string(plan_.cases.size()) + ", row " +
                     std::to_string(i + 1) + "/" + std::to_string(planned.rows.size()) + ": " +
                     std::string(row.info.name) + " on " + row.space);
      auto const take_output = [&](Row const& done, std::vector<HostField> const& fields) {
        write_output([&] {
          output_->write(std::string(done.info.name), done.space, fields);
          output_->commit();
        });
      };
      std::optional<RowReport> done =
          run_row(row, *problem_case, oracle, options_.sampling, start, interrupted, take_output);
      progress_.clear();
      if (!done) return;
      record(*done);
    }
  }

  // The table's row first: it must not depend on a file.
  void record(RowReport const& row) {
    table_.add_row(row);
    try {
      report_.add_row(row);
    } catch (std::runtime_error const& error) {
      complain(error.what());
    }
  }

  template <class Write>
  void write_output(Write const& write) {
    if (!output_) return;
    try {
      write();
    } catch (std::runtime_error const& error) {
      complain(error.what());
      output_.reset();
    }
  }

  // A file that cannot be written (a full disk) does not end the run, but it does not end well either.
  void complain(std::string const& text) {
    file_failed_ = true;
    if (complaints_.insert(text).second) std::cerr << command_.program << ": " << text << std::endl;
  }

  // The roofs of a space: from the machine file, or measured, once in a run.
  Roofs const& roofs_of(std::string const& space) {
    for (SpaceReport const& known : spaces_) {
      if (known.name == space) return known.roofs;
    }
    SpaceReport report;
    report.name = space;
    report.device = device_name(space);
    report.concurrency = concurrency(space);
    if (options_.machine.empty()) {
      measure(report);
    } else {
      report.machine_file = options_.machine;
      report.roofs = machine_.at(space).roofs;
    }
    report_.add_space(report);
    return spaces_.emplace_back(report).roofs;
  }

  void measure(SpaceReport& report) {
    progress_.show("roofs of " + report.name);
    // Beyond any last-level cache, and on a GPU long enough that a launch is nothing; within a quarter of what is free.
    double const bytes = std::min(is_host_space(report.name) ? 0x1p28 : 0x1p30,
                                  std::floor(free_memory_bytes(report.name) / 8 / 256) * 256);
    try {
      if (bytes > 0) report.roofs = measure_roofs(report.name, static_cast<std::size_t>(bytes), 7);
    } catch (std::exception const& error) {
      progress_.clear();
      warn("no roofs of " + report.name + ": " + error.what());
    }
  }

  int finish() {
    for (SpaceReport const& space : spaces_) {
      std::cout << (&space == &spaces_.front() ? "\n" : "") << roofs_text(space);
    }
    int const signal = caught_signal;
    if (signal == 0) {
      try {
        report_.finish();
        if (!machine_path_.empty()) {
          write_machine_file(machine_path_, {spaces_.begin(), spaces_.end()}, report_.build, report_.system);
        }
      } catch (std::runtime_error const& error) {
        complain(error.what());
      }
    } else {
      std::cout << "interrupted: these are the rows that were done\n";
    }
    for (std::string const& warning : warnings_) std::cout << "warning: " << warning << "\n";
    std::cout << report_.last_line() << std::endl;
    if (signal != 0) return 128 + signal;
    return report_.failed() > 0 || file_failed_ ? 1 : 0;
  }

  Command const& command_;
  Options const& options_;
  Plan const& plan_;
  Report report_;
  Table table_;
  Progress progress_;
  std::unique_ptr<OutputFile> output_;
  std::map<std::string, SpaceReport> machine_;  // what --machine says
  std::string machine_path_;                    // of --save-machine
  std::deque<SpaceReport> spaces_;              // in the order of their first rows; references to them are kept
  std::set<std::string> complaints_;
  std::vector<std::string> warnings_;  // not printed yet
  App const* announced_ = nullptr;
  bool file_failed_ = false;
};

// Input files are read once more than needed where there are several: what is wrong with the last must be said before
// the first has run.
void check_all_files(Plan const& plan, Options const& options) {
  if (plan.cases.size() < 2) return;
  for (PlannedCase const& planned : plan.cases) {
    if (!planned.path.empty()) (void)expected_of(planned, *build(planned, options));
  }
}

int run_plan(Command const& command, Options const& options, std::vector<std::string> const& arguments) {
  Plan const plan = make_plan(command, options);
  SignalGuard const guard;
  Session session(command, options, plan);

  std::vector<std::string> kokkos{command.program};
  kokkos.insert(kokkos.end(), options.kokkos_arguments.begin(), options.kokkos_arguments.end());
  std::vector<char*> pointers;
  for (std::string& text : kokkos) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  int count = static_cast<int>(kokkos.size());
  std::unique_ptr<Runtime> runtime;
  try {
    runtime = std::make_unique<Runtime>(count, pointers.data());
  } catch (std::exception const& error) {
    throw UserError("Kokkos cannot start (" + std::string(error.what()) +
                    ") check the --kokkos-* options and that this machine has what the build is for");
  }
  for (PlannedCase const& planned : plan.cases) check_memory(planned);
  check_all_files(plan, options);
  return session.run(arguments);
}

int run_command(Command const& command, std::vector<std::string> const& arguments) {
  Options const options = parse_options(command, arguments);
  if (options.help) {
    std::cout << help_text(command) << std::flush;
  } else if (options.version) {
    std::cout << version_text(command.program) << std::flush;
  } else if (options.list) {
    std::cout << list_text(command.apps) << std::flush;
  } else {
    return run_plan(command, options, arguments);
  }
  return 0;
}

// Turns what ends a run into one message and an exit code.
template <class Body>
int guarded(std::string const& program, Body const& body) {
  try {
    return body();
  } catch (UserError const& error) {
    std::cerr << program << ": " << error.what() << std::endl;
    return 2;
  } catch (std::exception const& error) {
    std::cerr << program << ": unexpected error (" << error.what() << ") please report it with the command line"
              << std::endl;
    return 1;
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// The umbrella
// ---------------------------------------------------------------------------------------------------------------------

std::string suite_help() {
  return "tessera: a suite of Kokkos mini-apps\n"
         "\n"
         "usage\n"
         "  tessera list                        the mini-apps\n"
         "  tessera help APP                    one mini-app: its options and variants\n"
         "  tessera run APP [options]           run one; its own options are those of `tessera help APP`\n"
         "  tessera run all [options]           run every mini-app; also APP,APP\n"
         "  tessera run all --inputs DIR        run each on the cases DIR/<app>/*.h5\n"
         "  tessera --help | --version\n"
         "\n"
         "examples\n"
         "  tessera run all --inputs inputs --json report.json\n"
         "  tessera run all --size 2^24\n"
         "  tessera run all --help              the options common to all mini-apps\n"
         "\n"
         "exit codes\n"
         "  0  every row verified, 1  a row failed, 2  a mistake and nothing ran, 130  interrupted\n";
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
  for (std::size_t begin = 0; begin <= text.size();) {
    std::size_t const comma = std::min(text.find(',', begin), text.size());
    std::string const name = text.substr(begin, comma - begin);
    begin = comma + 1;
    auto const at = std::ranges::find(names, name);
    if (at == names.end()) throw UserError(unknown_name("mini-app", name, names));
    App const* const app = &apps[static_cast<std::size_t>(at - names.begin())];
    if (std::ranges::find(found, app) == found.end()) found.push_back(app);
  }
  return found;
}

int run_suite_command(std::vector<App> const& apps, std::vector<std::string> const& arguments) {
  if (arguments.empty()) throw UserError("no command (there are list, run, help) see tessera --help");
  std::string const& command = arguments[0];
  auto const expect_end = [&](std::size_t count) {
    if (arguments.size() > count) {
      throw UserError("unexpected argument `" + arguments[count] + "` (tessera " + command + " takes no more) see " +
                      "tessera --help");
    }
  };
  if (command == "--help" || command == "-h" || (command == "help" && arguments.size() == 1)) {
    std::cout << suite_help() << std::flush;
    return 0;
  }
  if (command == "--version") {
    expect_end(1);
    std::cout << version_text("tessera") << std::flush;
    return 0;
  }
  if (command == "list" || command == "--list") {
    expect_end(1);
    std::cout << suite_list(apps) << std::flush;
    return 0;
  }
  if (command == "help") {
    expect_end(2);
    std::cout << help_text({"tessera run " + arguments[1], find_apps(apps, arguments[1]), true}) << std::flush;
    return 0;
  }
  if (command != "run") throw UserError(unknown_name("command", command, {"list", "run", "help"}));
  if (arguments.size() < 2 || arguments[1].starts_with('-')) {
    if (arguments.size() > 1 && (arguments[1] == "--help" || arguments[1] == "-h")) {
      std::cout << suite_help() << std::flush;
      return 0;
    }
    throw UserError(
        "no mini-app after `tessera run` (its name comes before the options) write `tessera run all` or "
        "one of those that `tessera list` shows");
  }
  return run_command({"tessera run " + arguments[1], find_apps(apps, arguments[1]), true},
                     std::vector<std::string>(arguments.begin() + 2, arguments.end()));
}

std::vector<std::string> arguments_of(int argc, char** argv) {
  return std::vector<std::string>(argv + std::min(argc, 1), argv + argc);
}

}  // namespace

MemoryNeed memory_need(Footprint const& footprint, bool has_expected) {
  double const oracle = 16 * footprint.output_elements;
  double const results = (has_expected ? 3 : 2) * footprint.output_bytes;
  double const row = 2 * footprint.output_bytes;
  return {.host = footprint.input_bytes + oracle + results, .row = row, .device = footprint.input_bytes + row};
}

void check_memory(std::string const& what, MemoryNeed const& need, std::vector<std::string> const& spaces,
                  std::string const& advice) {
  auto const check = [&](std::string const& where, double needed, double free) {
    // Written so that an amount that is not known passes.
    if (needed > free) {
      throw UserError("not enough memory for " + what + " (it needs " + format_bytes(needed) + " of " + where +
                      " memory, " + format_bytes(free) + " are free) " + advice);
    }
  };
  // Any host space tells how much host memory is free.
  std::string host;
  for (std::string const& space : enabled_spaces()) {
    if (is_host_space(space)) host = space;
  }
  double const host_free = host.empty() ? unknown : free_memory_bytes(host);
  check("host", need.host, host_free);
  for (std::string const& space : spaces) {
    if (is_host_space(space)) {
      check("host", need.host + need.row, host_free);
    } else {
      check(space + " device", need.device, free_memory_bytes(space));
    }
  }
}

int run_app(App const& app, int argc, char** argv) {
  std::string const name(app.info.name);
  return guarded(name, [&] { return run_command({name, {&app}, false}, arguments_of(argc, argv)); });
}

int run_suite(std::vector<App> const& apps, int argc, char** argv) {
  return guarded("tessera", [&] { return run_suite_command(apps, arguments_of(argc, argv)); });
}

}  // namespace tessera
