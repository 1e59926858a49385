/// \file
/// The oracle of top_k: std::partial_sort. The candidates of a row are the best of its parts, which all host cores find
/// side by side; of many rows, each core takes some.
///
/// Error bound: none. Elements are moved unchanged, and there is one right result (scale 0, no roundings).

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "problem.hpp"

#include <tessera/core/host_threads.hpp>
#include <tessera/table/references.hpp>

namespace tessera::top_k {

namespace {

template <class T>
struct Item {
  T value;
  std::int64_t index;
};

// Whether an item comes first, by the definition: NaN, then the larger value, then the lower index.
template <class T>
bool precedes(Item<T> const& a, Item<T> const& b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a.value) != std::isnan(b.value)) return std::isnan(a.value);
  }
  if (a.value > b.value || a.value < b.value) return a.value > b.value;
  return a.index < b.index;
}

template <class T>
void keep_best(std::vector<Item<T>>& items, std::size_t k) {
  std::size_t const kept = std::min(k, items.size());
  std::partial_sort(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(kept), items.end(), precedes<T>);
  items.resize(kept);
}

// Returns the best of elements [begin, end) of a row.
template <class T>
std::vector<Item<T>> best_of(T const* row, std::size_t begin, std::size_t end, std::size_t k) {
  std::vector<Item<T>> items(end - begin);
  for (std::size_t i = begin; i < end; ++i) items[i - begin] = {row[i], static_cast<std::int64_t>(i)};
  keep_best(items, k);
  return items;
}

template <class T>
std::vector<Item<T>> best_of_row(T const* row, std::size_t n, std::size_t k) {
  std::size_t const part_size = std::max(part_elements(), 4 * k);  // of each part, at most a quarter is kept
  std::vector<std::vector<Item<T>>> parts(blocks_in(n, part_size));
  for_blocks(n, part_size,
             [&](std::size_t part, std::size_t begin, std::size_t end) { parts[part] = best_of(row, begin, end, k); });
  std::vector<Item<T>> items;
  for (std::vector<Item<T>> const& part : parts) items.insert(items.end(), part.begin(), part.end());
  keep_best(items, k);
  return items;
}

template <class T>
ExpectedField moved(std::string const& name, Shape const& shape, std::vector<T> elements) {
  auto const owner = std::make_shared<std::vector<T>>(std::move(elements));
  ExpectedField field{.name = name, .shape = shape, .value = {}, .scale = {}};
  if (!owner->empty()) field.moved = {name, dtype_of<T>, field.shape, {owner, owner->data()}};
  return field;
}

}  // namespace

template <class T>
std::vector<ExpectedField> TopK::reference(Input<T, Kokkos::HostSpace> const& input) {
  std::size_t const rows = input.in.extent(0);
  std::size_t const n = input.in.extent(1);
  Shape const shape = output_shapes({{rows, n}}, input.parameters)[0];
  std::size_t const k = shape[1];
  std::vector<T> values(rows * k);
  std::vector<std::int64_t> indices(rows * k);
  std::size_t const rows_at_once = std::max<std::size_t>(1, part_elements() / std::max<std::size_t>(1, n));
  for_blocks(k > 0 ? rows : 0, rows_at_once, [&](std::size_t, std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      std::vector<Item<T>> const best = best_of_row(input.in.data() + row * n, n, k);
      for (std::size_t i = 0; i < k; ++i) {
        values[row * k + i] = best[i].value;
        indices[row * k + i] = best[i].index;
      }
    }
  });
  return list_of(moved("values", shape, std::move(values)), moved("indices", shape, std::move(indices)));
}

}  // namespace tessera::top_k

template struct tessera::References<tessera::top_k::TopK>;
