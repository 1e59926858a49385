#pragma once
/// \file
/// The steps of a run that are worth testing separately; run_app and run_suite (driver/run.hpp) combine them.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <tessera/cli/options.hpp>
#include <tessera/report/report.hpp>
#include <tessera/table/app.hpp>
#include <tessera/verify/verify.hpp>

namespace tessera {

/// Bytes that a case needs at its peak, while one row exists. A variant's own temporaries on a host are not included,
/// because only its Plan knows them.
struct MemoryNeed {
  double held = 0;    ///< before and between its rows: the input, the reference, the file's /expected
  double host = 0;    ///< `held` plus one result: a row's output on a host, or fetched from a GPU
  double device = 0;  ///< of a GPU: a copy of the input, the output, and the same again for temporaries or a copy of it
};

[[nodiscard]] MemoryNeed memory_need(Footprint const& footprint, bool has_expected);

/// Returns the free host memory, which any host space reports; unknown in a build without one.
[[nodiscard]] double free_host_bytes();

/// Throws UserError if one of these spaces does not have the memory that a row needs. In the message, `what` names the
/// case, and `advice` says what the user can do.
void check_memory(std::string const& what, MemoryNeed const& need, std::vector<std::string> const& spaces,
                  std::string const& advice);

/// The results that a case is checked against.
struct Oracle {
  std::vector<ExpectedField> reference;
  /// With --verify sample: the sampled elements of the reference. `reference` is then empty.
  std::vector<ExpectedField> sample = {};
  std::vector<HostField> from_file;  ///< /expected of the file; may lack fields, or be empty
  VerifyOptions verify = {};
  bool random_data = false;     ///< the case was generated at random: bounds may be statistical
  bool is_file = false;         ///< the case was read from a file: no option can change its dtype, size or data
  bool other_is_exact = false;  ///< the case was generated, and could have been generated as exact data
};

/// The output of a space that the case keeps (RowRun::keep), if all of it was compared with a reference that allows
/// only one result, and was correct. A later row of the case with the same bits is also correct, and need not be
/// fetched.
struct Verified {
  std::string space;                  ///< empty: there is no such output
  std::vector<WrittenField> written;  ///< fields that the row wrote
  std::vector<Coverage> seen;         ///< of these fields
};

/// Compares the reference with the file's /expected. Returns an empty text if they agree, otherwise a description of
/// the difference: one of the two is wrong, and no row can be judged.
[[nodiscard]] std::string disagreement(Oracle const& oracle);

/// Receives a row's verified output, for --output.
using TakeOutput = std::function<void(Row const&, std::vector<HostField> const&)>;

/// Returns the report of a case with what is known about the row before it runs. Its status is failed.
[[nodiscard]] RowReport describe_row(Row const& row, SamplingOptions const& sampling, RowReport report);

/// Returns why the row cannot run this case here, independent of the memory; empty if it can. Must be called by all
/// ranks.
[[nodiscard]] std::string reason_to_skip(Row const& row, Case& problem_case);

/// Constructs, runs, verifies and times one row. `report` contains what is known about the case. Exceptions become the
/// row's status: Skip becomes skipped, all others failed. Returns nothing if interrupted. `verified` is passed from row
/// to row of a case.
[[nodiscard]] std::optional<RowReport> run_row(Row const& row, Case& problem_case, Oracle const& oracle,
                                               SamplingOptions const& sampling, RowReport report,
                                               std::function<bool()> const& interrupted, TakeOutput const& take_output,
                                               Verified& verified);

}  // namespace tessera
