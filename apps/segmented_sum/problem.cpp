/// \file
/// The check of the offsets of a file.

#include <string>
#include <vector>

#include "problem.hpp"

#include <tessera/table/app.hpp>

namespace tessera::segmented_sum {

namespace {

std::string offset(std::size_t r, std::int64_t value) {
  return "offsets[" + std::to_string(r) + "] is " + std::to_string(value);
}

}  // namespace

void SegmentedSum::check_source(DType dtype, FieldSource const& source) {
  FieldSpec const field{.name = "offsets", .rank = 1, .dtype = DType::int64};
  std::size_t const count = source.shape(field)[0];
  auto const n = static_cast<std::int64_t>(source.shape({.name = "in", .dtype = dtype})[0]);
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
        throw UserError(offset(r, value) + " (the first segment begins at 0); correct it");
      }
      if (value < before) {
        throw UserError(offset(r, value) + ", less than " + offset(r - 1, before) +
                        " (offsets must not fall); correct them");
      }
      if (value > n || (r + 1 == count && value != n)) {
        throw UserError(offset(r, value) + ", and in has " + std::to_string(n) +
                        " elements (the last segment ends there, none behind it); correct it");
      }
      before = value;
    }
  }
}

}  // namespace tessera::segmented_sum
