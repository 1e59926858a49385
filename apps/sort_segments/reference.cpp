/// \file
/// The oracle of sort_segments: std::stable_sort of one segment after the other, on all host cores.
///
/// Error bound: none. Keys and values are moved unchanged, and a stable sort has one result (scale 0, no roundings).

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "problem.hpp"

#include <tessera/core/host_threads.hpp>
#include <tessera/table/references.hpp>
#include <tessera/verify/moved_keys.hpp>

namespace tessera::sort_segments {

template <class T>
std::vector<ExpectedField> SortSegments::reference(Input<T, Kokkos::HostSpace> const& input) {
  struct Pair {
    T key;
    std::int32_t value;
  };
  bool const descending = input.parameters.descending;
  bool const with_values = input.values.extent(0) > 0;
  std::vector<T> keys(input.keys.extent(0));
  std::vector<std::int32_t> values(input.values.extent(0));
  // Few segments at a time, because one may be huge.
  for_blocks(input.offsets.extent(0) - 1, 64, [&](std::size_t, std::size_t first, std::size_t last) {
    std::vector<Pair> pairs;
    for (std::size_t row = first; row < last; ++row) {
      auto const begin = static_cast<std::size_t>(input.offsets(row));
      auto const end = static_cast<std::size_t>(input.offsets(row + 1));
      pairs.clear();
      for (std::size_t i = begin; i < end; ++i) pairs.push_back({input.keys(i), with_values ? input.values(i) : 0});
      std::stable_sort(pairs.begin(), pairs.end(),
                       [&](Pair const& a, Pair const& b) { return verify::key_before(a.key, b.key, descending); });
      for (std::size_t i = begin; i < end; ++i) {
        keys[i] = pairs[i - begin].key;
        if (with_values) values[i] = pairs[i - begin].value;
      }
    }
  });
  return list_of(verify::moved("keys", std::move(keys)), verify::moved("values", std::move(values)));
}

}  // namespace tessera::sort_segments

template struct tessera::References<tessera::sort_segments::SortSegments>;
