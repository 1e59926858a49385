#pragma once
/// \file
/// What lies where on several ranks, for a Plan of level `ranks`.

#include <algorithm>
#include <cstddef>
#include <vector>

#include <tessera/core/info.hpp>
#include <tessera/core/types.hpp>
#include <tessera/ranks/ranks.hpp>

namespace tessera::ranks {

/// What a Plan of level `ranks` is told besides its own part of the input.
struct Part {
  Ranks const& ranks;
  std::vector<Shape> input;  ///< shapes of the whole input fields, of all ranks together
};

/// What of a field lies in one place: some rows (of its first dimension), and of each the same of its elements.
struct Box {
  Block rows;
  Block cols;
  [[nodiscard]] std::size_t size() const { return rows.size() * cols.size(); }
};

/// Ranks in rows and columns: rank r is in row r / across, column r % across. Grid{} is none.
struct Grid {
  int down = 0;
  int across = 0;
  friend bool operator==(Grid const&, Grid const&) = default;
};

/// The rows (first dimension) of a field of that shape that this rank has.
[[nodiscard]] inline Block rows_of(Shape const& whole, Split split, Ranks const& ranks) {
  if (whole.empty()) return {0, 1};
  return split != Split::rows ? Block{0, whole.front()} : ranks.block(whole.front());
}

/// Elements of one row of the field.
[[nodiscard]] inline std::size_t row_elements(Shape const& whole) {
  return whole.empty() ? 1 : count_of(Shape(whole.begin() + 1, whole.end()));
}

/// All of a field.
[[nodiscard]] inline Box whole_box(Shape const& whole) {
  return {{0, whole.empty() ? 1 : whole.front()}, {0, row_elements(whole)}};
}

/// What this rank has of a field of that shape. `grid` is that of Split::grid, of as many ranks as there are.
[[nodiscard]] inline Box box_of(Shape const& whole, Split split, Grid const& grid, Ranks const& ranks) {
  if (split != Split::grid) return {rows_of(whole, split, ranks), {0, row_elements(whole)}};
  return {block_of(whole.front(), grid.down, ranks.rank() / grid.across),
          block_of(row_elements(whole), grid.across, ranks.rank() % grid.across)};
}

/// The shape of that part of a field; only a matrix is cut between columns.
[[nodiscard]] inline Shape shape_of(Box const& box, Shape whole) {
  if (whole.empty()) return whole;
  whole.front() = box.rows.size();
  if (whole.size() == 2) whole.back() = box.cols.size();
  return whole;
}

}  // namespace tessera::ranks
