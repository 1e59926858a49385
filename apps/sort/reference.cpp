/// \file
/// The oracle of sort: std::stable_sort of parts on all host cores, then passes of stable merges. In each pass a part
/// of the result is the merge of a part of two sorted runs, which a binary search finds.
///
/// Error bound: none. Keys and values are moved unchanged, and a stable sort has one result (scale 0, no roundings).

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "problem.hpp"

#include <tessera/core/host_threads.hpp>
#include <tessera/table/references.hpp>
#include <tessera/verify/moved_keys.hpp>

namespace tessera::sort {

namespace {

// Whether one key must come before another, by the definition.
template <class T>
class Precedes {
 public:
  explicit Precedes(Parameters const& parameters)
      : descending_(parameters.descending),
        all_bits_(!parameters.by_some_bits<T>()),
        begin_(static_cast<int>(parameters.begin_bit)),
        count_(parameters.last_bit(8 * static_cast<int>(sizeof(T))) - begin_) {}

  bool operator()(T a, T b) const {
    if (!all_bits_) return digits(a) < digits(b);
    return verify::key_before(a, b, descending_);
  }

 private:
  using Word = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

  // The bits that count of the key's rank: how many keys of its type are less than it (NaN: all bits set).
  [[nodiscard]] Word digits(T key) const {
    constexpr Word half = Word{1} << (8 * sizeof(T) - 1);
    Word rank = 0;
    if constexpr (std::is_floating_point_v<T>) {
      auto const magnitude = std::bit_cast<Word>(std::abs(key));
      rank = key < 0 ? half - 1 - magnitude : half + magnitude;
      if (std::isnan(key)) return low_bits(std::numeric_limits<Word>::max());
    } else if constexpr (std::is_signed_v<T>) {
      rank = static_cast<Word>(key) + half;
    } else {
      rank = key;
    }
    return low_bits(descending_ ? std::numeric_limits<Word>::max() - rank : rank);
  }
  [[nodiscard]] Word low_bits(Word rank) const {
    Word const shifted = rank >> begin_;
    return count_ == 8 * static_cast<int>(sizeof(T)) ? shifted : shifted % (Word{1} << count_);
  }

  bool descending_;
  bool all_bits_;
  int begin_;
  int count_;
};

// Returns how many of the first `count` items of the merge of two sorted runs are from the first run. Equal items of
// the first run come first.
template <class Item, class Less>
std::size_t from_first(Item const* first, std::size_t n1, Item const* second, std::size_t n2, std::size_t count,
                       Less const& less) {
  std::size_t low = count - std::min(count, n2);
  std::size_t high = std::min(count, n1);
  while (low < high) {
    std::size_t const middle = low + (high - low) / 2;
    if (less(second[count - 1 - middle], first[middle])) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

template <class Item, class Less>
std::vector<Item> sorted(std::vector<Item> items, Less const& less) {
  std::size_t const n = items.size();
  std::size_t const part = part_elements();
  for_blocks(n, part, [&](std::size_t, std::size_t begin, std::size_t end) {
    std::stable_sort(items.data() + begin, items.data() + end, less);
  });
  std::vector<Item> merged(n > part ? n : 0);
  for (std::size_t run = part; run < n; run *= 2) {
    for_blocks(n, part, [&](std::size_t, std::size_t begin, std::size_t end) {
      // Blocks of one part divide pairs of runs, which begin at multiples of a part.
      std::size_t const pair = begin / (2 * run) * (2 * run);
      Item const* const first = items.data() + pair;
      std::size_t const n1 = std::min(run, n - pair);
      std::size_t const n2 = std::min(run, n - pair - n1);
      Item const* const second = first + n1;
      std::size_t const a = from_first(first, n1, second, n2, begin - pair, less);
      std::size_t const b = from_first(first, n1, second, n2, end - pair, less);
      std::merge(first + a, first + b, second + (begin - pair - a), second + (end - pair - b), merged.data() + begin,
                 less);
    });
    items.swap(merged);
  }
  return items;
}

template <class T, class V>
struct Pair {
  T key;
  V value;
};

template <class Body>
void for_parts(std::size_t n, Body const& body) {
  for_blocks(n, part_elements(), [&](std::size_t, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) body(i);
  });
}

// Sorts keys and values, which move together, with memory for two copies of both.
template <class T, class V>
void sort_pairs(std::vector<T>& keys, std::vector<V>& values, Precedes<T> const& precedes) {
  std::vector<Pair<T, V>> pairs(keys.size());
  for_parts(pairs.size(), [&](std::size_t i) { pairs[i] = {keys[i], values[i]}; });
  keys = {};
  values = {};
  pairs = sorted(std::move(pairs), [&](Pair<T, V> const& a, Pair<T, V> const& b) { return precedes(a.key, b.key); });
  keys.resize(pairs.size());
  values.resize(pairs.size());
  for_parts(pairs.size(), [&](std::size_t i) {
    keys[i] = pairs[i].key;
    values[i] = pairs[i].value;
  });
}

template <class View>
[[nodiscard]] std::vector<typename View::non_const_value_type> copy_of(View const& view) {
  std::vector<typename View::non_const_value_type> copy(view.extent(0));
  for_parts(copy.size(), [&](std::size_t i) { copy[i] = view(i); });
  return copy;
}

}  // namespace

template <class T>
std::vector<ExpectedField> Sort::reference(Input<T, Kokkos::HostSpace> const& input) {
  Precedes<T> const precedes(input.parameters);
  std::vector<T> keys = copy_of(input.keys);
  std::vector<ValueOf<T>> values = copy_of(input.values);
  std::vector<OtherValueOf<T>> other_values = copy_of(input.other_values);
  if (!values.empty()) {
    sort_pairs(keys, values, precedes);
  } else if (!other_values.empty()) {
    sort_pairs(keys, other_values, precedes);
  } else {
    keys = sorted(std::move(keys), precedes);  // keys only need half the memory
  }
  return list_of(verify::moved("keys", std::move(keys)), verify::moved("values", std::move(values)),
                 verify::moved("other_values", std::move(other_values)));
}

}  // namespace tessera::sort

template struct tessera::References<tessera::sort::Sort>;
