#pragma once
/// \file
/// moving_average: out[i] = mean of in[i], in[i + 1], in[i + 2], as far as they are in the segment.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include <tessera/collective/device/forward_stencil.hpp>
#include <tessera/core/info.hpp>
#include <tessera/core/random.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>

namespace tessera::moving_average {

struct MovingAverage {
  static constexpr AppInfo info{.name = "moving_average",
                                .summary = "out[i] = mean of in[i .. i + 2] inside the segment"};

  struct Parameters {
    std::size_t segment = 0;  ///< elements; 0: the whole array is one segment
    std::int64_t tile = 0;    ///< elements; 0: the variant's choice
    std::int64_t team = 0;    ///< threads; 0: the variant's choice

    [[nodiscard]] static Parameters from(ParameterMap const& map);
  };
  [[nodiscard]] static std::vector<ParameterSpec> parameters();

  /// in [n].
  template <class T, class Memory>
  struct Input {
    Array<T const*, Memory> in;
    Parameters parameters;

    static constexpr std::array<std::string_view, 1> names{"in"};
    static auto fields(auto& self) { return std::tie(self.in); }
  };

  /// out [n].
  template <class T, class Memory>
  struct Output {
    Array<T*, Memory> out;

    static constexpr std::array<std::string_view, 1> names{"out"};
    static auto fields(auto& self) { return std::tie(self.out); }
  };

  [[nodiscard]] static std::vector<Shape> input_shapes(std::size_t size, Parameters const&) { return {{size}}; }
  [[nodiscard]] static std::vector<Shape> output_shapes(std::vector<Shape> const& input, Parameters const&) {
    return {input[0]};
  }

  template <class T>
  [[nodiscard]] static T element(std::size_t field, std::size_t index, std::uint64_t seed, Parameters const&) {
    return random_value<T>(seed, field, index);
  }

  [[nodiscard]] static Work work(std::vector<Shape> const& input, Parameters const&, DType dtype) {
    double const n = static_cast<double>(count_of(input[0]));
    return {.bytes = 2 * n * static_cast<double>(size_of(dtype)), .flops = 3 * n};
  }

  /// Two additions, the rounding of 1/3, the multiplication by it.
  [[nodiscard]] static double rounding_steps(std::vector<Shape> const&, Parameters const&) { return 4; }

  template <class T>
  [[nodiscard]] static std::vector<ExpectedField> reference(Input<T, Kokkos::HostSpace> const& input);
};

/// What a sum of `present` elements, at least 1 and at most 3, is multiplied by: cheaper than a division.
template <class T>
[[nodiscard]] KOKKOS_INLINE_FUNCTION constexpr T share_of(int present) {
  constexpr T third = T(1) / T(3);
  if (present > 2) return third;
  return present > 1 ? T(0.5) : T(1);
}

/// What the cooperating variants do to one element and the next two (see thread/forward_stencil.hpp).
template <class T>
struct ForwardMean {
  static constexpr int reach = 2;
  [[nodiscard]] KOKKOS_FUNCTION T operator()(T const* window, int present) const {
    T const second = present > 1 ? window[1] : T(0);
    T const third = present > 2 ? window[2] : T(0);
    return (window[0] + second + third) * share_of<T>(present);
  }
};

/// The input as the cooperating variants want it.
template <class T, class Memory>
[[nodiscard]] device::StencilShape shape_of(MovingAverage::Input<T, Memory> const& input) {
  return {.n = input.in.extent(0),
          .segment = input.parameters.segment,
          .tile = input.parameters.tile,
          .team = input.parameters.team};
}

}  // namespace tessera::moving_average
