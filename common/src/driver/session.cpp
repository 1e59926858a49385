#include "session.hpp"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <deque>
#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include <tessera/cli/nearest.hpp>
#include <tessera/core/host_threads.hpp>
#include <tessera/driver/driver.hpp>
#include <tessera/io/case_file.hpp>
#include <tessera/io/whole_file.hpp>
#include <tessera/ranks/agreement.hpp>
#include <tessera/ranks/ranks.hpp>
#include <tessera/ranks/transport.hpp>
#include <tessera/report/baseline.hpp>
#include <tessera/report/csv.hpp>
#include <tessera/report/digest.hpp>
#include <tessera/report/machine_file.hpp>
#include <tessera/report/table.hpp>
#include <tessera/table/runtime.hpp>
#include <tessera/verify/verify.hpp>

#include "../report/json.hpp"
#include "../report/tee.hpp"
#include "../report/thread_facts.hpp"
#include "commands.hpp"
#include "interruption.hpp"
#include "plan.hpp"
#include "progress.hpp"

namespace tessera {

namespace {

std::unique_ptr<Case> build(PlannedCase const& planned, Options const& options) {
  App const& app = *planned.app;
  try {
    if (planned.path.empty()) {
      return app.generate_data(planned.dtype, planned.size, options.seed, planned.data, planned.parameters);
    }
    ranks::together(ranks::world(), [&] { planned.file->reopen(); });
    return app.read(planned.dtype, *planned.file, planned.parameters);
  } catch (UserError const&) {
    throw;
  } catch (std::exception const& error) {  // out of memory: everything else has been checked before
    throw UserError("not enough memory for " + describe(planned) + " (" + error.what() + "); choose a smaller case");
  }
}

constexpr double long_reference = 10;  // seconds

std::vector<HostField> expected_of(PlannedCase const& planned, Case const& problem_case) {
  if (!planned.has_expected) return {};
  std::vector<HostField> fields = planned.file->expected(planned.app->output_fields(planned.dtype));
  check_expected_shapes(fields, problem_case.output_shapes(), planned.path);
  return fields;
}

// Returns a host space of this build, or an empty text. Any host space reports the free host memory.
std::string host_space() {
  std::vector<std::string> const spaces = enabled_spaces();
  auto const found = std::ranges::find_if(spaces, is_host_space);
  return found == spaces.end() ? std::string() : *found;
}

// Returns the bytes of host memory that a case needs.
double check_memory(PlannedCase const& planned) {
  std::vector<std::string> spaces;
  for (Row const* row : planned.rows) {
    if (std::ranges::find(spaces, row->space) == spaces.end()) spaces.push_back(row->space);
  }
  MemoryNeed need = memory_need(planned.footprint, planned.has_expected);
  // For all ranks on this node together. Each has its own part plus the data that every rank holds, or the whole input
  // for its reference.
  ranks::Ranks const& ranks = ranks::world();
  double const share = 1.0 / ranks.count();
  double const on_each = (1 - share) * planned.footprint.input_bytes_on_each;
  need.host = ranks.count_on_node() * (planned.app->refers_to_parts ? share * need.host + on_each : need.host);
  need.row *= ranks.count_on_node() * share;
  need.device = share * need.device + on_each;
  check_memory(describe(planned), need, spaces,
               planned.path.empty() ? "choose a smaller --size" : "use a machine with more memory");
  return need.host + (std::ranges::any_of(spaces, is_host_space) ? need.row : 0.0);
}

// Reports the host memory of the largest case if it is so large that other users of the machine may need the memory.
void announce_memory(Command const& command, Plan const& plan, std::vector<double> const& bytes) {
  constexpr double much = 0x1p32;
  auto const most = std::ranges::max_element(bytes);
  if (most == bytes.end() || *most < much) return;
  std::cerr << command.program << ": " << one_line(describe(plan.cases[static_cast<std::size_t>(most - bytes.begin())]))
            << " takes up to " << format_bytes(*most) << " of host memory ("
            << format_bytes(free_memory_bytes(host_space())) << " are free)" << std::endl;
}

// Returns the fields as they are in the file: a vector that was read as a matrix of one row becomes a vector again, and
// so do its results.
std::vector<HostField> as_given(PlannedCase const& planned, std::vector<HostField> fields) {
  if (!planned.from_vector) return fields;
  std::vector<FieldSpec> specs = planned.app->input_fields(planned.dtype);
  std::ranges::copy(planned.app->output_fields(planned.dtype), std::back_inserter(specs));
  for (HostField& field : fields) {
    auto const is_row = [&](FieldSpec const& spec) { return spec.name == field.name && spec.vector_as_row; };
    if (std::ranges::any_of(specs, is_row) && field.shape.size() == 2 && field.shape[0] == 1) {
      field.shape.erase(field.shape.begin());
    }
  }
  return fields;
}

// A rank's parts of fields, and their places; no places on one rank, which has whole fields.
struct PlacedFields {
  std::vector<HostField> fields;
  std::vector<FieldPlace> places;
};

PlacedFields as_given(PlannedCase const& planned, std::vector<HostField> fields,
                      std::vector<FieldPlace> const& places) {
  if (places.empty()) return {as_given(planned, std::move(fields)), {}};
  PlacedFields placed{std::move(fields), {}};
  for (HostField& field : placed.fields) {
    FieldPlace place = *std::ranges::find(places, field.name, &FieldPlace::name);
    HostField whole = field;
    whole.shape = place.whole;
    whole = as_given(planned, {whole}).front();
    if (whole.shape.size() < place.whole.size()) {  // a vector read as a matrix of one row, which ranks may not have
      if (field.shape.front() == 0) field.shape.back() = 0;
      field.shape.erase(field.shape.begin());
      place.offset.erase(place.offset.begin());
      place.whole = whole.shape;
    }
    placed.places.push_back(std::move(place));
  }
  return placed;
}

// A row that writes only the first elements of a vector has fewer elements than its ranks' blocks. The whole is as long
// as the parts together. Must be called by all ranks.
void cut_to_parts(PlacedFields& placed, ranks::Ranks const& ranks) {
  for (std::size_t i = 0; i < placed.places.size(); ++i) {
    FieldPlace& place = placed.places[i];
    if (place.is_everywhere || place.whole.size() != 1) continue;
    place.whole = {0};
    for (std::size_t const own : ranks.all_gather(placed.fields[i].shape.front())) place.whole[0] += own;
  }
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
  for (DType const dtype : arithmetic_dtypes) {
    if (std::isfinite(roofs.peak(dtype))) {
      text += ", " + std::string(name_of(dtype)) + " peak " + format_number(roofs.peak(dtype) / 1e9) + " GFLOP/s";
    }
  }
  std::string matrix;
  for (Unit const unit : matrix_units) {
    double const peak = roofs.matrix_peak(unit);
    if (std::isfinite(peak)) {
      matrix += (matrix.empty() ? " " : ", ") + std::string(name_of(unit)) + " " + format_number(peak / 1e12);
    }
  }
  if (!matrix.empty()) text += ", of matrix units (mma.sync)" + matrix + " TFLOP/s";
  if (!space.machine_file.empty()) text += ", from " + space.machine_file;
  return text + (roofs.unsure.empty() ? "" : " (unsure)");
}

// Limit for measuring the roofs of a run, for all ranks of a node.
constexpr double seconds_for_roofs = 3;

// A row that exceeds its roof by this factor shows that the roof is wrong. (Least bytes count a table row once per
// lookup. In `embedding` a GPU's cache serves a part of them, and the row reaches 1.3 times copy.)
constexpr double beyond_roof = 1.6;

// Returns the number of different values.
template <class Of>
std::size_t different(Plan const& plan, Of const& of) {
  std::set<std::string> values;
  for (PlannedCase const& planned : plan.cases) {
    for (Row const* row : planned.rows) values.insert(std::string(of(*row)));
  }
  return values.size();
}

// Returns a row's relative time, in any unit: its case's bytes plus a constant.
double row_cost(PlannedCase const& planned) {
  return planned.footprint.input_bytes + planned.footprint.output_bytes + 0x1p22;
}

std::vector<std::string> app_names(Plan const& plan) {
  std::vector<std::string> names;
  for (PlannedCase const& planned : plan.cases) names.emplace_back(planned.app->info.name);
  return names;
}

// Converts each field for results of its dtype.
void make_narrow(Oracle& oracle, std::vector<HostField> const& outputs) {
  for (std::size_t i = 0; i < std::min(outputs.size(), oracle.reference.size()); ++i) {
    make_narrow(oracle.reference[i], outputs[i].dtype);
  }
}

// Writes directly to the file descriptor, because another thread may be using the stream.
void write_last_line(std::string const& line, ranks::Ranks const& ranks) {
  if (!ranks.first()) return;
  std::string const text = "interrupted: these are the rows that were done\n" + line + "\n";
  (void)!::write(STDOUT_FILENO, text.data(), text.size());
}

// A case with its input and the results that its rows are checked against, or the fault that prevents it.
struct PreparedCase {
  CaseReport report;
  std::unique_ptr<Case> problem_case;
  Oracle oracle;
  Verified verified;
  std::string fault;
  std::exception_ptr mistake;  // set if the fault is the user's mistake
};

// Executes one step of preparing a case. An exception becomes the case's fault.
template <class Step>
void prepare(PreparedCase& prepared, Step const& step) {
  try {
    step();
  } catch (UserError const& error) {
    prepared.mistake = std::current_exception();
    prepared.fault = error.what();
  } catch (std::bad_alloc const&) {
    prepared.fault = "out of memory (the input or the reference did not fit); choose a smaller case";
  } catch (std::exception const& error) {
    prepared.fault = std::string("the case could not be prepared: ") + error.what();
  }
}

class Session {
 public:
  Session(Command const& command, Options const& options, Plan const& plan, std::vector<std::string> const& arguments)
      : ranks_(ranks::world()),
        command_(command),
        options_(options),
        plan_(plan),
        arguments_(arguments),
        report_(options.json),
        text_(&sinks_),
        table_(text_, options.spread) {
    if (options.digest) {
      digest_.emplace(std::cout, app_names(plan), different(plan, [](Row const& row) { return row.space; }),
                      different(plan, [](Row const& row) { return name_of(row.dtype); }));
    } else if (!options.lines) {
      sinks_.add(std::cout);
    }
    if (!options.csv.empty()) csv_.emplace(options.csv);
    if (!options.log.empty()) log_file_ = std::make_unique<WholeFile>("--log", options.log);
    if (!options.save_machine.empty()) {
      machine_file_ = std::make_unique<WholeFile>("--save-machine", options.save_machine);
    }
    if (!options.baseline.empty()) read_baseline();
    if (!options.output.empty()) output_ = std::make_unique<OutputFile>(options.output, ranks_);
  }

