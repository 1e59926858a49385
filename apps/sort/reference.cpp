/// \file
/// The oracle of sort: std::stable_sort of parts on all host cores, then passes of stable merges. In each pass a part
/// of the result is the merge of a part of two sorted runs, which a binary search finds. On several ranks each rank
/// sorts its own part. Binary searches over all ranks find which items belong to which rank, and these are merged.
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

// Sorts items of which runs are sorted: they begin at `begins`, whose last entry is the end. Passes merge pairs of
// neighbours; parts of the result are merged in parallel.
template <class Item, class Less>
std::vector<Item> merged_runs(std::vector<Item> items, std::vector<std::size_t> const& begins, Less const& less) {
  std::size_t const runs = begins.size() - 1;
  std::vector<Item> merged(runs > 1 ? items.size() : 0);
  for (std::size_t together = 1; together < runs; together *= 2) {
    for_blocks(items.size(), part_elements(), [&](std::size_t, std::size_t begin, std::size_t end) {
      while (begin < end) {
        auto const run = std::upper_bound(begins.begin(), begins.end(), begin) - begins.begin() - 1;
        std::size_t const pair = static_cast<std::size_t>(run) / (2 * together) * (2 * together);
        std::size_t const origin = begins[pair];
        Item const* const first = items.data() + origin;
        std::size_t const n1 = begins[std::min(pair + together, runs)] - origin;
        std::size_t const n2 = begins[std::min(pair + 2 * together, runs)] - origin - n1;
        Item const* const second = first + n1;
        std::size_t const stop = std::min(end, origin + n1 + n2);
        std::size_t const a = from_first(first, n1, second, n2, begin - origin, less);
        std::size_t const b = from_first(first, n1, second, n2, stop - origin, less);
        std::merge(first + a, first + b, second + (begin - origin - a), second + (stop - origin - b),
                   merged.data() + begin, less);
        begin = stop;
      }
    });
    items.swap(merged);
  }
  return items;
}

template <class Item, class Less>
std::vector<Item> sorted(std::vector<Item> items, Less const& less) {
  std::size_t const n = items.size();
  std::size_t const part = part_elements();
  std::vector<std::size_t> begins;
  for (std::size_t begin = 0; begin < n; begin += part) begins.push_back(begin);
  begins.push_back(n);
  for_blocks(n, part, [&](std::size_t, std::size_t begin, std::size_t end) {
    std::stable_sort(items.data() + begin, items.data() + end, less);
  });
  return merged_runs(std::move(items), begins, less);
}

// Returns how many of this rank's sorted items are among the first `place` of all ranks. Among equal items, those of
// lower ranks come first. In each step the middle of the longest range in question, on any rank, decides about all
// ranges.
template <class Item, class Less>
std::size_t among_first(std::vector<Item> const& own, std::size_t place, Less const& less, ranks::Ranks const& ranks) {
  struct Middle {
    std::size_t width;
    Item item;
  };
  std::size_t low = 0;
  std::size_t high = own.size();
  while (true) {
    std::size_t const middle = low + (high - low) / 2;
    std::vector<Middle> const all = ranks.all_gather(Middle{high - low, high > low ? own[middle] : Item{}});
    auto const widest = std::ranges::max_element(all, {}, &Middle::width);
    if (widest->width == 0) return low;
    auto const rank = static_cast<int>(widest - all.begin());
    auto const before = ranks.rank() < rank   ? std::upper_bound(own.begin(), own.end(), widest->item, less)
                        : ranks.rank() > rank ? std::lower_bound(own.begin(), own.end(), widest->item, less)
                                              : own.begin() + static_cast<std::ptrdiff_t>(middle);
    auto const count = static_cast<std::size_t>(before - own.begin());
    if (ranks.sum(static_cast<double>(count)) < static_cast<double>(place)) {
      low = std::max(low, count + (ranks.rank() == rank ? 1 : 0));
    } else {
      high = std::min(high, count);
    }
  }
}

