#pragma once
/// \file
/// Scaling of a row: its speed on several ranks relative to a row of one rank in an earlier run's report.

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tessera/report/report.hpp>

namespace tessera {

/// The rows of a one-rank report (--json), for --baseline.
class Baseline {
 public:
  /// Reads the report at `path`. Throws UserError if the file does not exist or is not a report with this schema. Also
  /// throws if the report is from another `version` of Tessera or a run on several ranks, or if no row was timed.
  Baseline(std::string const& path, std::string const& version);

  /// A row of one rank.
  struct Row {
    std::string variant;
    double seconds = 0;
    double work = 0;  ///< of its case: operations, or bytes if there are none
    bool noisy = false;
  };

  /// The search key of a row. Shapes are compared only for cases from files.
  struct Wanted {
    CaseReport const& of;
    std::optional<std::size_t> size;  ///< size on one rank, of a generated case
    std::string_view variant;
    std::string_view space;
    bool cold = false;
  };

  /// Returns the verified row with that variant on this case. If there is none, returns the fastest variant's row on
  /// the case, noisy rows last. Returns nothing if there is no row at all.
  [[nodiscard]] std::optional<Row> find(Wanted const& wanted) const;

  /// Returns one sentence per difference between the baseline's build and `build`.
  [[nodiscard]] std::vector<std::string> differences(Facts const& build) const;
  /// The same for an execution space; empty if there is no difference.
  [[nodiscard]] std::string difference(std::string const& space, std::string const& device) const;

 private:
  struct Known {
    CaseReport of;
    Row row;
    std::string space;
    bool cold = false;
  };

  Facts build_;
  std::map<std::string, std::string> devices_;  // by space
  std::vector<Known> rows_;
};

/// Returns the parallel efficiency: the work per second of one rank of `row`, divided by the work per second of `one`.
/// This is T(1) / (p T(p)) for the same case (strong scaling), and T(1) / T(p) for p times the work (weak scaling).
/// Unknown if a time or the work is unknown.
[[nodiscard]] double efficiency_of(RowReport const& row, Baseline::Row const& one);

}  // namespace tessera
