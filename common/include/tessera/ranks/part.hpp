#pragma once
/// \file
/// The distribution of fields over ranks, for a Plan of level `ranks`.

#include <cstddef>
#include <vector>

#include <tessera/core/info.hpp>
#include <tessera/core/types.hpp>
#include <tessera/ranks/ranks.hpp>

namespace tessera::ranks {

/// The argument of a Plan of level `ranks`, in addition to its own part of the input.
struct Part {
  Ranks const& ranks;
  std::vector<Shape> input;  ///< shapes of the whole input fields of all ranks together
};

/// The part of a field in one place: a range of rows (of its first dimension), and the same range of elements in each
/// row.
struct Box {
  Block rows;
  Block cols;
  [[nodiscard]] std::size_t size() const { return rows.size() * cols.size(); }
};

/// A grid of ranks: rank r is in row r / across and column r % across. Grid{} is no grid.
struct Grid {
  int down = 0;
  int across = 0;
  friend bool operator==(Grid const&, Grid const&) = default;
};

/// Returns the rows (first dimension) of a field of that shape that this rank has.
[[nodiscard]] inline Block rows_of(Shape const& whole, Split split, Ranks const& ranks) {
  if (whole.empty()) return {0, 1};
  return split != Split::rows ? Block{0, whole.front()} : ranks.block(whole.front());
}

/// Returns the number of elements in one row of the field.
[[nodiscard]] inline std::size_t row_elements(Shape const& whole) {
  return whole.empty() ? 1 : count_of(Shape(whole.begin() + 1, whole.end()));
}

/// Returns the box that is the whole field.
[[nodiscard]] inline Box whole_box(Shape const& whole) {
  return {{0, whole.empty() ? 1 : whole.front()}, {0, row_elements(whole)}};
}

/// Returns this rank's part of a field of that shape. `grid` is used for Split::grid, and has as many ranks as the run.
[[nodiscard]] inline Box box_of(Shape const& whole, Split split, Grid const& grid, Ranks const& ranks) {
  if (split != Split::grid) return {rows_of(whole, split, ranks), {0, row_elements(whole)}};
  return {block_of(whole.front(), grid.down, ranks.rank() / grid.across),
          block_of(row_elements(whole), grid.across, ranks.rank() % grid.across)};
}

/// Returns the shape of that part of a field. Only a matrix is divided between columns.
[[nodiscard]] inline Shape shape_of(Box const& box, Shape whole) {
  if (whole.empty()) return whole;
  whole.front() = box.rows.size();
  if (whole.size() == 2) whole.back() = box.cols.size();
  return whole;
}

/// Returns the position of the part's first element in a field of that shape.
[[nodiscard]] inline Shape offset_of(Box const& box, Shape const& whole) {
  Shape offset(whole.size(), 0);
  if (!whole.empty()) offset.front() = box.rows.begin;
  if (whole.size() == 2) offset.back() = box.cols.begin;
  return offset;
}

}  // namespace tessera::ranks
