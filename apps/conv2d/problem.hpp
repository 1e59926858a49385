#pragma once
/// \file
/// conv2d: out[y, x] = sum of in[y + ky, x + kx] * k[ky, kx].

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include <tessera/core/info.hpp>
#include <tessera/core/matrix_shape.hpp>
#include <tessera/core/parameters.hpp>
#include <tessera/core/random.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>
#include <tessera/ranks/halo.hpp>

namespace tessera::conv2d {

struct Conv2d {
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

  static constexpr std::array data = data_kinds;
  static constexpr int exact_reference_doubles = 1;

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
  struct Output {
    Array<T**, Memory> out;

    static constexpr std::array<std::string_view, 1> names{"out"};
    static auto fields(auto& self) { return std::tie(self.out); }
  };

  /// `size` is the number of elements of `in`.
  [[nodiscard]] static std::vector<Shape> input_shapes(std::size_t size, Parameters const& parameters) {
    return {matrix_shape(size, parameters.rows),
            {static_cast<std::size_t>(parameters.kernel_rows), static_cast<std::size_t>(parameters.kernel_cols)}};
  }

  /// Throws UserError if k has no elements.
  [[nodiscard]] static std::vector<Shape> output_shapes(std::vector<Shape> const& input, Parameters const&);

  /// Exact: positive whole numbers, up to 16 in k.
  template <class T>
  [[nodiscard]] static T element(Draw const& draw, Parameters const&) {
    if (draw.data != DataKind::exact) return drawn<T>(draw);
    if (draw.field == 1) return static_cast<T>(Sparsity{1, 16}.dense(draw.seed, draw.field, 0, draw.index));
    return static_cast<T>(Sparsity::of(draw.terms, 16).value(draw.seed, draw.field, 0, draw.index));
  }

  /// Bytes of `in`, `k` and `out`; a multiplication and an addition per product. Products beyond the edges do not
  /// count.
  [[nodiscard]] static Work work(std::vector<Shape> const& input, Parameters const&, DType dtype);

  /// Any order: a product, then the additions of all other products (adding to zero is exact); or as many fused
  /// multiply-adds.
  [[nodiscard]] static double rounding_steps(std::vector<Shape> const& input, Parameters const&);

  /// How several ranks share the input.
  [[nodiscard]] static std::vector<Split> input_split(Parameters const&) { return {Split::rows, Split::whole}; }
  [[nodiscard]] static std::vector<Split> output_split(Parameters const&) { return {Split::rows}; }
  [[nodiscard]] static ranks::Reach reach(std::vector<Shape> const& input, Parameters const&) {
    return {.behind = input[1][0] - 1};
  }

  template <class T>
  [[nodiscard]] static std::vector<ExpectedField> reference(Input<T, Kokkos::HostSpace> const& input);
};

}  // namespace tessera::conv2d
