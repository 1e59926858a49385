#pragma once
/// \file
/// How well a row scales: its speed on several ranks against that of one rank, which stands in the report of an earlier run.

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tessera/report/report.hpp>

namespace tessera {

/// The rows of a report of one rank (--json), for --baseline.
class Baseline {
 public:
  /// Reads the report of `path`. Throws UserError: no such file, no report of this schema, not of this `version` of Tessera, a
  /// run on several ranks, or no row that was timed.
  Baseline(std::string path, std::string const& version);

  /// A row of one rank.
  struct Row {
    std::string variant;
    double seconds = 0;
    double work = 0;  ///< of its case: operations, or bytes where there are none
    bool noisy = false;
  };

  /// What a row is looked for by. A case's shapes are compared where it comes from a file, and has them.
  struct Wanted {
    CaseReport const& of;
    std::optional<std::size_t> size;  ///< on one rank, of a generated case
    std::string_view variant;
    std::string_view space;
    bool cold = false;
  };

  /// The verified row of that variant on this case, else of the variant that is the fastest on it, noisy ones last; nothing
  /// if there is none.
  [[nodiscard]] std::optional<Row> find(Wanted const& wanted) const;

  [[nodiscard]] std::string const& path() const { return path_; }
  /// What it was made with and on, where that is another: a sentence for each difference.
  [[nodiscard]] std::vector<std::string> differences(Facts const& build) const;
  /// The same of an execution space; empty if there is no difference.
  [[nodiscard]] std::string difference(std::string const& space, std::string const& device) const;

 private:
  struct Known {
    CaseReport of;
    Row row;
    std::string space;
    bool cold = false;
  };

  std::string path_;
  Facts build_;
  std::map<std::string, std::string> devices_;  // by space
  std::vector<Known> rows_;
};

/// The speed of a rank, work a second, over that of the one rank. Of the same case (strong scaling) this is T(1) / (p T(p)); of
/// p times the case, with p times the work (weak scaling), T(1) / T(p). Unknown where a time or the work is.
[[nodiscard]] double efficiency_of(RowReport const& row, Baseline::Row const& one);

}  // namespace tessera
