#pragma once
/// \file
/// transpose: out[c, r] = a[r, c].

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include <tessera/core/info.hpp>
#include <tessera/core/matrix_shape.hpp>
#include <tessera/core/random.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>

namespace tessera::transpose {

struct Transpose {
  static constexpr AppInfo info{.name = "transpose", .summary = "out[col, row] = a[row, col]"};

  struct Parameters {
    std::int64_t rows = 0;  ///< of generated input; 0: about square
    std::int64_t team = 0;  ///< threads; 0: the variant's choice

    [[nodiscard]] static Parameters from(ParameterMap const& map);
  };
  [[nodiscard]] static std::vector<ParameterSpec> parameters();

  /// a [rows, cols].
  template <class T, class Memory>
  struct Input {
    Array<T const**, Memory> a;
    Parameters parameters;

    static constexpr std::array<std::string_view, 1> names{"a"};
    static auto fields(auto& self) { return std::tie(self.a); }
  };

  /// out [cols, rows].
  template <class T, class Memory>
  struct Output {
    Array<T**, Memory> out;

    static constexpr std::array<std::string_view, 1> names{"out"};
    static auto fields(auto& self) { return std::tie(self.out); }
  };

  [[nodiscard]] static std::vector<Shape> input_shapes(std::size_t size, Parameters const& parameters) {
    return {matrix_shape(size, parameters.rows)};
  }
  [[nodiscard]] static std::vector<Shape> output_shapes(std::vector<Shape> const& input, Parameters const&) {
    return {{input[0][1], input[0][0]}};
  }

  template <class T>
  [[nodiscard]] static T element(std::size_t field, std::size_t index, std::uint64_t seed, Parameters const&) {
    return random_value<T>(seed, field, index);
  }

  [[nodiscard]] static Work work(std::vector<Shape> const& input, Parameters const&, DType dtype) {
    return {.bytes = 2 * static_cast<double>(count_of(input[0])) * static_cast<double>(size_of(dtype)), .flops = 0};
  }

  /// Nothing is computed.
  [[nodiscard]] static double rounding_steps(std::vector<Shape> const&, Parameters const&) { return 0; }

  template <class T>
  [[nodiscard]] static std::vector<ExpectedField> reference(Input<T, Kokkos::HostSpace> const& input);
};

}  // namespace tessera::transpose
