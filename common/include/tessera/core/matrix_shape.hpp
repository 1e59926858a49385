#pragma once
/// \file
/// Computes the extents of a matrix from --size, for all mini-apps on `[rows, cols]`.

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include <tessera/core/types.hpp>

namespace tessera {

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
  auto side = static_cast<std::size_t>(std::sqrt(static_cast<double>(size)));
  while (side * side > size) --side;  // the square root may have been rounded up
  if (std::has_single_bit(size)) side = std::bit_floor(side);
  return {side, size / side};
}

}  // namespace tessera
