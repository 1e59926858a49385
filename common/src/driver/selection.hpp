#pragma once
// The rows that a command line selects.

#include <vector>

#include <tessera/cli/options.hpp>
#include <tessera/table/app.hpp>

namespace tessera {

/// Returns the app's dtypes that were requested and have rows. If none was requested: float, or the app's first dtype.
[[nodiscard]] std::vector<DType> dtypes_of(App const& app, Options const& options);

/// Returns the requested rows of that dtype: by space in the order of enabled_spaces(), then in the order of --list.
[[nodiscard]] std::vector<Row const*> select_rows(App const& app, Options const& options, DType dtype);

/// Throws UserError, listing the existing rows, if nothing is selected, or if a named variant, space or dtype has no
/// row with the rest of the selection. `dtypes` are the dtypes that will run.
void check_selection(App const& app, Options const& options, std::vector<DType> const& dtypes);

}  // namespace tessera
