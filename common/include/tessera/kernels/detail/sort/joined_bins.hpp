#pragma once
/// \file
/// Passes of a sort of keys and values of 4 bytes each, as items of 8 bytes between them.
///
/// A tile writes the items of a bin as one run, which seldom ends with a line of the cache. One run of items of 8 bytes
/// shares fewer lines with other tiles than two runs of 4 bytes, and is written at once. The passes take turns: one
/// joins keys and values to items, the next parts them. So the copy of the arrays holds items, the result keys and
/// values, and neither needs more memory. Items in both would save another 1%, for three kinds of passes.

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <tessera/collective/key_order.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/kernels/detail/launch/bin_look_back_workspace.hpp>
#include <tessera/kernels/detail/sort/bin_tuning.hpp>
#include <tessera/kernels/detail/sort/look_back_bins.hpp>
#include <tessera/kernels/detail/sort/scatter_bins.hpp>

namespace tessera::kernels::detail {

/// A key with its value.
template <class Key, class Value>
struct alignas(sizeof(Key) + sizeof(Value)) KeyAndValue {
  Key key;
  Value value;
};

/// The bin of an item: its key's.
template <class Key, class Value>
struct BinOfJoined {
  collective::KeyOrder<Key> order;
  [[nodiscard]] KOKKOS_FUNCTION auto operator()(KeyAndValue<Key, Value> const& item) const { return order(item.key); }
};

/// The arrays of a pass that joins keys and values (as MovedArrays).
template <class Key, class Value>
struct JoinedArrays {
  using Item = KeyAndValue<Key, Value>;
  struct Part {
    Key const* keys;
    Value const* values;
    [[nodiscard]] KOKKOS_FUNCTION Item operator[](int i) const { return {keys[i], values[i]}; }
  };

  Key const* keys;
  Value const* values;
  Item* to;

  [[nodiscard]] KOKKOS_FUNCTION Part part(std::size_t i) const { return {keys + i, values + i}; }
  KOKKOS_FUNCTION void store(std::size_t i, Item const& item) const { to[i] = item; }
};

/// The arrays of a pass that parts items.
template <class Key, class Value>
struct PartedArrays {
  using Item = KeyAndValue<Key, Value>;

  Item const* from;
  Key* keys;
  Value* values;

  [[nodiscard]] KOKKOS_FUNCTION Item const* part(std::size_t i) const { return from + i; }
  KOKKOS_FUNCTION void store(std::size_t i, Item const& item) const {
    keys[i] = item.key;
    values[i] = item.value;
  }
};

/// As LookBackBins, for the digits of a sort. Short arrays are never joined: fewer tiles look back.
template <ExecutionSpace Exec, class Key, class Value, class Codes, class Tuning>
class JoinedBins {
  using Item = KeyAndValue<Key, Value>;
  using BinOf = collective::KeyOrder<Key>;
  template <class Arrays, class OfTile>
  using Pass = LookBackPass<Exec, LookBackBinsKernel<Exec, Item, NoValue, BinOfJoined<Key, Value>, OfTile, Arrays>>;
  using Arrays = MovedArrays<Key, Value>;
  using OfJoin = typename Tuning::template OfJoined<Item>;
  using OfPart = LongTiles<OfJoin>;
  using MovePass = LookBackPass<Exec, LookBackBinsKernel<Exec, Key, Value, BinOf, Tuning>>;
  using JoinPass = Pass<JoinedArrays<Key, Value>, OfJoin>;
  using PartPass = Pass<PartedArrays<Key, Value>, OfPart>;
  static constexpr std::size_t part_tile = items_of_tile<Item, OfPart>();

 public:
  JoinedBins(Exec const& exec, std::size_t n, int digits, std::string const& label)
      : digits_(digits),
        is_joined_(digits > 1 && n >= Tuning::long_tiles * part_tile),
        moved_(tiles_of_pass(n, items_of_tile<Key, Tuning>())),
        joined_(tiles_of_pass(n, items_of_tile<Item, OfJoin>())),
        parted_(tiles_of_pass(n, part_tile)),
        counts_(exec, n, digits, label),
        look_back_(label, most([](PassTiles const& tiles) { return tiles.most_tiles(); }), bin_count,
                   most([](PassTiles const& tiles) { return tiles.most_items(); })) {
    if (!is_joined_ || digits % 2 == 1) move_.emplace(exec, moved_, label);
    if (is_joined_) {
      join_.emplace(exec, joined_, label);
      part_.emplace(exec, parted_, label);
    }
  }

  void count(Exec const& exec, Key const* keys, Codes const& codes) const { counts_(exec, keys, codes, nullptr, 0); }

  /// Enqueues the pass by digit number `digit`. Passes write to the copy and to the result in turn, the last one to the
  /// result. In the copy the values follow the keys, so that n items have room from its first key on.
  void pass(Exec const& exec, int digit, BinOf const& bin_of, Arrays const& arrays) {
    std::int64_t* const begins = counts_.begins(digit);
    // Of an odd number of digits, the first one is neither joined nor parted.
    if (!is_joined_ || (digit == 0 && digits_ % 2 == 1)) {
      (*move_)(exec, look_back_, begins, bin_of, arrays);
    } else if ((digits_ - digit) % 2 == 0) {
      (*join_)(exec, look_back_, begins, BinOfJoined<Key, Value>{bin_of},
               JoinedArrays<Key, Value>{arrays.from, arrays.values_from, reinterpret_cast<Item*>(arrays.to)});
    } else {
      (*part_)(exec, look_back_, begins, BinOfJoined<Key, Value>{bin_of},
               PartedArrays<Key, Value>{reinterpret_cast<Item const*>(arrays.from), arrays.to, arrays.values_to});
    }
  }

  [[nodiscard]] std::string note() const {
    return is_joined_ ? "joined, tiles " + std::to_string(joined_.tile) + " and " + std::to_string(parted_.tile)
                      : "tile " + std::to_string(moved_.tile);
  }

 private:
  [[nodiscard]] static PassTiles tiles_of_pass(std::size_t n, std::size_t tile) {
    return {n, sizeof(Item), tile, Tuning::launch_tiles};
  }
  /// Returns the largest number of the passes that there are.
  template <class Number>
  [[nodiscard]] std::size_t most(Number const& number) const {
    return is_joined_ ? std::max({number(moved_), number(joined_), number(parted_)}) : number(moved_);
  }

  int digits_;
  bool is_joined_;
  PassTiles moved_;
  PassTiles joined_;
  PassTiles parted_;
  BinCounts<Exec, Key, Codes, Tuning> counts_;
  BinLookBackWorkspace<Exec> look_back_;
  std::optional<MovePass> move_;
  std::optional<JoinPass> join_;
  std::optional<PartPass> part_;
};

}  // namespace tessera::kernels::detail
