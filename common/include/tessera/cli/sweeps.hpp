#pragma once
/// \file
/// Sweeps with a name: the cases of a benchmark table, by one command, `tessera run --sweep NAME`.

#include <cstddef>
#include <string_view>
#include <vector>

#include <tessera/core/info.hpp>

namespace tessera {

/// A generated case of a sweep.
struct SweepCase {
  std::size_t size = 0;          ///< elements
  ParameterMap parameters = {};  ///< of the mini-app's options that take lists; the same ones in all cases of a sweep
};

struct Sweep {
  std::string_view name;  ///< as the input files are named: `zip_p21` is puzzle P21's
  std::string_view app;
  std::string_view summary;
  std::vector<SweepCase> cases;
};

/// All of them, by name. Lives as long as the program.
[[nodiscard]] std::vector<Sweep> const& sweeps();

/// Those of a mini-app.
[[nodiscard]] std::vector<Sweep> sweeps_of(std::string_view app);

}  // namespace tessera
