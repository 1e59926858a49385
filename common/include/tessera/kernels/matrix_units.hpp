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
    throw Skip("matrix units (CUDA has them, from compute capability 8.0 on; " + std::string(space_name<Exec>()) +
               " here does not)");
  }
  return exec;
}

}  // namespace tessera::kernels
