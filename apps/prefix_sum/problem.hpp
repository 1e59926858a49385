#pragma once
/// \file
/// prefix_sum: out[i] = in[0] + ... + in[i], or its exclusive, segmented, max and min forms.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include <tessera/collective/operators.hpp>
#include <tessera/core/info.hpp>
#include <tessera/core/random.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>

namespace tessera::prefix_sum {

struct PrefixSum {
  static constexpr AppInfo info{.name = "prefix_sum",
                                .summary = "out[i] = in[0] + ... + in[i] (or max, min; exclusive; by segments)"};

  struct Parameters {
    bool exclusive = false;
    collective::OperatorKind op = collective::OperatorKind::sum;
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

  /// The worst order of n additions: one after the other.
  [[nodiscard]] static double rounding_steps(std::vector<Shape> const& input, Parameters const&) {
    return static_cast<double>(count_of(input[0]));
  }

  template <class T>
  [[nodiscard]] static std::vector<ExpectedField> reference(Input<T, Kokkos::HostSpace> const& input);
};

}  // namespace tessera::prefix_sum
