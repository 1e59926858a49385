#pragma once
/// \file
/// roofline: what the machine can do at most, one measurement a variant: copy, triad and read bandwidth, the peak of
/// multiply-adds, the time of a launch.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include <tessera/core/info.hpp>
#include <tessera/core/random.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>
#include <tessera/measure/roof_kernels.hpp>

namespace tessera::roofline {

struct Roofline {
  static constexpr AppInfo info{
      .name = "roofline", .summary = "bandwidth of copy, triad and read; peak of multiply-adds; time of a launch"};

  struct Parameters {
    double s = 0.5;
    std::int64_t iterations = 4096;  ///< multiply-adds of a chain

    [[nodiscard]] static Parameters from(ParameterMap const& map);
  };
  [[nodiscard]] static std::vector<ParameterSpec> parameters();

  /// a [n], b [n].
  template <class T, class Memory>
  struct Input {
    Array<T const*, Memory> a;
    Array<T const*, Memory> b;
    Parameters parameters;

    static constexpr std::array<std::string_view, 2> names{"a", "b"};
    static auto fields(auto& self) { return std::tie(self.a, self.b); }
  };

  /// copied [n], triad [n], sum [], chains [min(n, 2^19)], launched []. Each variant writes one of them.
  template <class T, class Memory>
  struct Output {
    Array<T*, Memory> copied;
    Array<T*, Memory> triad;
    Array<T, Memory> sum;
    Array<T*, Memory> chains;
    Array<T, Memory> launched;

    static constexpr std::array<std::string_view, 5> names{"copied", "triad", "sum", "chains", "launched"};
    static auto fields(auto& self) { return std::tie(self.copied, self.triad, self.sum, self.chains, self.launched); }
  };

  [[nodiscard]] static std::vector<Shape> input_shapes(std::size_t size, Parameters const&) { return {{size}, {size}}; }
  [[nodiscard]] static std::vector<Shape> output_shapes(std::vector<Shape> const& input, Parameters const&) {
    if (input[0] != input[1]) {
      throw UserError("a has shape " + to_string(input[0]) + " and b " + to_string(input[1]) +
                      " (triad adds them element by element) make them equally long");
    }
    std::size_t const chains = std::min<std::size_t>(count_of(input[0]), measure::most_chains);
    return {input[0], input[0], {}, {chains}, {}};
  }

  template <class T>
  [[nodiscard]] static T element(std::size_t field, std::size_t index, std::uint64_t seed, Parameters const&) {
    return random_value<T>(seed, field, index);
  }

  /// Throws UserError if s is no number of the dtype.
  static void check(Parameters const& parameters, DType dtype);

  /// Of triad, the only one that moves and computes; each variant says its own.
  [[nodiscard]] static Work work(std::vector<Shape> const& input, Parameters const&, DType dtype) {
    double const n = static_cast<double>(count_of(input[0]));
    return {.bytes = 3 * n * static_cast<double>(size_of(dtype)), .flops = 2 * n};
  }

  /// A multiplication and an addition.
  [[nodiscard]] static double rounding_steps(std::vector<Shape> const&, Parameters const&) { return 2; }

  template <class T>
  [[nodiscard]] static std::vector<ExpectedField> reference(Input<T, Kokkos::HostSpace> const& input);
};

}  // namespace tessera::roofline