  int run() {
    describe_machine();
    if (!options_.machine.empty()) ranks::together(ranks_, [&] { read_machine(); });
    std::vector<Progress::Part> parts;
    for (PlannedCase const& planned : plan_.cases) {
      parts.push_back({std::string(planned.app->info.name), planned.rows.size(), row_cost(planned)});
    }
    progress_.plan(parts);
    for (std::size_t begin = 0; begin < plan_.cases.size() && !stop();) begin = run_group(begin);
    (void)stop();  // a signal during the last row
    progress_.clear();
    if (!stop()) note_other_load();
    std::lock_guard const lock(state_);
    return finish(stop_signal_);
  }

  [[nodiscard]] bool has_rows() const { return report_.rows() > 0; }

  /// Ends the run after a failed allocation; the results so far are printed and kept.
  int end_without_memory() {
    std::lock_guard const lock(state_);
    complain("out of memory (an allocation failed); choose a smaller case, or allow more (ulimit -v)");
    return finish(caught_signal());
  }

  /// Ends the run in the middle of a step, from another thread; the results so far are printed and kept.
  void end_now() noexcept try {
    std::unique_lock const lock(state_, std::chrono::milliseconds(300));
    if (lock && !ended_) {
      progress_.clear();
      (void)finish(caught_signal());
    }
    // The run's own thread may take long to write a file, or hang: the last line does not wait for it.
    if (!lock && takes_last_line()) write_last_line(report_.last_line(), ranks_);
  } catch (...) {  // NOLINT(bugprone-empty-catch): the process ends in any case
  }

