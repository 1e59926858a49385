#pragma once
/// \file
/// Kernels on matrix units (tensor cores) throw Skip on a device that has none.

#include <string>

#include <tessera/collective/lane/matrix_unit.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>

namespace tessera::kernels {

/// Returns the same instance if its device has matrix units; else throws Skip.
template <ExecutionSpace Exec>
Exec const& require_matrix_units(Exec const& exec) {
  if (!collective::has_matrix_units(exec)) {
    throw Skip("matrix units (CUDA has them, from compute capability 8.0 on, and HIP on gfx90a and gfx942; " +
               std::string(space_name<Exec>()) + " here does not)");
  }
  return exec;
}

/// The same for a kernel that is written for units of 32 lanes alone.
template <ExecutionSpace Exec>
Exec const& require_matrix_units_of_warps(Exec const& exec) {
  if (collective::matrix_lanes<Exec> != 32) {
    throw Skip("matrix units of 32 lanes (those of " + std::string(space_name<Exec>()) + " have " +
               std::to_string(collective::matrix_lanes<Exec>) + ")");
  }
  return require_matrix_units(exec);
}

}  // namespace tessera::kernels
