#pragma once
/// \file
/// concurrent: independent chains of small kernels. Each chain works on its own chunk of the array.

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <tessera/core/array_problem.hpp>
#include <tessera/core/info.hpp>
#include <tessera/core/parameters.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>

namespace tessera::concurrent {

struct Parameters {
  std::int64_t chains = 4;
  std::int64_t kernels = 8;
  std::int64_t blocks = 0;

  [[nodiscard]] static MemberSpecs<Parameters> specs() {
    return {
        {&Parameters::chains, number_parameter("chains", "independent chains, 1 to 64", 1, 64)},
        {&Parameters::kernels, number_parameter("kernels", "kernels per chain, 1 to 65536", 1, 65536)},
        {&Parameters::blocks, tuning_parameter("blocks", "blocks*: blocks per chain; 0: chosen by the size", 0, 4096)}};
  }
};

/// The prime modulus of all steps.
inline constexpr std::uint32_t modulus = 4093;

/// A kernel's step for one element: x -> (factor * x + term) mod 4093. All numbers stay below 2^24, so every dtype
/// holds them exactly. Two steps in the other order, or a missing step, change almost every element.
///
/// Example, factor 2 and term 5: 3 -> 11; 4092 -> 3; -1, 4093 and NaN count as 0 -> 5.
struct Step {
  std::uint32_t factor;
  std::uint32_t term;

  template <class T>
  [[nodiscard]] KOKKOS_FUNCTION T operator()(T x) const {
    std::uint32_t const whole = x >= T(0) && x < T(modulus) ? static_cast<std::uint32_t>(x) : 0;
    return static_cast<T>((factor * whole + term) % modulus);
  }
};

/// Returns the step of a kernel of a chain. Its constants are bits of a hash, so that each kernel has its own: factor 2
/// to 4091, term 1 to 4092. README.md states the formula.
[[nodiscard]] inline Step step_of(std::int64_t chain, std::int64_t kernel) {
  auto hash = static_cast<std::uint32_t>(chain) * 40503u + static_cast<std::uint32_t>(kernel) * 2654435761u + 12345u;
  hash = (hash ^ (hash >> 15)) * 2246822519u;
  hash ^= hash >> 13;
  return {.factor = 2 + hash % 4090, .term = 1 + (hash >> 12) % 4092};
}

/// Returns the first element of a chain's chunk. Chunks differ by at most one element.
[[nodiscard]] inline std::size_t chunk_begin(std::size_t n, std::int64_t chains, std::int64_t chain) {
  return n / static_cast<std::size_t>(chains) * static_cast<std::size_t>(chain) +
         n % static_cast<std::size_t>(chains) * static_cast<std::size_t>(chain) / static_cast<std::size_t>(chains);
}

struct Concurrent : ArrayProblem<Parameters> {
  static constexpr AppInfo info{.name = "concurrent",
                                .summary = "independent chains of small kernels, on one instance, several, as a graph"};
  static constexpr std::array data{DataKind::exact, DataKind::adversarial};
  static constexpr int reference_doubles = 1;

  /// Exact: whole numbers below the modulus. Adversarial: nearly all lie outside of it, and count as 0.
  template <class T>
  [[nodiscard]] static T element(Draw const& draw, Parameters const&) {
    if (draw.data == DataKind::adversarial) return drawn<T>(draw);
    return static_cast<T>(random_bits(draw.seed, draw.field, draw.index) % modulus);
  }

  /// Each kernel reads and writes its chunk. Whole numbers are no operations of the dtype.
  [[nodiscard]] static Work work(std::vector<Shape> const& input, Parameters const& parameters, DType dtype) {
    double const moved = 2 * static_cast<double>(count_of(input[0])) * static_cast<double>(size_of(dtype));
    return {.bytes = moved * static_cast<double>(parameters.kernels), .flops = 0};
  }
  [[nodiscard]] static double rounding_steps(std::vector<Shape> const&, Parameters const&) { return 0; }

  template <class T>
  [[nodiscard]] static std::vector<ExpectedField> reference(Input<T, Kokkos::HostSpace> const& input);
};

}  // namespace tessera::concurrent
