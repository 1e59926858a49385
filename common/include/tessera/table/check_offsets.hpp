#pragma once
/// \file
/// The check of the offsets of a file: mini-apps on segments of any lengths.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <tessera/table/app.hpp>

namespace tessera {

namespace detail {

inline std::string offset_text(std::size_t r, std::int64_t value) {
  return "offsets[" + std::to_string(r) + "] is " + std::to_string(value);
}

}  // namespace detail

/// Throws UserError if the field `offsets` of a file does not begin with 0, falls, or does not end with the number of
/// elements of the field `of`.
inline void check_offsets(FieldSource const& source, FieldSpec const& of) {
  FieldSpec const field{.name = "offsets", .rank = 1, .dtype = DType::int64};
  std::size_t const count = source.shape(field)[0];
  auto const n = static_cast<std::int64_t>(source.shape(of)[0]);
  std::size_t const at_a_time = std::size_t{1} << 20;
  std::vector<std::int64_t> some;
  std::int64_t before = 0;
  for (std::size_t begin = 0; begin < count; begin += at_a_time) {
    some.resize(std::min(at_a_time, count - begin));
    source.read_rows(field, begin, some.size(), some.data());
    for (std::size_t i = 0; i < some.size(); ++i) {
      std::size_t const r = begin + i;
      std::int64_t const value = some[i];
      if (r == 0 && value != 0) {
        throw UserError(detail::offset_text(r, value) + " (the first segment begins at 0); correct it");
      }
      if (value < before) {
        throw UserError(detail::offset_text(r, value) + ", less than " + detail::offset_text(r - 1, before) +
                        " (offsets must not fall); correct them");
      }
      if (value > n || (r + 1 == count && value != n)) {
        throw UserError(detail::offset_text(r, value) + ", and " + std::string(of.name) + " has " + std::to_string(n) +
                        " elements (the last offset is this number, and none is larger); correct it");
      }
      before = value;
    }
  }
}

}  // namespace tessera
