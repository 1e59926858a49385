#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tessera/cli/nearest.hpp>
#include <tessera/driver/driver.hpp>
#include <tessera/ranks/agreement.hpp>

#include "cases.hpp"
#include "efficiency.hpp"
#include "energy.hpp"
#include "interruption.hpp"
#include "output.hpp"
#include "plan.hpp"
#include "roofs.hpp"
#include "run_state.hpp"
#include "sink.hpp"

namespace tessera {

/// A run of planned cases, on all ranks together: case by case, row by row.
class Session {
 public:
  /// Opens the files that the run writes, and reads --baseline. Throws UserError.
  Session(Command const& command, Options const& options, Plan const& plan, std::vector<std::string> const& arguments)
      : run_(command, options, plan, arguments),
        sinks_(run_),
        efficiency_(run_),
        energy_(run_),
        roofs_(run_),
        output_(run_) {}

  /// Runs all cases. Returns the exit code. Throws UserError only if nothing has run yet.
  int run() {
    Cases cases(run_);
    prepare(cases);
    for (std::size_t begin = 0; begin < run_.plan.cases.size() && !run_.stop();) {
      std::vector<PreparedCase> group = cases.prepare(begin);
      run_.progress.prepared(group.back().end - begin, lap());
      begin = group.back().end;
      for (PreparedCase& of_group : group) {
        if (run_.stop()) break;
        PreparedCase prepared = std::move(of_group);  // freed after its last row
        make_narrow(prepared);
        for (std::size_t index = prepared.begin; index < prepared.end && !run_.stop(); ++index) {
          run_case(run_.plan.cases[index], prepared);
        }
      }
    }
    bool const stopped = run_.stop();  // a signal during the last row
    run_.progress.clear();
    if (!stopped) run_.note_other_load();
    std::lock_guard const lock(run_.mutex);
    return finish(run_.stop_signal());
  }

  [[nodiscard]] bool has_rows() const { return run_.report.rows() > 0; }

  /// Ends the run after a failed allocation; the results so far are printed and kept.
  int end_without_memory() {
    std::lock_guard const lock(run_.mutex);
    run_.complain("out of memory (an allocation failed); choose a smaller case, or allow more (ulimit -v)");
    return finish(caught_signal());
  }

  /// Ends the run in the middle of a step, from another thread; the results so far are printed and kept.
  void end_now() noexcept try {
    std::unique_lock const lock(run_.mutex, std::chrono::milliseconds(300));
    if (lock && !ended_) {
      run_.progress.clear();
      (void)finish(caught_signal());
    }
    // The run's own thread may take long to write a file, or hang: the last line does not wait for it.
    if (!lock && run_.takes_last_line()) write_last_line(run_.report);
  } catch (...) {  // NOLINT(bugprone-empty-catch): the process ends in any case
  }

 private:
  // Everything that can be the user's mistake on this machine, before the first case.
  void prepare(Cases& cases) {
    ranks::together(run_.ranks, [&] {
      cases.check_memory();
      if (run_.ranks.count() == 1) cases.read_files();
    });
    run_.describe();
    if (!run_.options.machine.empty()) ranks::together(run_.ranks, [&] { roofs_.read_machine(); });
    if (run_.options.energy) energy_.find_meters();
    (void)lap();
  }

  void run_case(PlannedCase const& planned, PreparedCase& prepared) {
    // Before the first row, it is reported like any other user error.
    if (prepared.is_mistake && !has_rows()) {
      rethrow(UserError(prepared.fault), run_.command, *planned.app, planned.path);
    }
    RowReport const of_case = begin_case(planned, prepared);
    Speedups speedups(*planned.app);
    std::string space;
    for (Row const* const row : planned.rows) {
      if (run_.stop()) return;
      if (row->space != space && !space.empty() && prepared.problem_case) prepared.problem_case->release_device_input();
      space = row->space;
      RowReport report = describe_row(*row, run_.options.sampling, of_case);
      if (!prepared.fault.empty()) {
        prepared.blame(run_.ranks, planned.rows, *row, report);
      } else {
        report.roofs = roofs_.of(space);
        (void)lap();  // the roofs are not part of the row's time
        if (run_.stop()) return;
        std::optional<RowReport> done = measure(planned, *row, prepared, report);
        if (!done) return;
        report = *std::move(done);
        roofs_.doubt(report);
        efficiency_.compare(planned, prepared.report, report);
        speedups.compare(report);
      }
      std::lock_guard const lock(run_.mutex);
      run_.progress.row_done(run_.plan.index_of(planned), row == planned.rows.front(), lap());
      sinks_.add_row(planned, *row, report);
    }
  }

  // Returns what its rows have in common.
  RowReport begin_case(PlannedCase const& planned, PreparedCase& prepared) {
    prepared.report.parameters = planned.parameters;
    if (prepared.problem_case) prepared.problem_case->tune(planned.parameters);
    run_.progress.begin_case(run_.plan.index_of(planned));
    RowReport of_case = row_of(prepared.report);
    {
      std::lock_guard const lock(run_.mutex);
      of_case.case_index = run_.report.add_case(prepared.report);
      run_.progress.clear();
      sinks_.begin_case(planned, prepared.report);
    }
    if (prepared.problem_case) output_.write_input(planned, *prepared.problem_case);
    return of_case;
  }

  // Returns nothing if it was interrupted.
  std::optional<RowReport> measure(PlannedCase const& planned, Row const& row, PreparedCase& prepared,
                                   RowReport const& report) {
    run_.progress.show(concat(describe(planned), ": ", row.info.name, " on ", row.space));
    SamplingOptions sampling = run_.options.sampling;
    sampling.energy = energy_.of(row.space);
    std::optional<RowReport> done = run_row(
        row, *prepared.problem_case, prepared.oracle, sampling, report, [&] { return run_.stop(); },
        output_.taker(planned, *prepared.problem_case), prepared.verified);
    run_.progress.clear();
    if (done && !done->no_energy.empty()) run_.warn_once("no energy of " + row.space + ": " + done->no_energy);
    return done;
  }

  // Requires that the run's mutex is locked. `signal` is the signal that ends the run, or 0.
  int finish(int signal) {
    ended_ = true;
    output_.commit();
    sinks_.finish(signal);
    if (signal != 0) return 128 + signal;
    bool const too_weak = run_.options.strict && run_.report.count(Status::weak) > 0;
    return run_.report.count(Status::failed) > 0 || too_weak || run_.file_failed() ? 1 : 0;
  }

  // Returns the seconds since the last call.
  double lap() {
    double const before = std::exchange(clock_, steady_seconds());
    return clock_ - before;
  }

  RunState run_;
  Sinks sinks_;
  Efficiency efficiency_;
  RunEnergy energy_;
  RunRoofs roofs_;
  RowOutput output_;
  double clock_ = steady_seconds();
  bool ended_ = false;
};

}  // namespace tessera
