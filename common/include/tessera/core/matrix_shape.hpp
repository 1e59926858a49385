#pragma once
/// \file
/// Computes extents from --size: of a matrix, for all mini-apps on `[rows, cols]`, or of fields that share extents.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>

#include <tessera/core/types.hpp>

namespace tessera {

/// Returns the largest s with s^degree <= size. \param degree 1 to 3
[[nodiscard]] inline std::size_t root_of(std::size_t size, int degree) {
  if (size == 0 || degree == 1) return size;
  // By division: the power itself may not fit into 64 bits.
  auto const fits = [=](std::size_t s) { return s <= (degree == 2 ? size / s : size / s / s); };
  double const root = degree == 2 ? std::sqrt(static_cast<double>(size)) : std::cbrt(static_cast<double>(size));
  auto side = std::max<std::size_t>(1, static_cast<std::size_t>(root));
  while (!fits(side)) --side;  // the root was rounded
  while (fits(side + 1)) ++side;
  return side;
}

/// What a size leaves for the extents that are not given.
struct OpenExtents {
  std::size_t product;  ///< the size divided by the given extents; at least 1, or 0 if the size is 0
  int count;            ///< number of the others
};

/// \param extents 0: not given
[[nodiscard]] inline OpenExtents open_extents(std::size_t size, std::initializer_list<std::int64_t> extents) {
  OpenExtents open{size, 0};
  for (std::int64_t const extent : extents) {
    if (extent == 0) ++open.count;
    if (extent > 0) open.product /= static_cast<std::size_t>(extent);
  }
  if (size > 0) open.product = std::max<std::size_t>(1, open.product);
  return open;
}

/// Returns [rows, size / rows], rounded down. If `rows` is 0, it is the largest possible number of rows that does not
/// exceed the number of columns; it is a power of two if the size is one. Throws UserError if `rows` exceeds `size`.
///
/// Example: 2^5 -> [4, 8]; 30 -> [5, 6]; 31 in 4 rows -> [4, 7].
[[nodiscard]] inline Shape matrix_shape(std::size_t size, std::int64_t rows) {
  if (rows > 0) {
    auto const count = static_cast<std::size_t>(rows);
    if (count > size && size > 0) {
      throw UserError("--rows " + std::to_string(rows) + " is more than --size " + std::to_string(size) +
                      " (a row has at least one element); choose fewer rows or a larger size");
    }
    return {count, size / count};
  }
  if (size == 0) return {0, 0};
  std::size_t const root = root_of(size, 2);
  std::size_t const side = std::has_single_bit(size) ? std::bit_floor(root) : root;
  return {side, size / side};
}

}  // namespace tessera
