// A run, from the options to the exit code.

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <utility>

#include <tessera/cli/nearest.hpp>
#include <tessera/driver/driver.hpp>
#include <tessera/measure/load.hpp>
#include <tessera/ranks/agreement.hpp>
#include <tessera/ranks/ranks.hpp>
#include <tessera/ranks/transport.hpp>
#include <tessera/report/table.hpp>
#include <tessera/table/runtime.hpp>

#include "cases.hpp"
#include "efficiency.hpp"
#include "energy.hpp"
#include "interruption.hpp"
#include "output.hpp"
#include "plan.hpp"
#include "roofs.hpp"
#include "run_state.hpp"
#include "sink.hpp"
#include "task.hpp"

namespace tessera {

namespace {

// Returns what a run's parts cost relative to each other: each row its case's bytes plus a constant.
std::vector<Progress::Part> parts_of(Plan const& plan) {
  std::vector<Progress::Part> parts;
  for (PlannedCase const& planned : plan.cases) {
    double const bytes = planned.footprint.input_bytes + planned.footprint.output_bytes;
    parts.push_back({std::string(planned.app->info.name), planned.rows.size(), bytes + 0x1p22});
  }
  return parts;
}

// The first variant of --list is the baseline of the speedups; if this case skips it, the next one that was timed.
// `firsts` are the baselines, by space.
void compare_with_first_variant(App const& app, RowReport& row, std::map<std::string, RowReport>& firsts) {
  if (row.variant == app.variants.front().name) firsts[row.space] = row;
  auto const first = firsts.find(row.space);
  if (first == firsts.end()) return;
  if (row.samples.seconds.empty()) return;
  if (first->second.status == Status::skipped) first->second = row;
  if (first->second.bytes != row.bytes || first->second.flops != row.flops) return;
  row.speedup = first->second.seconds() / row.seconds();
  row.noisy_speedup = row.noisy() || first->second.noisy();
}

// Prints the last line of an interrupted run on the first rank. Writes directly to the file descriptor, because another
// thread may be using the stream.
void write_last_line(std::string const& line) {
  if (!ranks::world().first()) return;
  std::string const text = interrupted_text + line + "\n";
  (void)!::write(STDOUT_FILENO, text.data(), text.size());
}

// A run of planned cases, on all ranks together: case by case, row by row.
class Session {
 public:
  // Opens the files that the run writes, and reads --baseline. Throws UserError.
  Session(Command const& command, Options const& options, Plan const& plan, std::vector<std::string> const& arguments)
      : run_(command, options, plan, arguments),
        sinks_(sinks_of(run_)),
        efficiency_(run_),
        energy_(run_),
        roofs_(run_),
        output_(run_) {}

  // Runs all cases. Returns the exit code. Throws UserError only if nothing has run yet.
  int run() {
    Cases cases(run_);
    ranks::together(run_.ranks, [&] {
      cases.check_memory();
      if (run_.ranks.count() == 1) cases.read_files();
    });
    run_.describe();
    if (!run_.options.machine.empty()) ranks::together(run_.ranks, [&] { roofs_.read_machine(); });
    if (run_.options.energy) energy_.find_meters();
    run_.progress.plan(parts_of(run_.plan));
    for (std::size_t begin = 0; begin < run_.plan.cases.size() && !stop();) {
      clock_ = steady_seconds();
      std::vector<PreparedCase> group = cases.prepare(begin, [&] { return stop(); });
      double const ready = steady_seconds();
      std::size_t const end = group.back().end;
      run_.progress.prepared(end - begin, ready - std::exchange(clock_, ready));
      run_group(std::move(group));
      begin = end;
    }
    (void)stop();  // a signal during the last row
    run_.progress.clear();
    // For the whole run. Must be called by all ranks, so an interrupted run has no such note.
    if (!stop()) {
      run_.other_load = load_.others(run_.ranks);
      if (run_.other_load) {
        run_.report.system["processors_of_all_nodes"] = format_number(run_.other_load->processors);
        run_.report.system["processors_busy_with_others"] = format_number(run_.other_load->busy);
      }
    }
    std::lock_guard const lock(run_.mutex);
    return finish(stop_signal_);
  }