 private:
  // For the whole run. Must be called by all ranks, so an interrupted run has no such note.
  void note_other_load() {
    other_load_ = load_.others(ranks_);
    if (!other_load_) return;
    report_.system["processors_of_all_nodes"] = format_number(other_load_->processors);
    report_.system["processors_busy_with_others"] = format_number(other_load_->busy);
  }

  void describe_machine() {
    report_.build = build_facts();
    report_.system["command"] = command_.program + (arguments_.empty() ? "" : " ") + join(arguments_, " ");
    report_.system["ranks"] = std::to_string(ranks_.count());
    report_.system.merge(report::thread_facts());
    if (ranks_.count() > 1) {
      report_.system["nodes"] = std::to_string(std::llround(ranks_.sum(ranks_.rank_on_node() == 0 ? 1 : 0)));
      report_.system["mpi"] = ranks_.library();
      report_.system["transport"] = name_of(ranks::transport(true));
      report_.system["hdf5_access"] = hdf5::is_parallel() ? "collective" : "independent";
    }
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
    if (options_.verify.kind == VerifyOptions::Kind::first) {
      warn("--verify first: only the first launch of each row is checked");
    }
    if (options_.verify.kind == VerifyOptions::Kind::sample) {
      warn("--verify sample:" + std::to_string(options_.verify.elements) +
           ": only so many elements of each field are checked");
    }
    if (options_.sampling.samples < fewest_samples) {
      warn("only " + std::to_string(options_.sampling.samples) + " samples a row: fewer than " +
           std::to_string(fewest_samples) + " say little about the spread");
    }
  }

  // Roofs of another machine would be worse than none.
  void read_machine() {
    machine_ = read_machine_file(options_.machine);
    std::optional<SpaceReport> only;
    if (machine_.size() == 1) only = machine_.begin()->second;
    for (PlannedCase const& planned : plan_.cases) {
      for (Row const* row : planned.rows) {
        bool const another = planned.app->info.measures_roofs;
        // The file of another machine may lack this machine's spaces.
        if (another && only) machine_.try_emplace(row->space, *only);
        auto const found = machine_.find(row->space);
        if (found == machine_.end()) {
          throw UserError("cannot use --machine " + options_.machine + " (it has no roofs of " + row->space +
                          "); write one with roofline --save-machine FILE, or choose a --space");
        }
        if (std::string const here = device_name(row->space); found->second.device != here) {
          if (another) {
            warn_once("the roofs of " + row->space + " are those of another device: " + found->second.device +
                      ", from " + options_.machine);
            continue;
          }
          throw UserError("cannot use --machine " + options_.machine + " (its " + row->space + " is " +
                          found->second.device + ", here it is " + here +
                          "); write one with roofline --save-machine FILE");
        }
      }
    }
  }

  // If nothing can be compared with the baseline, say why.
  void read_baseline() {
    Facts const build = build_facts();
    auto const version = build.find("version");
    baseline_.emplace(options_.baseline, version == build.end() ? std::string() : version->second);
    report_.system["baseline"] = options_.baseline;
    if (ranks_.count() == 1) {
      warn("--baseline: this run is on one rank, and has no efficiency");
      return;
    }
    std::string missing;
    bool found = false;
    for (PlannedCase const& planned : plan_.cases) {
      CaseReport report;
      describe_source(planned, report);
      report.parameters = planned.parameters;
      for (Row const* row : planned.rows) {
        if (row->info.level != Level::ranks) continue;
        bool const there = one_rank_row(planned, report, row->info.name, row->space).has_value();
        found = found || there;
        if (!there && missing.empty()) missing = size_on_one_rank(planned, report) + " on " + row->space;
      }
    }
    if (!found && !missing.empty()) {
      throw UserError("cannot use --baseline " + options_.baseline +
                      " (it has no row like those of this run: " + missing +
                      (plan_.cases.size() > 1 ? ", and others" : "") + "); write one on one rank with --json FILE");
    }
    for (std::string const& text : baseline_->differences(build)) warn(text);
  }

  // "dot in float, size 1024".
  [[nodiscard]] std::string size_on_one_rank(PlannedCase const& planned, CaseReport const& report) const {
    std::optional<std::size_t> const size = size_of_one_rank(report);
    return std::string(planned.app->info.name) + " in " + std::string(name_of(planned.dtype)) + ", " +
           (size ? "size " + std::to_string(*size) : planned.path);
  }

  // Weak scaling: the size of one rank's part; strong scaling: the whole size.
  [[nodiscard]] std::optional<std::size_t> size_of_one_rank(CaseReport const& report) const {
    if (!report.size) return std::nullopt;
    return options_.sizes_per_rank ? *report.size / static_cast<std::size_t>(ranks_.count()) : *report.size;
  }

  [[nodiscard]] std::optional<Baseline::Row> one_rank_row(PlannedCase const& planned, CaseReport const& report,
                                                          std::string_view variant, std::string_view space) const {
    CaseReport of = report;
    for (ParameterSpec const& spec : planned.app->parameters) {
      if (spec.of_ranks) of.parameters.erase(spec.name);
    }
    return baseline_->find({of, size_of_one_rank(report), variant, space, options_.sampling.cold});
  }

  void compare_with_one_rank(PlannedCase const& planned, CaseReport const& report, RowReport& row) {
    if (!baseline_ || row.ranks.count == 1 || row.samples.seconds.empty()) return;
    std::string const what = size_on_one_rank(planned, report) + " on " + row.space;
    auto const one = one_rank_row(planned, report, row.variant, row.space);
    if (!one) {
      warn_once("no efficiency of " + what + ": --baseline " + options_.baseline + " has no such row");
      return;
    }
    if (std::string const text = baseline_->difference(row.space, device_name(row.space)); !text.empty())
      warn_once(text);
    bool const weak = options_.sizes_per_rank && report.size.has_value();
    row.ranks.scaling = Scaling{efficiency_of(row, *one), weak,         one->variant,
                                size_of_one_rank(report), one->seconds, row.noisy() || one->noisy};
  }

