#pragma once
/// \file
/// The measured limits of a machine: the roofs that rows are compared with. No Kokkos.

#include <array>
#include <cstddef>
#include <limits>
#include <string>

#include <tessera/core/info.hpp>
#include <tessera/core/types.hpp>
#include <tessera/ranks/ranks.hpp>

namespace tessera {

/// An unknown number; null in JSON, "-" in the table.
inline constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

/// The roofs of one execution space; unknown if not measured.
struct Roofs {
  double copy_bytes_per_second = unknown;   ///< out[i] = a[i]; read plus written
  double triad_bytes_per_second = unknown;  ///< out[i] = a[i] + s * b[i]; read plus written
  double read_bytes_per_second = unknown;   ///< a reduction
  /// Peak of multiply-adds in registers, two operations each; one number per dtype, in the order of arithmetic_dtypes.
  std::array<double, arithmetic_dtypes.size()> peak_operations_per_second{unknown, unknown, unknown};
  /// Peak of matrix units, two operations per product, in the order of matrix_units. On CUDA it is the peak of
  /// mma.sync. Warp-group instructions (wgmma, from compute capability 9.0 on) have a higher peak, and are not used.
  std::array<double, matrix_units.size()> matrix_peak_operations_per_second{unknown, unknown, unknown};
  double launch_seconds = unknown;            ///< per launch, for many consecutive launches
  double launch_and_fence_seconds = unknown;  ///< one launch and the fence after it
  double working_set_bytes = 0;               ///< of the copy and read measurements
  std::string unsure = {};                    ///< why these figures may be wrong; empty if there is no sign of an error

  [[nodiscard]] double peak(DType dtype) const {
    return peak_operations_per_second.at(static_cast<std::size_t>(arithmetic_of(dtype)));
  }
  /// Returns the peak of a row's unit.
  [[nodiscard]] double peak(DType dtype, Unit unit) const {
    return unit == Unit::multiply_add ? peak(dtype) : matrix_peak(unit);
  }
  [[nodiscard]] double matrix_peak(Unit unit) const {
    return matrix_peak_operations_per_second.at(static_cast<std::size_t>(unit) - 1);
  }
  [[nodiscard]] double& matrix_peak(Unit unit) {
    return matrix_peak_operations_per_second.at(static_cast<std::size_t>(unit) - 1);
  }

  /// Returns the least time of the work in seconds: max(bytes / copy bandwidth, operations / peak). NaN if both are
  /// unknown.
  [[nodiscard]] double least_seconds(double bytes, double operations, double peak) const {
    double const moving = bytes / copy_bytes_per_second;
    double const computing = operations / peak;
    // A roof that is NaN is ignored.
    if (!(moving >= computing)) return computing == computing ? computing : moving;
    return moving;
  }

  /// True if the work is bound by the peak instead of the bandwidth.
  [[nodiscard]] bool compute_bound(double bytes, double operations, double peak) const {
    return operations / peak > bytes / copy_bytes_per_second;
  }
};

/// Returns a description of values that are implausible on any machine; empty if there are none.
[[nodiscard]] inline std::string implausible(Roofs const& roofs) {
  std::string text;
  auto const above = [&](double one, double other, double times, std::string const& what) {
    if (one > times * other) text += (text.empty() ? "" : ", ") + what;
  };
  // Narrower floats are never slower. In the committed reports of CPUs and GPUs the ratios to copy are 0.7 to 1.5.
  above(roofs.peak(DType::float64), roofs.peak(DType::float32), 1.15, "the double peak is above the float peak");
  double const copy = roofs.copy_bytes_per_second;
  above(roofs.read_bytes_per_second, copy, 2.5, "read bandwidth is far above copy");
  above(copy, roofs.read_bytes_per_second, 2.5, "read bandwidth is far below copy");
  above(roofs.triad_bytes_per_second, copy, 2, "triad is far above copy");
  above(copy, roofs.triad_bytes_per_second, 2, "triad is far below copy");
  return text;
}

/// The resources that the measurement of roofs may use.
struct RoofLimits {
  std::size_t bytes = 0;  ///< total memory for copy, triad and read, per rank
  double seconds = 0;     ///< in total; the last run may end a little later
};

/// Measures the roofs of a space. Each roof is the best of several runs, repeated until the best time is reproduced. A
/// copy reads one half of the memory and writes the other; the faster of a Kokkos kernel and Kokkos::deep_copy counts.
/// Must be called by all ranks with the same limits. The time of a run is the time on the slowest rank; the figures are
/// per rank.
///
/// `unsure` is set if a time was not reproduced, if other processes used the processors, or if the figures are
/// implausible.
[[nodiscard]] Roofs measure_roofs(std::string const& space, RoofLimits const& limits,
                                  ranks::Ranks const& ranks = ranks::Ranks());

}  // namespace tessera
