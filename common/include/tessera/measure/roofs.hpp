#pragma once
/// \file
/// What a machine can do at most, as measured: the roofs that rows are compared with. No Kokkos.

#include <array>
#include <cstddef>
#include <limits>
#include <string>

#include <tessera/core/info.hpp>
#include <tessera/core/types.hpp>

namespace tessera {

/// Stands for "not known" in numbers; null in JSON, "-" in the table.
inline constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

/// The roofs of one execution space; unknown where one was not measured.
struct Roofs {
  double copy_bytes_per_second = unknown;   ///< out[i] = a[i]; read plus written
  double triad_bytes_per_second = unknown;  ///< out[i] = a[i] + s * b[i]; read plus written
  double read_bytes_per_second = unknown;   ///< a sum
  /// Peak of multiply-adds in registers, two operations each; one number a dtype, in the order of arithmetic_dtypes.
  std::array<double, arithmetic_dtypes.size()> peak_operations_per_second{unknown, unknown, unknown};
  /// Peak of matrix units, a multiplication and an addition a product, in the order of matrix_units. CUDA's is that of
  /// mma.sync; warp-group instructions (wgmma, from compute capability 9.0 on) are not used, and have a higher one.
  std::array<double, matrix_units.size()> matrix_peak_operations_per_second{unknown, unknown, unknown};
  double launch_seconds = unknown;            ///< one of many launches one after the other
  double launch_and_fence_seconds = unknown;  ///< a launch and waiting for it
  double working_set_bytes = 0;               ///< of copy and read

  [[nodiscard]] double peak(DType dtype) const {
    return peak_operations_per_second.at(static_cast<std::size_t>(arithmetic_of(dtype)));
  }
  /// Of a row's unit.
  [[nodiscard]] double peak(DType dtype, Unit unit) const {
    return unit == Unit::multiply_add ? peak(dtype) : matrix_peak(unit);
  }
  [[nodiscard]] double matrix_peak(Unit unit) const {
    return matrix_peak_operations_per_second.at(static_cast<std::size_t>(unit) - 1);
  }
  [[nodiscard]] double& matrix_peak(Unit unit) {
    return matrix_peak_operations_per_second.at(static_cast<std::size_t>(unit) - 1);
  }

  /// Seconds that the work takes at least: at copy bandwidth or at a peak, whichever is longer. NaN if neither is known.
  [[nodiscard]] double least_seconds(double bytes, double operations, double peak) const {
    double const moving = bytes / copy_bytes_per_second;
    double const computing = operations / peak;
    // Written so that a roof that is not known does not count.
    if (!(moving >= computing)) return computing == computing ? computing : moving;
    return moving;
  }

  /// True if the work is bound by the peak rather than by the bandwidth.
  [[nodiscard]] bool compute_bound(double bytes, double operations, double peak) const {
    return operations / peak > bytes / copy_bytes_per_second;
  }
};

/// Measures the roofs of a space: each the median of `samples` runs. A copy reads `bytes` and writes as many (the faster
/// of a Kokkos kernel and Kokkos::deep_copy); triad and read use the same memory, 2 * `bytes` in all.
[[nodiscard]] Roofs measure_roofs(std::string const& space, std::size_t bytes, int samples);

}  // namespace tessera
