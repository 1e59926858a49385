#pragma once

#include <memory>
#include <vector>

#include <tessera/report/report.hpp>
#include <tessera/table/app.hpp>

#include "plan.hpp"
#include "run_state.hpp"

namespace tessera {

/// Where the results of a run go. Functions are called while the run's mutex is locked. A failure to write is a
/// complaint.
class Sink {
 public:
  explicit Sink(RunState& run) : run_(run) {}
  Sink(Sink const&) = delete;
  Sink& operator=(Sink const&) = delete;
  virtual ~Sink() = default;

  /// Begins a case. Nothing is written before: until then a mistake in the first case leaves stdout empty and an old
  /// file unchanged.
  virtual void begin_case(PlannedCase const&, CaseReport const&) {}
  virtual void add_row(PlannedCase const& planned, Row const& row, RowReport const& report) = 0;
  /// Ends the run. `signal` is the signal that ends it, or 0.
  virtual void finish(int signal) = 0;

 protected:
  RunState& run_;
};

/// All sinks that the options ask for. Requires that the run's mutex is locked.
class Sinks {
 public:
  /// Throws UserError if a file cannot be written.
  explicit Sinks(RunState& run);

  void begin_case(PlannedCase const& planned, CaseReport const& report) {
    for (auto const& sink : sinks_) sink->begin_case(planned, report);
  }
  /// Users see a row before it is written to files, which may fail.
  void add_row(PlannedCase const& planned, Row const& row, RowReport const& report) {
    for (auto sink = sinks_.rbegin(); sink != sinks_.rend(); ++sink) (*sink)->add_row(planned, row, report);
  }
  void finish(int signal) {
    for (auto const& sink : sinks_) sink->finish(signal);
  }

 private:
  std::vector<std::unique_ptr<Sink>> sinks_;  // in the order in which files are written; what users see comes last
};

/// Prints the last line of an interrupted run on the first rank. Writes directly to the file descriptor, because
/// another thread may be using the stream.
void write_last_line(Report const& report);

}  // namespace tessera