  [[nodiscard]] bool has_rows() const { return run_.report.rows() > 0; }

  // Ends the run after a failed allocation; the results so far are printed and kept.
  int end_without_memory() {
    std::lock_guard const lock(run_.mutex);
    run_.complain("out of memory (an allocation failed); choose a smaller case, or allow more (ulimit -v)");
    return finish(caught_signal());
  }

  // Ends the run in the middle of a step, from another thread; the results so far are printed and kept.
  void end_now() noexcept try {
    std::unique_lock const lock(run_.mutex, std::chrono::milliseconds(300));
    if (lock && !ended_) {
      run_.progress.clear();
      (void)finish(caught_signal());
    }
    // The run's own thread may take long to write a file, or hang: the last line does not wait for it.
    if (!lock && run_.takes_last_line()) write_last_line(run_.report.last_line());
  } catch (...) {  // NOLINT(bugprone-empty-catch): the process ends in any case
  }

 private:
  // Must be called by all ranks at the same places. A signal to one rank ends all ranks, and the result is true on all.
  [[nodiscard]] bool stop() {
    if (stop_signal_ == 0) stop_signal_ = static_cast<int>(run_.ranks.max(caught_signal()));
    return stop_signal_ != 0;
  }

  void run_group(std::vector<PreparedCase> group) {
    for (PreparedCase& of_group : group) {
      if (stop()) return;
      PreparedCase prepared = std::move(of_group);  // freed after its last row
      make_narrow(prepared);
      for (std::size_t index = prepared.begin; index < prepared.end && !stop(); ++index) {
        run_case(run_.plan.cases[index], prepared);
      }
    }
  }

  void run_case(PlannedCase const& planned, PreparedCase& prepared) {
    // Before the first row, it is reported like any other user error.
    if (prepared.is_mistake && !has_rows()) {
      rethrow(UserError(prepared.fault), run_.command, *planned.app, planned.path);
    }
    auto const& problem_case = prepared.problem_case;
    prepared.report.parameters = planned.parameters;
    if (problem_case) problem_case->tune(planned.parameters);
    run_.progress.begin_case(run_.plan.index_of(planned));

    RowReport of_case;
    of_case.app = prepared.report.app;
    of_case.size = prepared.report.size;
    of_case.bytes = prepared.report.bytes;
    of_case.flops = prepared.report.flops;
    for (auto const* const fields : {&prepared.report.input, &prepared.report.output}) {
      for (auto const& [name, shape] : *fields) {
        of_case.field_elements = std::max(of_case.field_elements, static_cast<double>(count_of(shape)));
      }
    }
    {
      std::lock_guard const lock(run_.mutex);
      of_case.case_index = run_.report.add_case(prepared.report);
      run_.progress.clear();
      for (auto const& sink : sinks_) sink->begin_case(planned, prepared.report);
    }
    if (problem_case) output_.write_input(planned, *problem_case);
    std::string space;
    std::map<std::string, RowReport> first_variants;
    for (Row const* const row : planned.rows) {
      if (stop()) return;
      if (row->space != space && !space.empty() && problem_case) problem_case->release_device_input();
      space = row->space;
      RowReport report = describe_row(*row, run_.options.sampling, of_case);
      if (!prepared.fault.empty()) {
        report.reason = prepared.fault;
        // A row that skips the case has not failed.
        if (!run_.ranks.any(!problem_case)) {
          if (std::string const why = reason_to_skip(*row, *problem_case); !why.empty()) {
            report.status = Status::skipped;
            report.reason = why;
          }
        }
        record(planned, *row, report);
        continue;
      }
      double const before = steady_seconds();
      report.roofs = roofs_.of(space);
      clock_ += steady_seconds() - before;  // not part of the row's time
      if (stop()) return;
      run_.progress.show(concat(describe(planned), ": ", row->info.name, " on ", row->space));
      SamplingOptions sampling = run_.options.sampling;
      sampling.energy = energy_.of(space);
      std::optional<RowReport> done = run_row(
          *row, *problem_case, prepared.oracle, sampling, report, [&] { return stop(); },
          output_.taker(planned, *problem_case), prepared.verified);
      run_.progress.clear();
      if (!done) return;
      if (!done->no_energy.empty()) run_.warn_once("no energy of " + space + ": " + done->no_energy);
      roofs_.doubt(*done);
      efficiency_.compare(planned, prepared.report, *done);
      compare_with_first_variant(*planned.app, *done, first_variants);
      record(planned, *row, *done);
    }
  }

