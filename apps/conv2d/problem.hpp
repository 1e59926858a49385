#pragma once
/// \file
/// conv2d: out[y, x] = sum of in[y + ky, x + kx] * k[ky, kx].

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include <tessera/core/convolution_problem.hpp>
#include <tessera/core/info.hpp>
#include <tessera/core/matrix_shape.hpp>
#include <tessera/core/parameters.hpp>
#include <tessera/core/single_array.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>
#include <tessera/ranks/halo.hpp>

namespace tessera::conv2d {

struct Conv2d : ConvolutionProblem {
  static constexpr AppInfo info{.name = "conv2d",
                                .summary = "out[y, x] = sum_ky,kx in[y + ky, x + kx] * k[ky, kx]",
                                .traffic = {.pattern = Traffic::Pattern::halo, .launches = 2}};

  struct Parameters {
    std::int64_t rows = 0;
    std::int64_t kernel_rows = 3;
    std::int64_t kernel_cols = 3;
    std::int64_t team = 0;

    [[nodiscard]] static MemberSpecs<Parameters> specs() {
      return {{&Parameters::rows, rows_parameter()},
              {&Parameters::kernel_rows, extent_parameter("kernel-rows", "rows of the generated k", 1, 1 << 20)},
              {&Parameters::kernel_cols, extent_parameter("kernel-cols", "columns of the generated k", 1, 1 << 20)},
              {&Parameters::team, team_parameter()}};
    }
  };

  /// in [H, W], k [Ky, Kx].
  template <class T, class Memory>
  struct Input {
    Array<T const**, Memory> in;
    Array<T const**, Memory> k;
    Parameters parameters;

    static constexpr std::array<std::string_view, 2> names{"in", "k"};
    static auto fields(auto& self) { return std::tie(self.in, self.k); }
  };

  /// out [H, W].
  template <class T, class Memory>
  using Output = SingleOutput<T**, Memory>;

  /// `size` is the number of elements of `in`.
  [[nodiscard]] static std::vector<Shape> input_shapes(std::size_t size, Parameters const& parameters) {
    return {matrix_shape(size, parameters.rows),
            {static_cast<std::size_t>(parameters.kernel_rows), static_cast<std::size_t>(parameters.kernel_cols)}};
  }

  /// Any order: a product, then the additions of all other products (adding to zero is exact); or as many fused
  /// multiply-adds.
  [[nodiscard]] static double rounding_steps(std::vector<Shape> const& input, Parameters const&) {
    return static_cast<double>(std::min(input[0][0], input[1][0])) *
           static_cast<double>(std::min(input[0][1], input[1][1]));
  }

  [[nodiscard]] static ranks::Reach reach(std::vector<Shape> const& input, Parameters const&) {
    return {.behind = input[1][0] - 1};
  }

  template <class T>
  [[nodiscard]] static std::vector<ExpectedField> reference(Input<T, Kokkos::HostSpace> const& input);
};

}  // namespace tessera::conv2d
