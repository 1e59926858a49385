#pragma once
/// \file
/// matmul: c[M, N] = a[M, K] b[K, N].

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <tessera/collective/accumulator.hpp>
#include <tessera/core/info.hpp>
#include <tessera/core/matrix_shape.hpp>
#include <tessera/core/parameters.hpp>
#include <tessera/core/random.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>
#include <tessera/ranks/part.hpp>

namespace tessera::matmul {

struct Matmul {
  static constexpr AppInfo info{.name = "matmul",
                                .summary = "c[i, j] = sum_k a[i, k] * b[k, j]",
                                .traffic = {.pattern = Traffic::Pattern::panels, .launches = 2}};

  struct Parameters {
    std::int64_t m = 0;
    std::int64_t n = 0;
    std::int64_t k = 0;
    std::int64_t tile = 0;
    std::int64_t team = 0;
    std::int64_t grid_rows = 0;

    [[nodiscard]] static MemberSpecs<Parameters> specs() {
      std::string const from_size = "; 0: from --size = m * n * k multiply-adds";
      return {
          {&Parameters::m, extent_parameter("m", "rows of the generated a and c" + from_size)},
          {&Parameters::n, extent_parameter("n", "columns of the generated b and c" + from_size)},
          {&Parameters::k, extent_parameter("k", "columns of the generated a and rows of b" + from_size)},
          {&Parameters::tile,
           tile_parameter("edge of the tiled variants' square tiles, up to 32; 0: the variant's choice", 1 << 20)},
          {&Parameters::team, team_parameter()},
          {&Parameters::grid_rows,
           {.name = "grid-rows",
            .help =
                "distributed: rows of its grid of ranks, a divisor of the number of ranks; 0: the grid that sends the "
                "least",
            .minimum = 0,
            .maximum = 1 << 20,
            .of_ranks = true}}};
    }
  };

  static constexpr std::array data = data_kinds;

  /// a [M, K], b [K, N].
  template <class T, class Memory>
  struct Input {
    Array<T const**, Memory> a;
    Array<T const**, Memory> b;
    Parameters parameters;

    static constexpr std::array<std::string_view, 2> names{"a", "b"};
    static auto fields(auto& self) { return std::tie(self.a, self.b); }
  };

  /// c [M, N].
  template <class T, class Memory>
  struct Output {
    Array<T**, Memory> c;

    static constexpr std::array<std::string_view, 1> names{"c"};
    static auto fields(auto& self) { return std::tie(self.c); }
  };

  /// `size` is the number of multiply-adds, M N K. It is divided by the extents that are given; the other extents are
  /// equal, or nearly equal. Example: 2^24 -> M = N = K = 256; with m = 1 and k = 0, n = 0 -> N = K = 4096.
  [[nodiscard]] static std::vector<Shape> input_shapes(std::size_t size, Parameters const& parameters) {
    OpenExtents const open = open_extents(size, {parameters.m, parameters.n, parameters.k});
    std::size_t const side = open.count > 0 ? root_of(open.product, open.count) : 0;
    auto const extent = [side](std::int64_t given) { return given > 0 ? static_cast<std::size_t>(given) : side; };
    std::size_t const m = extent(parameters.m);
    std::size_t const n = extent(parameters.n);
    std::size_t const k = extent(parameters.k);
    return {{m, k}, {k, n}};
  }

  /// Throws UserError if the inner extents differ.
  [[nodiscard]] static std::vector<Shape> output_shapes(std::vector<Shape> const& input, Parameters const&) {
    if (input[0][1] != input[1][0]) {
      throw UserError("a has shape " + to_string(input[0]) + " and b " + to_string(input[1]) +
                      " (a row of a is multiplied by a column of b); give a as many columns as b has rows");
    }
    return {{input[0][0], input[1][1]}};
  }

  /// Exact: positive whole numbers, up to 16 in b.
  template <class T>
  [[nodiscard]] static T element(Draw const& draw, Parameters const&) {
    if (draw.data != DataKind::exact) return drawn<T>(draw);
    if (draw.field == 1) return static_cast<T>(Sparsity{1, 16}.dense(draw.seed, draw.field, 0, draw.index));
    std::size_t const inner = draw.shapes->at(0)[1];
    Sparsity const sparsity = Sparsity::of(draw.terms, 16);
    return static_cast<T>(sparsity.value(draw.seed, draw.field, draw.index / inner, draw.index % inner));
  }

  [[nodiscard]] static Work work(std::vector<Shape> const& input, Parameters const&, DType dtype) {
    double const m = static_cast<double>(input[0][0]);
    double const k = static_cast<double>(input[0][1]);
    double const n = static_cast<double>(input[1][1]);
    return {.bytes = (m * k + k * n + m * n) * static_cast<double>(size_of(dtype)), .flops = 2 * m * n * k};
  }

  /// Any order: a product, then K - 1 additions one after the other (adding to zero is exact); or K fused
  /// multiply-adds.
  [[nodiscard]] static double rounding_steps(std::vector<Shape> const& input, Parameters const&) {
    return static_cast<double>(input[0][1]);
  }

  /// On several ranks a, b and c lie in blocks of rows and columns over one grid of ranks.
  [[nodiscard]] static std::vector<Split> input_split(Parameters const&) { return {Split::grid, Split::grid}; }
  [[nodiscard]] static std::vector<Split> output_split(Parameters const&) { return {Split::grid}; }
  /// Returns the grid of all ranks that moves the fewest elements and, if possible, gives every rank a part of c. If
  /// parameters.grid_rows is given, the grid has this many rows; throws UserError if it does not divide `ranks`.
  [[nodiscard]] static ranks::Grid grid(std::vector<Shape> const& input, Parameters const& parameters, int ranks) {
    auto const m = static_cast<double>(input[0][0]);
    auto const n = static_cast<double>(input[1][1]);
    if (parameters.grid_rows > 0) {
      auto const rows = static_cast<int>(parameters.grid_rows);
      if (ranks % rows != 0) {
        throw UserError("--grid-rows " + std::to_string(rows) + " on " + std::to_string(ranks) +
                        " ranks (all rows of a grid have the same number of ranks); choose a divisor of " +
                        std::to_string(ranks) + ", or 0");
      }
      return {.down = rows, .across = ranks / rows};
    }
    ranks::Grid best{};
    double least = 0;
    bool best_is_full = false;
    for (int down = 1; down <= ranks; ++down) {
      if (ranks % down != 0) continue;
      int const across = ranks / down;
      // Each rank gets the other ranks' parts of a in its row of the grid, and their parts of b in its column.
      double const moved = m * (across - 1) + n * (down - 1);
      bool const is_full = down <= m && across <= n;
      if (best.down == 0 || (is_full && !best_is_full) || (is_full == best_is_full && moved < least)) {
        best = {.down = down, .across = across};
        least = moved;
        best_is_full = is_full;
      }
    }
    return best;
  }
  /// A block of c needs its rows of a and its columns of b.
  [[nodiscard]] static std::vector<ranks::Box> needs(std::vector<Shape> const& input,
                                                     std::vector<ranks::Box> const& output) {
    return {{output[0].rows, {0, input[0][1]}}, {{0, input[1][0]}, output[0].cols}};
  }

  template <class T>
  [[nodiscard]] static std::vector<ExpectedField> reference(Input<T, Kokkos::HostSpace> const& input);
};

using collective::Accumulator;

}  // namespace tessera::matmul
