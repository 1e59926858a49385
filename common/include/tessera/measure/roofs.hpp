#pragma once
/// \file
/// What a machine can do at most, as measured: the roofs that rows are compared with. No Kokkos.

#include <array>
#include <cstddef>
#include <limits>
#include <string>

#include <tessera/core/info.hpp>
#include <tessera/core/types.hpp>
#include <tessera/ranks/ranks.hpp>

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
  std::string unsure = {};                    ///< why these figures may be wrong; empty: no sign of that

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

/// What is implausible about roofs on any machine, in words; empty if nothing is.
[[nodiscard]] inline std::string implausible(Roofs const& roofs) {
  std::string text;
  auto const above = [&](double one, double other, double times, std::string const& what) {
    if (one > times * other) text += (text.empty() ? "" : ", ") + what;
  };
  // Narrower floats are never slower. Committed reports of CPUs and GPUs have ratios to copy of 0.7 to 1.5.
  above(roofs.peak(DType::float64), roofs.peak(DType::float32), 1.15, "the peak of double is above that of float");
  double const copy = roofs.copy_bytes_per_second;
  above(roofs.read_bytes_per_second, copy, 2.5, "read bandwidth is far above copy");
  above(copy, roofs.read_bytes_per_second, 2.5, "read bandwidth is far below copy");
  above(roofs.triad_bytes_per_second, copy, 2, "triad is far above copy");
  above(copy, roofs.triad_bytes_per_second, 2, "triad is far below copy");
  return text;
}

/// What measuring roofs may take of the machine.
struct RoofLimits {
  std::size_t bytes = 0;  ///< of memory that copy, triad and read use, all in all; on each rank
  double seconds = 0;     ///< in all; what it runs last may end a little later
};

/// Measures the roofs of a space: each the best of several runs, repeated until the best time is reproduced. A copy reads half
/// of the memory and writes the other (the faster of a Kokkos kernel and Kokkos::deep_copy). Must be called by all ranks with
/// the same limits; a run lasts as long as on the slowest of them, and the figures are those of one rank.
///
/// `unsure` says if a time was not reproduced, if other work had the processors, or if the figures are implausible.
[[nodiscard]] Roofs measure_roofs(std::string const& space, RoofLimits const& limits,
                                  ranks::Ranks const& ranks = ranks::Ranks());

}  // namespace tessera
