#pragma once
// Planning: checks for everything that can be the user's mistake, before anything runs.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <tessera/cli/options.hpp>
#include <tessera/io/case_file.hpp>
#include <tessera/ranks/agreement.hpp>
#include <tessera/report/report.hpp>
#include <tessera/table/app.hpp>

namespace tessera {

struct PlannedCase {
  App const* app = nullptr;
  std::string path;                // of its file; empty if generated
  std::shared_ptr<CaseFile> file;  // opened once per run, unless there are many large files
  std::size_t size = 0;
  DataKind data = DataKind::random;  // of generated cases
  DType dtype = DType::float32;
  ParameterMap parameters;
  std::string tuning;       // "tile 256, team 2": the options that have several values in this run; otherwise empty
  bool same_input = false;  // as the preceding case: only its tuning differs
  Footprint footprint;
  bool has_expected = false;
  bool from_vector = false;  // the file holds a vector [n] for a matrix [1, n]
  std::vector<Row const*> rows;
};

struct LeftOut {
  std::string what;  // a path, or the name of a mini-app
  std::string why;
  bool is_file = false;
};

struct Plan {
  std::vector<PlannedCase> cases;
  std::vector<LeftOut> left_out;
  double kept_bytes = 0;       // of inputs that were read during planning
  std::size_t open_files = 0;  // of the other inputs

  [[nodiscard]] std::size_t index_of(PlannedCase const& planned) const {
    return static_cast<std::size_t>(&planned - cases.data());
  }
};

/// Rethrows the mistake with the file in front, if the message does not name it, and with the mini-app, if the command
/// has several.
[[noreturn]] void rethrow(UserError const& mistake, Command const& command, App const& app, std::string const& path);

/// Returns one line per reason: "a.h5, b.h5 and 7 more: skipped (it holds int32, ...)".
[[nodiscard]] std::vector<std::string> to_lines(std::vector<LeftOut> const& left_out);

/// Returns the app's dtypes that were requested and have rows. If none was requested: float, or the app's first dtype.
[[nodiscard]] std::vector<DType> dtypes_of(App const& app, Options const& options);

/// Returns the requested rows of that dtype: by space in the order of enabled_spaces(), then in the order of --list.
[[nodiscard]] std::vector<Row const*> select_rows(App const& app, Options const& options, DType dtype);

/// Throws UserError, listing the existing rows, if nothing is selected, or if a named variant, space or dtype has no
/// row with the rest of the selection. `dtypes` are the dtypes that will run.
void check_selection(App const& app, Options const& options, std::vector<DType> const& dtypes);

/// Returns the cases of a mini-app in --inputs DIR: DIR/<app>/*.h5, sorted; empty if there is no such folder. Throws
/// UserError if it cannot be read.
[[nodiscard]] std::vector<std::string> case_files(std::string const& directory, std::string const& app);

/// Checks all files that a run will read and write, before anything is opened: no file may have two uses. Files are
/// compared by identity, not by name. Throws UserError.
void check_files(Command const& command, Options const& options);

/// Checks Kokkos' options and environment variables (KOKKOS_..., OMP_NUM_THREADS) before Kokkos reads them, because
/// Kokkos aborts at an invalid value. Unknown options pass: Kokkos warns about them. Throws UserError.
void check_kokkos_words(std::vector<std::string> const& kokkos_arguments);

/// Reads the necessary facts from files, and checks everything that can be checked before Kokkos starts. Throws
/// UserError.
[[nodiscard]] Plan make_plan(Command const& command, Options const& options);

/// Returns what must be the same on all ranks: for each case its source, shapes, parameters and rows, and the contents
/// of its file. If all ranks run on one machine and read the same files, their contents are left out. Must be called by
/// all ranks.
[[nodiscard]] std::vector<ranks::Fact> facts_of(Plan const& plan, ranks::Ranks const& ranks);

/// Returns a description of a case: "size 1024 of map in float", and its tuning if the run tries several.
[[nodiscard]] std::string describe(PlannedCase const& planned);

/// Returns what is known about a case before it is prepared. `seed` is that of generated cases.
[[nodiscard]] CaseReport source_of(PlannedCase const& planned, std::uint64_t seed);

/// Returns what the rows of a prepared case have in common, without the case's index.
[[nodiscard]] RowReport row_of(CaseReport const& report);

/// Returns the fields as they are in the file: a vector that was read as a matrix of one row becomes a vector again,
/// and so do its results.
[[nodiscard]] std::vector<HostField> as_given(PlannedCase const& planned, std::vector<HostField> fields);

/// Returns the spaces of rows, in their order.
[[nodiscard]] std::vector<std::string> spaces_of(std::vector<Row const*> const& rows);

/// Returns the spaces of all rows.
[[nodiscard]] std::set<std::string> spaces_of(Plan const& plan);

/// Returns the rows of all cases of a mini-app.
[[nodiscard]] std::vector<Row const*> rows_of(Plan const& plan, App const& app);

/// Returns the parameters without those that only shape generated input.
[[nodiscard]] ParameterMap without_shaping(App const& app, ParameterMap parameters);

}  // namespace tessera