  void warn_once(std::string const& text) {
    if (std::ranges::find(warnings_, text) == warnings_.end()) warn(text);
  }

  // Prints a warning, and stores it in the report.
  void warn(std::string const& text) {
    warnings_.push_back(text);
    std::string& all = report_.system["warnings"];
    all += (all.empty() ? "" : "; ") + text;
  }

  // Prints the heading of an app's rows. This happens only when there is a row to print: until then a mistake in the
  // first case leaves stdout empty and an old log unchanged.
  void announce(App const& app) {
    if (announced_ == nullptr) {
      open_log();
      for (std::string const& line : to_lines(plan_.left_out)) text_ << one_line(line) << "\n";
      if (digest_) {
        for (LeftOut const& one : plan_.left_out) {
          one.is_file ? digest_->leave_out_file(one.why) : digest_->leave_out_app(one.why);
        }
      }
    }
    print_warnings();
    if (announced_ == &app) return;
    announced_ = &app;
    std::size_t cases = 0;
    std::vector<Row const*> rows;
    for (PlannedCase const& planned : plan_.cases) {
      if (planned.app != &app) continue;
      ++cases;
      rows.insert(rows.end(), planned.rows.begin(), planned.rows.end());
    }
    table_.begin_app(app, rows);
    publish_log();
    if (digest_) digest_->begin_app(app, cases, rows);
  }

  void open_log() {
    if (!log_file_) return;
    log_.open(log_file_->temporary(), std::ios::binary);
    sinks_.add(log_);
  }

  // The log is renamed as soon as its first lines are on the disk, so that a full disk does not destroy an older log.
  // Afterwards it grows in place, so that users can watch it.
  void publish_log() {
    if (!log_file_ || std::exchange(log_published_, true)) return;
    try {
      log_.flush();
      if (!log_) log_file_->fail("its first lines could not be written: is the disk full?");
      log_file_->publish();
    } catch (std::runtime_error const& error) {
      log_.close();
      log_file_->discard();
      complain(error.what());
    }
  }

  void print_warnings() {
    for (; warnings_printed_ < warnings_.size(); ++warnings_printed_) {
      text_ << "warning: " << warnings_[warnings_printed_] << "\n";
    }
  }

  // Prepares several cases from `begin` on together, then runs their rows. Returns the first case after them.
  // References are serial loops, so they run concurrently; nothing is timed meanwhile. A group has as many cases as
  // there are threads, and as fit into two thirds of the free memory.
  std::size_t run_group(std::size_t begin) {
    case_clock_ = steady_seconds();
    std::vector<std::size_t> firsts;  // of the cases that share an input
    std::size_t end = begin;
    // All cases of a group exist at once, but the results of only one.
    double held = 0;
    double results = 0;
    auto const need = [&] { return memory_need(plan_.cases[end].footprint, plan_.cases[end].has_expected); };
    auto const needed_with = [&](MemoryNeed const& more) {
      return held + more.held + std::max(results, more.host - more.held);
    };
    do {
      results = std::max(results, need().host - need().held);
      held += need().held;
      firsts.push_back(end++);
      while (end < plan_.cases.size() && plan_.cases[end].same_input) ++end;
    } while (end < plan_.cases.size() && firsts.size() < host_threads() && ranks_.count() == 1 &&
             1.5 * needed_with(need()) < free_memory_bytes(host_space()));
    std::vector<PreparedCase> group(firsts.size());
    for (std::size_t i = 0; i < group.size() && !stop(); ++i) {
      progress_.begin_case(firsts[i]);
      progress_.show(describe(plan_.cases[firsts[i]]) + ": input");
      make_input(plan_.cases[firsts[i]], group[i]);
      agree(group[i]);
    }
    progress_.show(group.size() == 1 ? describe(plan_.cases[begin]) + ": reference"
                                     : "references of cases " + std::to_string(begin + 1) + " to " +
                                           std::to_string(end) + " of " + std::to_string(plan_.cases.size()));
    if (ranks_.count() > 1) {
      if (group.front().fault.empty() && !stop()) find_reference(plan_.cases[firsts.front()], group.front());
    } else {
      for_blocks(group.size(), 1, [&](std::size_t i, std::size_t, std::size_t) {
        if (group[i].fault.empty() && !interrupted()) find_reference(plan_.cases[firsts[i]], group[i]);
      });
    }
    double const ready = steady_seconds();
    progress_.prepared(end - begin, ready - std::exchange(case_clock_, ready));
    for (std::size_t i = 0; i < group.size() && !stop(); ++i) {
      PreparedCase prepared = std::move(group[i]);  // freed after its last row
      if (prepared.fault.empty()) make_narrow(prepared.oracle, prepared.problem_case->output_shapes());
      std::size_t const last = i + 1 < firsts.size() ? firsts[i + 1] : end;
      for (std::size_t index = firsts[i]; index < last && !stop(); ++index) run_case(index, prepared);
    }
    return end;
  }

  void describe_source(PlannedCase const& planned, CaseReport& report) const {
    report.app = planned.app->info.name;
    report.source = planned.path;
    if (planned.path.empty()) {
      report.size = planned.size;
      report.seed = options_.seed;
      report.data = planned.data;
    }
    report.dtype = planned.dtype;
  }

