#pragma once
/// \file
/// The steps of a run that are worth testing on their own; run_app and run_suite (driver/run.hpp) put them together.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <tessera/cli/options.hpp>
#include <tessera/report/report.hpp>
#include <tessera/table/app.hpp>
#include <tessera/verify/verify.hpp>

namespace tessera {

/// Bytes that a case will need at its peak, while one row is alive.
struct MemoryNeed {
  double held = 0;    ///< before and between its rows: the input, the reference, the file's /expected
  double host = 0;    ///< `held` and two fetched results
  double row = 0;     ///< of the row: the output, and as much again for the variant's temporaries
  double device = 0;  ///< what a row needs on a GPU: `row`, and a copy of the input
};

[[nodiscard]] MemoryNeed memory_need(Footprint const& footprint, bool has_expected);

/// Throws UserError if a row on one of these spaces would not find the memory it needs. `what` names the case; `advice`
/// says what its user can do.
void check_memory(std::string const& what, MemoryNeed const& need, std::vector<std::string> const& spaces,
                  std::string const& advice);

/// What a case is checked against.
struct Oracle {
  std::vector<ExpectedField> reference;
  /// With --verify sample: the sampled elements of the reference, of which there is nothing else then.
  std::vector<ExpectedField> sample = {};
  std::vector<HostField> from_file;  ///< /expected of the file; may lack fields, or be empty
  VerifyOptions verify = {};
  bool random_data = false;     ///< the case was drawn at random: bounds may be statistical
  bool is_file = false;         ///< the case was read: no option can change its dtype, size and data
  bool other_is_exact = false;  ///< it was drawn, and could have been drawn as exact data
};

/// The output that the case keeps of a space (RowRun::keep), if all of it was compared with a reference that leaves it no
/// choice, and was right. A later row of the case with the same bits is right as well, and need not be fetched.
struct Verified {
  std::string space;                  ///< empty: there is none
  std::vector<WrittenField> written;  ///< fields that the row wrote
  std::vector<Coverage> seen;         ///< of these
};

/// Compares the reference with the file's /expected. Empty if they agree. Else it says how they differ: one of the two
/// is wrong, and no row can be judged.
[[nodiscard]] std::string disagreement(Oracle const& oracle);

/// Takes a row's verified output, for --output.
using TakeOutput = std::function<void(Row const&, std::vector<HostField> const&)>;

/// Constructs, runs, verifies and times one row. `report` comes with what is known of the case. What the row throws
/// becomes its status: Skip is skipped, the rest is failed. Returns nothing if interrupted. `verified` goes from row to
/// row of a case.
[[nodiscard]] std::optional<RowReport> run_row(Row const& row, Case& problem_case, Oracle const& oracle,
                                               SamplingOptions const& sampling, RowReport report,
                                               std::function<bool()> const& interrupted, TakeOutput const& take_output,
                                               Verified& verified);

}  // namespace tessera