// Returns this rank's block of the sorted items of all ranks.
template <class Item, class Less>
std::vector<Item> sorted_on_ranks(std::vector<Item> items, Less const& less, ranks::Part const& part) {
  ranks::Ranks const& ranks = part.ranks;
  std::vector<Item> own = sorted(std::move(items), less);
  auto const count = static_cast<std::size_t>(ranks.count());
  std::vector<std::size_t> cuts;
  for (int r = 0; r < ranks.count(); ++r) {
    cuts.push_back(among_first(own, ranks::block_of(part.input[0][0], ranks.count(), r).begin, less, ranks));
  }
  cuts.push_back(own.size());
  std::vector<std::size_t> lengths(count);
  for (std::size_t r = 0; r < count; ++r) lengths[r] = cuts[r + 1] - cuts[r];
  std::vector<std::size_t> begins{0};
  for (std::vector<std::size_t> const& of_rank : ranks.all_gather(lengths)) {
    begins.push_back(begins.back() + of_rank[static_cast<std::size_t>(ranks.rank())]);
  }
  std::vector<Item> got(begins.back());
  std::vector<ranks::Message> sent;
  std::vector<ranks::Message> received;
  for (std::size_t r = 0; r < count; ++r) {
    auto const rank = static_cast<int>(r);
    sent.push_back({rank, own.data() + cuts[r], lengths[r] * sizeof(Item)});
    received.push_back({rank, got.data() + begins[r], (begins[r + 1] - begins[r]) * sizeof(Item)});
  }
  ranks.exchange(sent, received);
  own = {};
  return merged_runs(std::move(got), begins, less);
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
template <class T, class V, class Sort>
void sort_pairs(std::vector<T>& keys, std::vector<V>& values, Precedes<T> const& precedes, Sort const& sort) {
  std::vector<Pair<T, V>> pairs(keys.size());
  for_parts(pairs.size(), [&](std::size_t i) { pairs[i] = {keys[i], values[i]}; });
  keys = {};
  values = {};
  pairs = sort(std::move(pairs), [&](Pair<T, V> const& a, Pair<T, V> const& b) { return precedes(a.key, b.key); });
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

// Returns the fields in the order of `sort(items, less)`. `values`, `other_values`: any rank has some.
template <class T, class Input, class Sort>
std::vector<ExpectedField> sorted_fields(Input const& input, bool has_values, bool has_other_values, Sort const& sort) {
  Precedes<T> const precedes(input.parameters);
  std::vector<T> keys = copy_of(input.keys);
  std::vector<ValueOf<T>> values = copy_of(input.values);
  std::vector<OtherValueOf<T>> other_values = copy_of(input.other_values);
  if (has_values) {
    sort_pairs(keys, values, precedes, sort);
  } else if (has_other_values) {
    sort_pairs(keys, other_values, precedes, sort);
  } else {
    keys = sort(std::move(keys), precedes);  // keys only need half the memory
  }
  return list_of(verify::moved("keys", std::move(keys)), verify::moved("values", std::move(values)),
                 verify::moved("other_values", std::move(other_values)));
}

}  // namespace

template <class T>
std::vector<ExpectedField> Sort::reference(Input<T, Kokkos::HostSpace> const& input) {
  return sorted_fields<T>(input, input.values.extent(0) > 0, input.other_values.extent(0) > 0,
                          [](auto items, auto const& less) { return sorted(std::move(items), less); });
}

template <class T>
std::vector<ExpectedField> Sort::reference_of_part(Input<T, Kokkos::HostSpace> const& input, ranks::Part const& part) {
  return sorted_fields<T>(input, part.input[1][0] > 0, part.input[2][0] > 0,
                          [&](auto items, auto const& less) { return sorted_on_ranks(std::move(items), less, part); });
}

}  // namespace tessera::sort

template struct tessera::References<tessera::sort::Sort>;