  void make_input(PlannedCase const& planned, PreparedCase& prepared) {
    CaseReport& report = prepared.report;
    describe_source(planned, report);
    report.has_expected = planned.has_expected;
    prepare(prepared, [&] {
      prepared.problem_case = build(planned, options_);
      Case const& problem_case = *prepared.problem_case;
      bool const is_drawn = planned.path.empty();
      prepared.oracle.random_data = is_drawn && planned.data == DataKind::random;
      prepared.oracle.is_file = !is_drawn;
      prepared.oracle.other_is_exact = is_drawn && planned.data != DataKind::exact && planned.app->has(DataKind::exact);
      prepared.oracle.verify = options_.verify;
      prepared.oracle.from_file = problem_case.own_part(expected_of(planned, problem_case));
      // On several ranks the reference may read the whole input again.
      if (planned.file && ranks_.count() == 1) planned.file->close();
      report.input = shapes_of(as_given(planned, problem_case.input_shapes()));
      report.output = shapes_of(as_given(planned, problem_case.output_shapes()));
      Work const work = problem_case.work();
      report.bytes = work.bytes;
      report.flops = work.flops;
    });
  }

  // Reports once that a reference takes long, estimated from its first parts as soon as every thread has done one.
  [[nodiscard]] BlockWatch announced_reference(PlannedCase const& planned) {
    return BlockWatch([this, &planned, said = std::make_shared<std::atomic<bool>>(!ranks_.first())](
                          std::size_t done, std::size_t blocks, double seconds) {
      if (done < std::min(host_threads(), blocks) || *said) return;
      double const left = seconds / static_cast<double>(done) * static_cast<double>(blocks - done);
      if (left < long_reference || said->exchange(true)) return;
      std::lock_guard const lock(announcing_);
      progress_.clear();
      std::cerr << command_.program << ": the reference of " << one_line(describe(planned)) << " may take "
                << std::llround(left) << " s more (by the time of its first parts); interrupt it if that is too long"
                << std::endl;
    });
  }

  // On several ranks references communicate: a failure on one rank ends all ranks.
  void find_reference(PlannedCase const& planned, PreparedCase& prepared) {
    prepare(prepared, [&] {
      double const start = steady_seconds();
      BlockWatch const watch = announced_reference(planned);
      Oracle& oracle = prepared.oracle;
      if (options_.verify.kind == VerifyOptions::Kind::sample && oracle.from_file.empty()) {
        auto const choose = [&](std::size_t count) {
          return sample_of(count, options_.verify.elements, options_.verify.seed);
        };
        oracle.sample = prepared.problem_case->reference_of_sample(choose).value_or(std::vector<ExpectedField>());
      }
      if (oracle.sample.empty()) oracle.reference = prepared.problem_case->reference_by_parts();
      prepared.report.reference_seconds = steady_seconds() - start;
      prepared.fault = disagreement(prepared.oracle);
    });
    if (ranks_.count() == 1) return;
    if (planned.file) planned.file->close();
    if (prepared.oracle.reference.empty() && !prepared.fault.empty()) {
      (void)std::fprintf(stderr, "rank %d: %s: %s\n", ranks_.rank(), describe(planned).c_str(), prepared.fault.c_str());
      ranks_.abort(1);
    }
    agree(prepared);
  }

  // A fault of a case on one rank becomes the fault on all ranks.
  void agree(PreparedCase& prepared) {
    if (ranks_.count() == 1) return;
    try {
      ranks::together(ranks_, [&] {
        if (prepared.fault.empty()) return;
        if (prepared.mistake) throw UserError(prepared.fault);
        throw std::runtime_error(prepared.fault);
      });
    } catch (UserError const& error) {
      prepared.mistake = std::current_exception();
      prepared.fault = error.what();
    } catch (std::exception const& error) {
      prepared.fault = error.what();
    }
  }

  // Must be called by all ranks at the same places. A signal to one rank ends all ranks, and the result is true on all.
  [[nodiscard]] bool stop() {
    if (stop_signal_ == 0) stop_signal_ = static_cast<int>(ranks_.max(caught_signal()));
    return stop_signal_ != 0;
  }

  void run_case(std::size_t index, PreparedCase& prepared) {
    PlannedCase const& planned = plan_.cases[index];
    // Before the first row, it is reported like any other user error.
    if (prepared.mistake && report_.rows() == 0) {
      try {
        std::rethrow_exception(prepared.mistake);
      } catch (UserError const& error) {
        rethrow(error, command_, *planned.app, planned.path);
      }
    }
    auto& [report, problem_case, oracle, verified, fault, mistake] = prepared;
    report.parameters = planned.parameters;
    if (problem_case) problem_case->tune(planned.parameters);
    progress_.begin_case(index);

    std::size_t case_index = 0;
    {
      std::lock_guard const lock(state_);
      case_index = report_.add_case(report);
      progress_.clear();
      announce(*planned.app);
      table_.begin_case(report, index, plan_.cases.size());
      if (digest_) digest_->begin_case(report, describe(planned), planned.tuning, planned.same_input);
    }
    if (problem_case) {
      write_output([&] {
        PlacedFields const input = as_given(planned, problem_case->input(), problem_case->input_places());
        output_->write_input(input.fields, without_shaping(*planned.app, planned.parameters), input.places);
      });
    }
    std::string space;
    std::map<std::string, RowReport> first_variants;  // by space
    for (std::size_t i = 0; i < planned.rows.size() && !stop(); ++i) {
      Row const& row = *planned.rows[i];
      if (row.space != space && !space.empty() && problem_case) problem_case->release_device_input();
      space = row.space;
      RowReport start;
      start.app = report.app;
      start.case_index = case_index;
      start.size = report.size;
      start.bytes = report.bytes;
      start.flops = report.flops;
      if (!fault.empty()) {
        start.variant = row.info.name;
        start.space = row.space;
        start.dtype = row.dtype;
        start.level = row.info.level;
        start.deterministic = row.info.deterministic;
        start.unit = row.info.unit;
        start.unit_products = row.info.unit_products;
        start.cold = options_.sampling.cold;
        start.reason = fault;
        record(start, planned, row);
        continue;
      }
      start.roofs = roofs_of(space);
      if (stop()) return;
      progress_.show(describe(planned) + ": " + std::string(row.info.name) + " on " + row.space);
      TakeOutput const take_output =
          !output_ ? TakeOutput() : [&](Row const& done, std::vector<HostField> const& fields) {
            write_output([&] {
              PlacedFields kept = as_given(planned, fields, problem_case->output_places());
              cut_to_parts(kept, ranks_);
              output_->write(std::string(done.info.name), done.space, kept.fields, kept.places);
              output_has_rows_ = true;
            });
          };
      std::optional<RowReport> done =
          run_row(row, *problem_case, oracle, options_.sampling, start, [&] { return stop(); }, take_output, verified);
      progress_.clear();
      if (!done) return;
      doubt_roofs_of(*done);
      compare_with_one_rank(planned, report, *done);
      compare_with_first_variant(*planned.app, *done, first_variants);
      record(*done, planned, row);
    }
  }

