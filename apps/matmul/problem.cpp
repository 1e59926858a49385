/// \file
/// The shapes of matmul that --size stands for, and its grid of ranks.

#include <string>
#include <vector>

#include "problem.hpp"

#include <tessera/core/matrix_shape.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::matmul {

std::vector<Shape> Matmul::input_shapes(std::size_t size, Parameters const& parameters) {
  OpenExtents const open = open_extents(size, {parameters.m, parameters.n, parameters.k});
  std::size_t const side = open.count > 0 ? root_of(open.product, open.count) : 0;
  auto const extent = [side](std::int64_t given) { return given > 0 ? static_cast<std::size_t>(given) : side; };
  std::size_t const m = extent(parameters.m);
  std::size_t const n = extent(parameters.n);
  std::size_t const k = extent(parameters.k);
  return {{m, k}, {k, n}};
}

ranks::Grid Matmul::grid(std::vector<Shape> const& input, Parameters const& parameters, int ranks) {
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

std::vector<Shape> Matmul::output_shapes(std::vector<Shape> const& input, Parameters const&) {
  if (input[0][1] != input[1][0]) {
    throw UserError("a has shape " + to_string(input[0]) + " and b " + to_string(input[1]) +
                    " (a row of a is multiplied by a column of b); give a as many columns as b has rows");
  }
  return {{input[0][0], input[1][1]}};
}

}  // namespace tessera::matmul