  // Users see a row before it is written to files, which may fail.
  void record(PlannedCase const& planned, Row const& row, RowReport const& report) {
    std::lock_guard const lock(run_.mutex);
    double const now = steady_seconds();
    run_.progress.row_done(run_.plan.index_of(planned), &row == planned.rows.front(), now - std::exchange(clock_, now));
    for (auto sink = sinks_.rbegin(); sink != sinks_.rend(); ++sink) (*sink)->add_row(planned, row, report);
  }

  // Requires that the run's mutex is locked. `signal` is the signal that ends the run, or 0.
  int finish(int signal) {
    ended_ = true;
    output_.commit();
    for (auto const& sink : sinks_) sink->finish(signal);
    if (signal != 0) return 128 + signal;
    bool const too_weak = run_.options.strict && run_.report.count(Status::weak) > 0;
    return run_.report.count(Status::failed) > 0 || too_weak || run_.file_failed() ? 1 : 0;
  }

  RunState run_;
  std::vector<std::unique_ptr<Sink>> sinks_;  // what users see first comes last
  Efficiency efficiency_;
  RunEnergy energy_;
  RunRoofs roofs_;
  RowOutput output_;
  LoadMeter load_;
  double clock_ = 0;     // end of the last row, or begin or end of preparing its group of cases
  int stop_signal_ = 0;  // the signal that ends the run, on all ranks; 0: none
  bool ended_ = false;
};

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
    throw UserError(concat(with_gpu, " ranks on ", gpus.size(), gpus.size() == 1 ? " GPU" : " GPUs",
                           " (they would slow each other down); start one rank per GPU, or add --share-gpus"));
  }
  return true;
}

// Returns the options for this rank: only the first rank prints and writes files.
Options of_this_rank(Options options, ranks::Ranks const& ranks) {
  if (options.sizes_per_rank) {
    for (std::size_t& size : options.sizes) {
      auto const count = static_cast<std::size_t>(ranks.count());
      if (size > std::numeric_limits<std::size_t>::max() / count) {
        throw UserError(concat("--size-per-rank ", size, " on ", count,
                               " ranks (together more than 2^64-1); choose a smaller size"));
      }
      size *= count;
    }
  }
  if (!ranks.first()) options.json = options.csv = options.log = options.save_machine = options.baseline = "";
  return options;
}

// Starts Kokkos on all ranks or on none. Throws UserError.
std::unique_ptr<Runtime> start_kokkos(Command const& command, Options const& options) {
  std::vector<std::string> kokkos{command.program};
  kokkos.insert(kokkos.end(), options.kokkos_arguments.begin(), options.kokkos_arguments.end());
  std::vector<char*> pointers;
  for (std::string& text : kokkos) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  int count = static_cast<int>(kokkos.size());
  std::unique_ptr<Runtime> runtime;
  ranks::together(ranks::world(), [&] {
    try {
      runtime = std::make_unique<Runtime>(count, pointers.data());
    } catch (UserError const&) {
      throw;
    } catch (std::exception const& error) {
      throw UserError(concat("Kokkos cannot start (", error.what(),
                             "); check the --kokkos-* options, and that this machine has the build's devices"));
    }
  });
  return runtime;
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
      write_last_line(Report().last_line());
    }
  });
  if (options.energy && ranks.count() > 1) {
    throw UserError(
        concat("--energy on ", ranks.count(), " ranks (ranks of one node would all count its energy); start one rank"));
  }
  ranks::together(ranks, [&] { plan = make_plan(command, options); });
  if (ranks.count() > 1) ranks::check_same(ranks, facts_of(plan, ranks));
  ranks::together(ranks, [&] { session = std::make_unique<Session>(command, options, plan, arguments); });
  begun = session.get();

  std::unique_ptr<Runtime> const runtime = start_kokkos(command, options);
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