  // The first variant of --list is the baseline of the speedups.
  static void compare_with_first_variant(App const& app, RowReport& row, std::map<std::string, RowReport>& firsts) {
    if (row.samples.seconds.empty()) return;
    if (row.variant == app.variants.front().name) firsts[row.space] = row;
    auto const first = firsts.find(row.space);
    if (first == firsts.end() || first->second.bytes != row.bytes || first->second.flops != row.flops) return;
    row.speedup = first->second.seconds() / row.seconds();
    row.noisy_speedup = row.noisy() || first->second.noisy();
  }

  // Prints the row of the table first: it must not depend on a file that may fail.
  void record(RowReport const& report, PlannedCase const& planned, Row const& row) {
    std::lock_guard const lock(state_);
    double const now = steady_seconds();
    progress_.row_done(static_cast<std::size_t>(&planned - plan_.cases.data()), &row == planned.rows.front(),
                       now - std::exchange(case_clock_, now));
    table_.add_row(report);
    if (options_.lines) std::cout << row_line(report) << std::endl;
    if (digest_) {
      bool const to_repeat = report.status == Status::failed || report.status == Status::weak;
      digest_->add_row(report,
                       to_repeat ? repeat_command(command_, options_, arguments_, planned, row) : std::string());
    }
    if (csv_) csv_->add_row(report, planned.path, planned.parameters);
    try {
      report_.add_row(report);
    } catch (std::runtime_error const& error) {
      complain(error.what());
    }
  }

  template <class Write>
  void write_output(Write const& write) {
    std::lock_guard const lock(output_in_use_);
    if (!output_) return;
    try {
      write();
    } catch (std::runtime_error const& error) {
      output_.reset();
      std::lock_guard const lock_state(state_);
      complain(error.what());
    }
  }

  // The output file is renamed once, at the end: until then an older file stays.
  void commit_output() {
    std::unique_lock const lock(output_in_use_, std::try_to_lock);
    if (!lock) {
      complain("cannot write --output " + options_.output + " (the run was ended while it wrote); run it again");
      return;
    }
    if (!output_ || !output_has_rows_) return;
    try {
      output_->commit();
    } catch (std::runtime_error const& error) {
      complain(error.what());
    }
    output_.reset();
  }

  // A file that cannot be written (a full disk) does not end the run, but sets its exit code to 1.
  void complain(std::string const& text) {
    file_failed_ = true;
    if (complaints_.insert(text).second) std::cerr << command_.program << ": " << one_line(text) << std::endl;
  }

  // Returns the roofs of a space: from the machine file, or measured once per run.
  Roofs const& roofs_of(std::string const& space) {
    for (SpaceReport const& known : spaces_) {
      if (known.name == space) return known.roofs;
    }
    SpaceReport report;
    report.name = space;
    report.device = device_name(space);
    report.concurrency = concurrency(space);
    if (!options_.roof.empty()) {
      report.machine_file = "--roof " + options_.roof;
      report.roofs = options_.given_roofs;
    } else if (options_.machine.empty()) {
      double const start = steady_seconds();
      measure(report);
      case_clock_ += steady_seconds() - start;  // not part of the row's time
    } else {
      report.machine_file = options_.machine;
      report.roofs = machine_.at(space).roofs;
    }
    std::lock_guard const lock(state_);
    report_.add_space(report);
    if (!report.roofs.unsure.empty()) warn(unsure_text(report));
    return spaces_.emplace_back(report).roofs;
  }

  [[nodiscard]] static std::string unsure_text(SpaceReport const& space) {
    return "the roofs of " + space.name + " are unsure (" + space.roofs.unsure + "); " +
           (space.machine_file.empty() ? "run again" : "measure them again") + " on an idle machine";
  }

  // A row above its roof shows that the measured roof is too low. Caches explain it only for data that fit into them.
  // Integers are excluded because adding may be faster than multiplying, matrix units because they have faster
  // instructions.
  void doubt_roofs_of(RowReport& row) {
    auto const space = std::ranges::find(spaces_, row.space, &SpaceReport::name);
    if (space == spaces_.end() || !options_.roof.empty() || !space->roofs.unsure.empty()) return;
    Roofs const& roofs = row.roofs;
    double const bandwidth =
        std::max({roofs.copy_bytes_per_second, roofs.triad_bytes_per_second, roofs.read_bytes_per_second});
    double const cache = is_host_space(row.space) ? host_cache_bytes() : 0x1p27;
    bool const moves_faster =
        row.bytes > 2 * cache * ranks_.count() && row.bytes_per_second() > beyond_roof * bandwidth;
    bool const computes_faster =
        row.unit == Unit::multiply_add && arithmetic_of(row.dtype) != DType::int32 && row.share_of_peak() > beyond_roof;
    if (!moves_faster && !computes_faster) return;
    std::lock_guard const lock(state_);
    double const share = moves_faster ? row.share_of_copy() : row.share_of_peak();
    space->roofs.unsure = row.variant + " of " + row.app + " reached " + std::to_string(std::llround(100 * share)) +
                          "% of its " + (moves_faster ? "copy bandwidth" : "peak");
    row.roofs.unsure = space->roofs.unsure;
    report_.doubt_space(row.space, space->roofs.unsure);
    warn(unsure_text(*space));
  }

