#pragma once
/// \file
/// Kernels on matrix units (tensor cores) throw Skip on a device that has none.

#include <cstddef>
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

/// What an element of a product of matrices may be off by because units may take numbers below the normal range for 0, where a
/// factor is a sum of two tf32: for each of `inner` k 2^-125 of a factor, which the other one multiplies, and of three products of terms
/// and their sums 2^-126 each. \param largest_of_a, largest_of_b bounds for the magnitudes of the factors
[[nodiscard]] inline double lost_by_underflow_of_tf32(std::size_t inner, double largest_of_a, double largest_of_b) {
  return static_cast<double>(inner) * 0x1p-124 * (largest_of_a + largest_of_b + 1);
}

}  // namespace tessera::kernels
