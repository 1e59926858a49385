/// \file
/// The serial oracle of partition: each segment read twice, once to count and once to place.
///
/// Error bound: none. Values are moved as they are and counts are integers, so that every variant must give the same
/// numbers (scale 0, no roundings). A NaN is less than nothing, so it goes right, in its place among the others.

#include <algorithm>
#include <cstdint>
#include <utility>

#include "problem.hpp"

namespace tessera::partition {

template <class T>
std::vector<ExpectedField> Partition::reference(Input<T, Kokkos::HostSpace> const& input) {
  std::size_t const n = input.in.extent(0);
  std::size_t const segments = input.parameters.segments(n);
  std::size_t const length = input.parameters.segment == 0 ? n : input.parameters.segment;
  double const pivot = input.parameters.pivot;
  T const* const in = input.in.data();
  ExpectedField values{.name = "values", .shape = {n}, .value = std::vector<double>(n), .scale = {}};
  ExpectedField counts{.name = "left_count", .shape = {segments}, .value = std::vector<double>(segments), .scale = {}};
  double* const out = values.value.data();
  for (std::size_t s = 0; s < segments; ++s) {
    std::size_t const begin = s * length;
    std::size_t const end = n - begin < length ? n : begin + length;
    std::size_t lefts = 0;
    for (std::size_t i = begin; i < end; ++i) lefts += static_cast<double>(in[i]) < pivot ? 1 : 0;
    counts.value[s] = static_cast<double>(lefts);
    // Without a branch, which no processor could predict.
    std::size_t left = begin;
    std::size_t right = begin + lefts;
    for (std::size_t i = begin; i < end; ++i) {
      auto const x = static_cast<double>(in[i]);
      std::size_t const is_left = x < pivot ? 1 : 0;
      out[is_left != 0 ? left : right] = x;
      left += is_left;
      right += 1 - is_left;
    }
  }
  return list_of(std::move(values), std::move(counts));
}

template std::vector<ExpectedField> Partition::reference(Input<float, Kokkos::HostSpace> const&);
template std::vector<ExpectedField> Partition::reference(Input<double, Kokkos::HostSpace> const&);
template std::vector<ExpectedField> Partition::reference(Input<std::int32_t, Kokkos::HostSpace> const&);

}  // namespace tessera::partition
