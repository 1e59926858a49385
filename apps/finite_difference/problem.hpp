#pragma once
/// \file
/// finite_difference: out[i] = in[i + 1] - in[i], 0 for the last element of each segment.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include <tessera/collective/accumulator.hpp>
#include <tessera/collective/device/forward_stencil.hpp>
#include <tessera/core/info.hpp>
#include <tessera/core/random.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>

namespace tessera::finite_difference {

struct FiniteDifference {
  static constexpr AppInfo info{.name = "finite_difference",
                                .summary = "out[i] = in[i + 1] - in[i], last of each segment 0"};

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
    return {.bytes = 2 * n * static_cast<double>(size_of(dtype)), .flops = n};
  }

  /// One subtraction.
  [[nodiscard]] static double rounding_steps(std::vector<Shape> const&, Parameters const&) { return 1; }

  template <class T>
  [[nodiscard]] static std::vector<ExpectedField> reference(Input<T, Kokkos::HostSpace> const& input);
};

/// next - own; integers wrap.
template <class T>
[[nodiscard]] KOKKOS_INLINE_FUNCTION T difference(T const& own, T const& next) {
  using Wide = collective::Accumulator<T>;
  return static_cast<T>(static_cast<Wide>(next) - static_cast<Wide>(own));
}

/// What the cooperating variants do to one element and the next (see thread/forward_stencil.hpp).
template <class T>
struct Difference {
  static constexpr int reach = 1;
  [[nodiscard]] KOKKOS_FUNCTION T operator()(T const* window, int present) const {
    T const result = difference(window[0], window[1]);  // first, so that the choice needs no branch
    return present > 1 ? result : T(0);
  }
};

/// The input as the cooperating variants want it.
template <class T, class Memory>
[[nodiscard]] device::StencilShape shape_of(FiniteDifference::Input<T, Memory> const& input) {
  return {.n = input.in.extent(0),
          .segment = input.parameters.segment,
          .tile = input.parameters.tile,
          .team = input.parameters.team};
}

}  // namespace tessera::finite_difference
