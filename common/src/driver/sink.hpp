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

/// Returns what the options ask for, in the order in which files are written; what users see first comes last. Throws
/// UserError if a file cannot be written.
[[nodiscard]] std::vector<std::unique_ptr<Sink>> sinks_of(RunState& run);

/// Printed before the last line after a signal.
inline constexpr char const* interrupted_text = "interrupted: these are the rows that were done\n";

}  // namespace tessera