  // Returns the bytes of this rank's buffers, the same on all ranks. The buffers of a node take at most a quarter of
  // its free memory. They exceed the last-level caches, and on a GPU they are large enough that the launch time does
  // not matter. They are larger for large cases, and if the roofs themselves are requested.
  [[nodiscard]] std::size_t roof_bytes(std::string const& space) const {
    double of_node = 0x1p31;
    if (is_host_space(space)) {
      double const beyond_caches = std::max(4 * host_cache_bytes(), 0x1p26);
      double largest = options_.save_machine.empty() ? 0 : 0x1p29;
      for (PlannedCase const& planned : plan_.cases) {
        Footprint const& of = planned.footprint;
        largest = std::max(largest, planned.app->info.measures_roofs ? 0x1p29 : of.input_bytes + of.output_bytes);
      }
      largest = ranks_.max(largest);
      of_node = std::clamp(2 * largest, beyond_caches, std::max(beyond_caches, 0x1p29));
    }
    double const on_node = ranks_.count_on_node();
    double const beyond_own_caches = 0x1p23;
    double const bytes =
        std::min(std::max(of_node / on_node, beyond_own_caches), free_memory_bytes(space) / 4 / on_node);
    return static_cast<std::size_t>(ranks_.fold(bytes, [](double a, double b) { return std::min(a, b); })) / 512 * 512;
  }

  void measure(SpaceReport& report) {
    progress_.show("roofs of " + report.name);
    Region const region("roofs");
    RoofLimits limits;
    limits.bytes = roof_bytes(report.name);
    // Reserve for the last run, which may end later, and for work that is not timed.
    limits.seconds =
        0.8 * seconds_for_roofs / static_cast<double>(different(plan_, [](Row const& row) { return row.space; }));
    try {
      if (limits.bytes > 0) report.roofs = measure_roofs(report.name, limits, ranks_);
    } catch (std::exception const& error) {
      std::lock_guard const lock(state_);
      progress_.clear();
      warn("no roofs of " + report.name + ": " + error.what());
    }
    if (ranks_.count() == 1) return;
    // Measured on all ranks concurrently: ranks that share a memory share its bandwidth, so the total is the sum over
    // ranks.
    Roofs& roofs = report.roofs;
    for (double* const rate :
         {&roofs.copy_bytes_per_second, &roofs.triad_bytes_per_second, &roofs.read_bytes_per_second}) {
      *rate = ranks_.sum(*rate);
    }
    for (double& peak : roofs.peak_operations_per_second) peak = ranks_.sum(peak);
    for (double& peak : roofs.matrix_peak_operations_per_second) peak = ranks_.sum(peak);
    for (double* const seconds : {&roofs.launch_seconds, &roofs.launch_and_fence_seconds})
      *seconds = ranks_.max(*seconds);
  }

  // Requires that state_ is locked. `signal` is the signal that ends the run, or 0.
  int finish(int signal) {
    ended_ = true;
    commit_output();
    table_.end_app();
    if (!spaces_.empty()) text_ << "\n";
    for (SpaceReport const& space : spaces_) text_ << roofs_text(space) << "\n";
    try {
      if (csv_) csv_->write();
    } catch (std::runtime_error const& error) {
      complain(error.what());
    }
    try {
      if (signal == 0) {
        report_.finish();
        if (machine_file_) {
          write_machine_file(*machine_file_, {spaces_.begin(), spaces_.end()}, report_.build, report_.system);
        }
      } else {
        report_.flush();
      }
    } catch (std::runtime_error const& error) {
      complain(error.what());
    }
    if (signal != 0) text_ << "interrupted: these are the rows that were done\n";
    if (report_.noisy() > 0) text_ << noise() << "\n";
    print_warnings();
    bool const as_table = !digest_ && !options_.lines;
    if (!as_table || takes_last_line()) text_ << report_.last_line() << std::endl;
    if (log_.is_open() && !log_)
      complain("cannot write --log " + log_file_->path() + " (it is not complete); free some space");
    if (options_.lines) {
      for (std::string const& warning : warnings_)
        std::cerr << command_.program << ": warning: " << one_line(warning) << std::endl;
      if (takes_last_line()) std::cout << report_.last_line() << std::endl;
    }
    if (digest_) {
      finish_digest();
      if (signal != 0) std::cout << "interrupted: these are the rows that were done\n";
      if (takes_last_line()) std::cout << report_.last_line() << std::endl;
    }
    if (signal != 0) return 128 + signal;
    bool const too_weak = options_.strict && report_.weak() > 0;
    return report_.failed() > 0 || too_weak || file_failed_ ? 1 : 0;
  }

  // True for the one caller that must print the last line.
  [[nodiscard]] bool takes_last_line() { return !last_line_is_out_.exchange(true); }

  [[nodiscard]] std::string noise() const { return noise_text(report_.noisy(), report_.timed(), other_load_); }

  void finish_digest() {
    DigestEnd end;
    end.warnings = warnings_;
    for (SpaceReport const& space : spaces_) end.roofs.push_back(roofs_text(space));
    std::pair<char const*, std::string const&> const files[] = {{"tables", options_.log},
                                                                {"report", options_.json},
                                                                {"rows", options_.csv},
                                                                {"results", options_.output},
                                                                {"machine file", options_.save_machine}};
    for (auto const& [what, path] : files) {
      if (!path.empty()) end.files.emplace_back(what, path);
    }
    end.log = options_.log;
    if (report_.timed() > 0) end.noise = noise();
    if (!digest_) return;
    end.to_try = commands_to_try(command_, options_, plan_, digest_->slowest());
    digest_->finish(end);
  }

