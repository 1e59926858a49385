#pragma once
/// \file
/// Named sweeps: all cases of a benchmark table with one command, `tessera run --sweep NAME`.

#include <cstddef>
#include <string_view>
#include <vector>

#include <tessera/core/info.hpp>

namespace tessera {

/// A generated case of a sweep.
struct SweepCase {
  std::size_t size = 0;  ///< elements
  /// of the mini-app's options that take lists; all cases of a sweep set the same options
  ParameterMap parameters = {};
};

struct Sweep {
  std::string_view name;  ///< follows the names of the input files: `zip_p21` is for puzzle P21
  std::string_view app;
  std::string_view summary;
  std::vector<SweepCase> cases;
};

/// Returns all sweeps by name. Valid until the program ends.
[[nodiscard]] std::vector<Sweep> const& sweeps();

/// Returns the sweeps of a mini-app.
[[nodiscard]] std::vector<Sweep> sweeps_of(std::string_view app);

}  // namespace tessera
