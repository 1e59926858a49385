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

/// The rows (first dimension) of a field of that shape that this rank has.
[[nodiscard]] inline Block rows_of(Shape const& whole, Split split, Ranks const& ranks) {
  if (whole.empty()) return {0, 1};
  return split == Split::whole ? Block{0, whole.front()} : ranks.block(whole.front());
}

/// Elements of one row of the field.
[[nodiscard]] inline std::size_t row_elements(Shape const& whole) {
  return whole.empty() ? 1 : count_of(Shape(whole.begin() + 1, whole.end()));
}

}  // namespace tessera::ranks