  ranks::Ranks const& ranks_;
  Command const& command_;
  Options const& options_;
  Plan const& plan_;
  std::vector<std::string> const& arguments_;
  Report report_;
  std::optional<Csv> csv_;
  std::ofstream log_;
  bool log_published_ = false;
  std::unique_ptr<WholeFile> log_file_;  // the lock and the name of the log; the log itself grows in place
  Tee sinks_;                            // stdout, unless the digest uses it, and --log
  std::ostream text_;                    // the tables and the text around them
  Table table_;
  std::optional<Digest> digest_;
  Progress progress_;
  LoadMeter load_;
  std::optional<OtherLoad> other_load_;
  std::unique_ptr<OutputFile> output_;
  std::map<std::string, SpaceReport> machine_;  // the contents of --machine
  std::unique_ptr<WholeFile> machine_file_;     // of --save-machine
  std::optional<Baseline> baseline_;            // of --baseline, on the first rank
  // in the order of their first rows; a deque, because references to elements are kept
  std::deque<SpaceReport> spaces_;
  std::set<std::string> complaints_;
  std::vector<std::string> warnings_;
  std::size_t warnings_printed_ = 0;
  App const* announced_ = nullptr;
  double case_clock_ = 0;  // end of the last row, or begin or end of preparing its group of cases
  bool file_failed_ = false;
  int stop_signal_ = 0;  // the signal that ends the run, on all ranks; 0: none
  // For end_now(), which another thread calls. Locked while the results change, never while a row computes.
  std::timed_mutex state_;
  std::mutex output_in_use_;
  std::mutex announcing_;  // for references, several of which may run
  bool output_has_rows_ = false;
  bool ended_ = false;
  std::atomic<bool> last_line_is_out_ = false;
};

// Errors in any of several inputs must be reported before the first case runs. Large inputs are therefore read twice.
void check_all_files(Command const& command, Plan const& plan, Options const& options) {
  if (plan.cases.size() < 2) return;
  for (PlannedCase const& planned : plan.cases) {
    if (planned.path.empty() || planned.same_input || interrupted()) continue;
    bool const was_open = planned.file->is_open();
    try {
      (void)expected_of(planned, *build(planned, options));
    } catch (UserError const& mistake) {
      rethrow(mistake, command, *planned.app, planned.path);
    }
    if (!was_open) planned.file->close();
  }
}

// True if two ranks share a GPU, for rows that run on it. Throws UserError on all ranks unless `wanted` allows it.
bool ranks_share_gpus(ranks::Ranks const& ranks, Plan const& plan, bool wanted) {
  if (ranks.count() == 1) return false;
  std::string gpu;
  for (PlannedCase const& planned : plan.cases) {
    for (Row const* row : planned.rows) {
      if (gpu.empty() && !is_host_space(row->space)) gpu = device_identity(row->space);
    }
  }
  std::vector<std::string> gpus = ranks.all_gather(gpu);
  std::erase(gpus, "");
  auto const with_gpu = gpus.size();
  std::ranges::sort(gpus);
  auto const repeated = std::ranges::unique(gpus);
  gpus.erase(repeated.begin(), repeated.end());
  if (gpus.size() == with_gpu) return false;
  if (!wanted) {
    throw UserError(std::to_string(with_gpu) + " ranks on " + std::to_string(gpus.size()) +
                    (gpus.size() == 1 ? " GPU" : " GPUs") +
                    " (their times would be each other's too); start one rank a GPU, or add --share-gpus");
  }
  return true;
}

// Returns the options for this rank: only the first rank prints and writes files.
Options of_this_rank(Options options, ranks::Ranks const& ranks) {
  if (options.sizes_per_rank) {
    for (std::size_t& size : options.sizes) {
      auto const count = static_cast<std::size_t>(ranks.count());
      if (size > std::numeric_limits<std::size_t>::max() / count) {
        throw UserError("--size-per-rank " + std::to_string(size) + " on " + std::to_string(count) +
                        " ranks (together more than 2^64-1); choose a smaller size");
      }
      size *= count;
    }
  }
  if (!ranks.first()) options.json = options.csv = options.log = options.save_machine = options.baseline = "";
  return options;
}

}  // namespace

int run_plan(Command const& command, Options const& given, std::vector<std::string> const& arguments) {
  ranks::Ranks const& ranks = ranks::world();
  Options const options = of_this_rank(given, ranks);
  SignalGuard const guard(true);
  Plan plan;
  std::unique_ptr<Session> session;
  std::atomic<Session*> begun = nullptr;
  // Some launchers kill all ranks one second after a signal, or as soon as one rank ends. The first rank prints, so it
  // ends first.
  Watchdog const watchdog(ranks.first() ? 0.5 : 0.9, [&] {
    if (Session* const of_main = begun) {
      of_main->end_now();
    } else {
      write_last_line(Report().last_line(), ranks);
    }
  });
  ranks::together(ranks, [&] { plan = make_plan(command, options); });
  if (ranks.count() > 1) ranks::check_same(ranks, facts_of(plan));
  ranks::together(ranks, [&] { session = std::make_unique<Session>(command, options, plan, arguments); });
  begun = session.get();

  std::vector<std::string> kokkos{command.program};
  kokkos.insert(kokkos.end(), options.kokkos_arguments.begin(), options.kokkos_arguments.end());
  std::vector<char*> pointers;
  for (std::string& text : kokkos) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  int count = static_cast<int>(kokkos.size());
  std::unique_ptr<Runtime> runtime;
  ranks::together(ranks, [&] {
    try {
      runtime = std::make_unique<Runtime>(count, pointers.data());
    } catch (UserError const&) {
      throw;
    } catch (std::exception const& error) {
      throw UserError("Kokkos cannot start (" + std::string(error.what()) +
                      "); check the --kokkos-* options and that this machine has what the build is for");
    }
  });
  ranks::together(ranks, [&] {
    std::vector<double> bytes;
    for (PlannedCase const& planned : plan.cases) bytes.push_back(check_memory(planned));
    if (ranks.first()) announce_memory(command, plan, bytes);
    if (ranks.count() == 1) check_all_files(command, plan, options);
  });
  bool const shared_gpus = ranks_share_gpus(ranks, plan, options.share_gpus);
  ranks::together(ranks, [&] { ranks::choose_transport(options.transport, shared_gpus); });
  ranks::check_same(ranks, {{"the transport", std::string(ranks::name_of(ranks::transport(true)))}});
  try {
    return session->run();
  } catch (std::bad_alloc const&) {
    // A small allocation failed; the memory for the cases has been checked.
    if (session->has_rows()) return session->end_without_memory();
    throw UserError("out of memory (an allocation failed); choose a smaller case, or allow more (ulimit -v)");
  }
}

}  // namespace tessera
