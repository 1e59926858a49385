#pragma once
/// \file
/// Kernels on matrix units (tensor cores) throw Skip on a device without them.

#include <cstddef>
#include <string>

#include <tessera/collective/lane/matrix_unit.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>

namespace tessera::kernels {

/// Whether a space may have units of 32 lanes.
template <class Exec>
inline constexpr bool can_have_units_of_warps =
    is_gpu<Exec> && collective::can_have_matrix_units<Exec> && collective::matrix_lanes<Exec> == 32;

/// Throws Skip if the device has no matrix units.
template <ExecutionSpace Exec>
void require_matrix_units(Exec const& exec) {
  if (!collective::has_matrix_units(exec)) {
    throw Skip("no matrix units (CUDA has them from compute capability 8.0, and HIP on gfx90a and gfx942; " +
               std::string(space_name<Exec>()) + " here does not)");
  }
}

/// The same for a kernel that supports only units of 32 lanes.
template <ExecutionSpace Exec>
void require_matrix_units_of_warps(Exec const& exec) {
  if (collective::matrix_lanes<Exec> != 32) {
    throw Skip("no matrix units of 32 lanes (the units of " + std::string(space_name<Exec>()) + " have " +
               std::to_string(collective::matrix_lanes<Exec>) + ")");
  }
  require_matrix_units(exec);
}

/// Returns an error bound for an element of a matrix product whose factors are sums of two tf32, on units that may
/// flush numbers below the normal range to 0. Each of `inner` k loses at most 2^-125 of a factor, which the other
/// factor multiplies, and 2^-126 for each of three products of terms and their sums.
///
/// \param inner inner extent of the product
/// \param largest_of_a, largest_of_b bounds of the magnitudes of the factors
[[nodiscard]] inline double lost_by_underflow_of_tf32(std::size_t inner, double largest_of_a, double largest_of_b) {
  return static_cast<double>(inner) * 0x1p-124 * (largest_of_a + largest_of_b + 1);
}

}  // namespace tessera::kernels
