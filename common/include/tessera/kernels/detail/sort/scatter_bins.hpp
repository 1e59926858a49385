#pragma once
/// \file
/// Moves items, and values with them, into bins: stable, tile by tile.
///
/// On a GPU a team holds a tile in registers, ranks it by bins (collective/team/digit_rank.hpp), and exchanges it
/// through scratch, so that the items of a bin are written as one contiguous run. On a host one thread reads its tile
/// twice and writes each item to its place: caches combine the writes.

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <tessera/collective/bin_look_back.hpp>
#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/team/digit_rank.hpp>
#include <tessera/collective/thread/rows.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/unroll.hpp>
#include <tessera/kernels/detail/launch/chunks.hpp>
#include <tessera/kernels/detail/sort/bin_tuning.hpp>
#include <tessera/kernels/detail/sort/count_bins.hpp>

namespace tessera::kernels::detail {

/// The arrays of a pass. Values are unused with NoValue.
template <class T, class Value>
struct MovedArrays {
  T const* from;
  T* to;
  Value const* values_from;
  Value* values_to;

  /// Returns the items, and the values, from item i on.
  [[nodiscard]] KOKKOS_FUNCTION T const* part(std::size_t i) const { return from + i; }
  [[nodiscard]] KOKKOS_FUNCTION Value const* values_part(std::size_t i) const { return values_from + i; }
  KOKKOS_FUNCTION void store(std::size_t i, T const& item) const { to[i] = item; }
  KOKKOS_FUNCTION void store_value(std::size_t i, Value const& value) const { values_to[i] = value; }
};

/// A team's tile of `rows` rows per thread, for GPUs.
///
/// Scratch: counters while the tile is ranked, then its items, in the same bytes; its values, behind the items or later
/// in their bytes (Tuning::values_apart); the begins of the bins in the tile; where the items of each bin go.
template <ExecutionSpace Exec, class T, class Value, class BinOf, class Tuning, int rows = Tuning::rows>
class BinTile {
 public:
  using Lanes = lane::On<Exec, Tuning::lanes>;
  static constexpr int width = Lanes::width;
  static constexpr bool has_values = value_bytes<Value> > 0;
  static constexpr bool values_apart = has_values && Tuning::values_apart;
  static constexpr bool values_late = has_values && !values_apart && Tuning::values_late;
  using Digits = team::DigitScratch<bin_bits>;
  static constexpr int threads = Tuning::threads;
  static constexpr int stride = threads * width;  ///< lanes of the team
  static constexpr int items = stride * rows;     ///< of a whole tile
  /// The low bits of a register that holds a place in the tile. store() keeps a bin in the high ones.
  static constexpr int place_bits = 24;
  static constexpr std::uint32_t place_mask = (std::uint32_t{1} << place_bits) - 1;
  static_assert(items <= (1 << place_bits));

  /// Returns the bytes of a team's scratch.
  [[nodiscard]] static std::size_t scratch_bytes() {
    return Words::shmem_size(bin_count) + Exchange::shmem_size(exchange_size) + Numbers::shmem_size(numbers_size);
  }

  /// Takes the team's scratch. Must be called by all lanes of the team, as all functions here.
  template <class Member>
  KOKKOS_FUNCTION explicit BinTile(Member const& team)
      : own_(team.team_rank() * width * rows),
        lane_(team.team_rank() * width),
        items_(Lanes{}.template fill<team::LaneItems<T, rows>>({})),
        places_(Lanes{}.template fill<team::LaneItems<std::uint32_t, rows>>({})) {
    Words const words(team.team_scratch(0), bin_count);
    Exchange const exchange(team.team_scratch(0), exchange_size);
    Numbers const numbers(team.team_scratch(0), numbers_size);
    offsets_ = words.data();
    exchange_ = exchange.data();
    begins = numbers.data();
    digits_ = {reinterpret_cast<std::uint32_t*>(exchange_), begins + bin_count + 1};
    ticket = digits_.sums + Digits::sums_for(threads);
  }

  /// Returns [256]: where item i of the ordered tile goes, minus i, by its bin. Offset: std::int64_t, or std::uint32_t
  /// if the array has at most 2^32 items.
  template <class Offset>
  [[nodiscard]] KOKKOS_FUNCTION Offset* offsets() const {
    return reinterpret_cast<Offset*>(offsets_);
  }
  std::uint32_t* begins;  ///< [257]: the begins of the bins in the ordered tile, and its end
  std::uint32_t* ticket;  ///< one number for the caller

  /// Loads the `count` items of the tile that begins with item `begin` of the arrays.
  template <class Arrays>
  KOKKOS_FUNCTION void load(Arrays const& arrays, std::size_t begin, int count) {
    count_ = count;
    load_striped<rows>(Lanes{}, arrays.part(begin + own_), count - own_, items_);
  }

  /// Loads the items of a tile and ranks them. Barriers as in rank_by_digit.
  /// \param on_count called once for each bin, by one lane: `on_count(bin, items of the bin)`
  template <class Member, class Arrays, class OnCount>
  KOKKOS_FUNCTION void rank(Member const& team, Arrays const& arrays, std::size_t begin, int count, BinOf const& bin_of,
                            OnCount const& on_count) {
    load(arrays, begin, count);
    rank_items(team, bin_of, on_count);
  }

  /// Ranks the items that the tile holds.
  template <class Member, class OnCount>
  KOKKOS_FUNCTION void rank_items(Member const& team, BinOf const& bin_of, OnCount const& on_count) {
    Lanes{}.each(
        [&](int lane, auto const& own, auto& bins) {
          TESSERA_UNROLL
          for (int row = 0; row < rows; ++row) bins.at[row] = static_cast<std::uint32_t>(bin_of(own.at[row]));
          if (count_ == items) return;
          // Places without an item come last, in the last bin, from which they are subtracted.
          TESSERA_UNROLL
          for (int row = 0; row < rows; ++row) {
            if (own_ + row * width + lane >= count_) bins.at[row] = bin_count - 1U;
          }
        },
        items_, places_);
    auto* const to = begins;
    auto const count = static_cast<std::uint32_t>(count_);
    auto const missing = static_cast<std::uint32_t>(items - count_);
    team::rank_by_digit<bin_bits, rows, threads>(
        team, Lanes{}, places_, digits_,
        [&](int bin, std::uint32_t n) { on_count(bin, bin == bin_count - 1 ? n - missing : n); },
        [&](int bin, std::uint32_t begin) {
          to[bin] = begin;
          if (bin == bin_count - 1) to[bin_count] = count;
        });
  }

  /// Writes the items to scratch, in order. Two barriers: before, for the counters; the caller's, after it.
  template <class Member>
  KOKKOS_FUNCTION void exchange(Member const& team) {
    team.team_barrier();
    put(reinterpret_cast<T*>(exchange_), items_);
  }

  /// Loads the values of the tile to registers.
  template <class Arrays>
  KOKKOS_FUNCTION void load_values([[maybe_unused]] Arrays const& arrays, [[maybe_unused]] std::size_t begin) {
    if constexpr (has_values) load_striped<rows>(Lanes{}, arrays.values_part(begin + own_), count_ - own_, values_);
  }

  /// Writes the values to scratch, in order, if they have scratch of their own. After exchange(), before the same
  /// barrier of the caller.
  KOKKOS_FUNCTION void exchange_values() {
    if constexpr (values_apart) put(values_in_scratch(), values_);
  }

  /// Writes the items, which the team sees in scratch, and the values to where `offsets` says. Two barriers if the
  /// values are not in scratch yet. Late values are loaded here: those from item `begin` of the arrays on.
  template <class Offset, class Member, class Arrays>
  KOKKOS_FUNCTION void store(Member const& team, BinOf const& bin_of, Arrays const& arrays,
                             [[maybe_unused]] std::size_t begin) {
    Offset const* const offset_of = offsets<Offset>();
    auto const place = [](Offset offset, int i) { return static_cast<Offset>(offset + static_cast<Offset>(i)); };
    T const* const ordered = reinterpret_cast<T const*>(exchange_);
    Value const* const values = values_in_scratch();
    for_each_ordered(
        [&](int row, int i, auto& of_lane) {
          T const x = ordered[i];
          auto const bin = static_cast<std::uint32_t>(bin_of(x));
          Offset const at = place(offset_of[bin], i);
          arrays.store(at, x);
          if constexpr (values_apart) {
            arrays.store_value(at, values[i]);
          } else if constexpr (has_values) {
            // Values that follow need the bin after the items have left scratch. Here it takes no register.
            of_lane.at[row] |= bin << place_bits;
          }
        },
        places_);
    if constexpr (has_values && !values_apart) {
      if constexpr (values_late) load_values(arrays, begin);
      team.team_barrier();
      put(values_in_scratch(), values_);
      team.team_barrier();
      for_each_ordered(
          [&](int row, int i, auto const& of_lane) {
            arrays.store_value(place(offset_of[of_lane.at[row] >> place_bits], i), values[i]);
          },
          places_);
    }
  }

  /// Takes the items, which the team sees in scratch, and the values back to registers, in order: the tile can be
  /// ranked again. One barrier; three if the values are not in scratch yet.
  template <class Member>
  KOKKOS_FUNCTION void take_back(Member const& team) {
    take(reinterpret_cast<T const*>(exchange_), items_);
    if constexpr (has_values && !values_apart) {
      team.team_barrier();
      put(values_in_scratch(), values_);
      team.team_barrier();
    }
    if constexpr (has_values) take(values_in_scratch(), values_);
    team.team_barrier();
  }

  /// Writes the items and values that the tile holds.
  KOKKOS_FUNCTION void store_in_order(T* to, [[maybe_unused]] Value* values_to) const {
    write(to, items_);
    if constexpr (has_values) write(values_to, values_);
  }

  /// Calls `body(bin)` for each bin, by one lane each.
  template <class Body>
  KOKKOS_FUNCTION void for_each_bin(Body const& body) const {
    Lanes{}.each([&](int lane) {
      for (int bin = lane_ + lane; bin < bin_count; bin += stride) body(bin);
    });
  }

 private:
  using Words = ScratchView<std::int64_t*, Exec>;
  using Numbers = ScratchView<std::uint32_t*, Exec>;
  using Exchange = ScratchView<Sixteen*, Exec>;
  static constexpr std::size_t counters_bytes = sizeof(std::uint32_t) * Digits::counters_for(threads);
  // In sixteens, as exchange_size.
  static constexpr std::size_t values_begin = values_apart ? sixteens(items * sizeof(T)) : 0;
  static constexpr std::size_t exchange_size =
      std::max({sixteens(counters_bytes), sixteens(items * sizeof(T)),
                values_begin + sixteens(std::size_t{items} * value_bytes<Value>)});
  static constexpr int numbers_size = bin_count + 1 + Digits::sums_for(threads) + 1;

  [[nodiscard]] KOKKOS_FUNCTION Value* values_in_scratch() const {
    return reinterpret_cast<Value*>(exchange_ + values_begin);
  }

  /// Calls `body(row, i, own)` for the items i of the ordered tile, neighbouring lanes for neighbouring items.
  template <class Body, class Own>
  KOKKOS_FUNCTION void for_each_ordered(Body const& body, Own& own) const {
    Lanes{}.each(
        [&](int lane, auto& of_lane) {
          if (count_ == items) {
            TESSERA_UNROLL
            for (int row = 0; row < rows; ++row) {
              body(row, row * stride + lane_ + lane, of_lane);
              if constexpr (Tuning::writes_in_step) Lanes{}.sync();
            }
          } else {
            TESSERA_UNROLL
            for (int row = 0; row < rows; ++row) {
              int const i = row * stride + lane_ + lane;
              if (i < count_) body(row, i, of_lane);
            }
          }
        },
        own);
  }
  template <class V, class Items>
  KOKKOS_FUNCTION void put(V* to, Items const& items) const {
    Lanes{}.each(
        [&](int, auto const& own, auto const& places) {
          TESSERA_UNROLL
          for (int row = 0; row < rows; ++row) to[places.at[row] & place_mask] = own.at[row];
        },
        items, places_);
  }
  template <class V, class Items>
  KOKKOS_FUNCTION void take(V const* from, Items& items) const {
    Lanes{}.each(
        [&](int lane, auto& own) {
          TESSERA_UNROLL
          for (int row = 0; row < rows; ++row) own.at[row] = from[own_ + row * width + lane];
        },
        items);
  }
  template <class V, class Items>
  KOKKOS_FUNCTION void write(V* to, Items const& items) const {
    Lanes{}.each(
        [&](int lane, auto const& own) {
          TESSERA_UNROLL
          for (int row = 0; row < rows; ++row) {
            int const i = own_ + row * width + lane;
            if (i < count_) to[i] = own.at[row];
          }
        },
        items);
  }

  std::int64_t* offsets_;
  int own_;   // first item of the thread's part
  int lane_;  // number of the thread's lane 0 in the team
  int count_ = 0;
  Sixteen* exchange_;
  Digits digits_;
  typename Lanes::template Value<team::LaneItems<T, rows>> items_;
  typename Lanes::template Value<team::LaneItems<std::uint32_t, rows>> places_;  // bins until they are ranked
  typename Lanes::template Value<team::LaneItems<Value, rows>> values_;
};

/// Counters of one thread of a host, and where the next item of each bin goes.
template <ExecutionSpace Exec>
struct HostBins {
  using Counts = ScratchView<std::uint32_t*, Exec>;
  using Places = ScratchView<std::int64_t*, Exec>;

  Places next;
  Counts counts;

  template <class Member>
  KOKKOS_FUNCTION explicit HostBins(Member const& team)
      : next(team.team_scratch(0), bin_count), counts(team.team_scratch(0), bin_count) {}
  [[nodiscard]] static std::size_t scratch_bytes() {
    return Places::shmem_size(bin_count) + Counts::shmem_size(bin_count);
  }

  /// Moves the items [begin, end) of the arrays to their bins.
  template <class T, class Value, class BinOf>
  KOKKOS_FUNCTION void move(MovedArrays<T, Value> const& arrays, std::size_t begin, std::size_t end,
                            BinOf const& bin_of) const {
    std::int64_t* const to = next.data();
    for (std::size_t i = begin; i < end; ++i) {
      T const x = arrays.from[i];
      std::int64_t const place = to[bin_of(x)]++;
      arrays.to[place] = x;
      if constexpr (value_bytes<Value> > 0) arrays.values_to[place] = arrays.values_from[i];
    }
  }
};

/// One pass with look-back over the tiles of one launch. The number of items of each bin before the launch is in
/// `begins`; the last tile writes it for the next launch.
template <ExecutionSpace Exec, class T, class Value, class BinOf, class Tuning, class Arrays = MovedArrays<T, Value>>
struct LookBackBinsKernel {
  using Bounds = typename Tuning::Bounds;
  using Policy = Kokkos::TeamPolicy<Exec, Bounds>;
  using Member = typename Policy::member_type;
  using Tile = BinTile<Exec, T, Value, BinOf, Tuning>;
  static constexpr int threads = Tuning::threads;
  static constexpr int vector_length = lane::vector_length<Exec>(Tuning::lanes);

  Arrays arrays;
  BinOf bin_of;
  std::size_t first;    ///< item of the launch
  std::size_t n;        ///< end of the array
  std::uint32_t tiles;  ///< of the launch
  int tile_size;
  std::int64_t const* begins;
  std::int64_t* next_begins;
  collective::BinLookBackHandle look_back;

  [[nodiscard]] static std::size_t scratch_bytes() {
    if constexpr (Tuning::warps) {
      return Tile::scratch_bytes();
    } else {
      return HostBins<Exec>::scratch_bytes();
    }
  }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    if constexpr (Tuning::warps) {
      move_tile(team);
    } else {
      move_on_host(team);
    }
  }

 private:
  KOKKOS_FUNCTION void move_tile(Member const& team) const {
    Tile tile(team);
    // 1. The number of the tile: in the order in which teams start.
    Kokkos::single(Kokkos::PerTeam(team), [&] { tile.ticket[0] = look_back.next_tile(); });
    team.team_barrier();
    std::uint32_t const number = tile.ticket[0];
    std::size_t const begin = first + static_cast<std::size_t>(number) * tile_size;
    int const count = thread::count_before(begin, n, tile_size);

    // 2. Rank the tile, and publish the counts as soon as they are known. Nothing is prefetched: tiles write to the
    // same lines of the last-level cache one after the other, and what displaces these costs more than it saves. On one
    // H100, 2^28 pairs of 4 + 4 bytes took 5 to 25% more time with a later tile prefetched, 5% with loads that are
    // evicted first.
    tile.rank(team, arrays, begin, count, bin_of, [&](int bin, std::uint32_t of_bin) {
      look_back.publish(number, bin, number == 0 ? collective::TileState::inclusive : collective::TileState::partial,
                        of_bin);
    });

    // 3. Order the tile in scratch before looking back, which gives the predecessors time to publish.
    tile.exchange(team);
    if constexpr (Tile::has_values && !Tile::values_late) tile.load_values(arrays, begin);
    bool is_stored = false;
    if constexpr (Tuning::short_places > 0) {
      is_stored = n <= Tuning::short_places;
      if (is_stored) place_and_store<std::uint32_t>(team, tile, number, begin);
    }
    if (!is_stored) place_and_store<std::int64_t>(team, tile, number, begin);
    leave_scratch(team);
  }

  template <class Offset>
  KOKKOS_FUNCTION void place_and_store(Member const& team, Tile& tile, std::uint32_t number, std::size_t begin) const {
    tile.for_each_bin([&](int bin) {
      std::uint32_t const of_bin = tile.begins[bin + 1] - tile.begins[bin];
      std::uint32_t const before = number > 0 ? look_back.template before<Tuning::look_back_words>(number, bin) : 0;
      if (number > 0) look_back.publish(number, bin, collective::TileState::inclusive, before + of_bin);
      std::int64_t const to = begins[bin] + before;
      tile.template offsets<Offset>()[bin] = static_cast<Offset>(to - tile.begins[bin]);
      if (number + 1 == tiles) next_begins[bin] = to + of_bin;
    });
    tile.exchange_values();
    team.team_barrier();

    // 4. Write the items of each bin as one run.
    tile.template store<Offset>(team, bin_of, arrays, begin);
  }

  KOKKOS_FUNCTION void move_on_host(Member const& team) const {
    HostBins<Exec> const bins(team);
    std::uint32_t const number = look_back.next_tile();
    std::size_t const begin = first + static_cast<std::size_t>(number) * tile_size;
    std::size_t const end = begin + thread::count_before(begin, n, tile_size);
    for (int bin = 0; bin < bin_count; ++bin) bins.counts(bin) = 0;
    for (std::size_t i = begin; i < end; ++i) ++bins.counts(bin_of(arrays.from[i]));
    if (number > 0) {
      for (int bin = 0; bin < bin_count; ++bin) {
        look_back.publish(number, bin, collective::TileState::partial, bins.counts(bin));
      }
    }
    for (int bin = 0; bin < bin_count; ++bin) {
      std::uint32_t const before = number > 0 ? look_back.template before<Tuning::look_back_words>(number, bin) : 0;
      look_back.publish(number, bin, collective::TileState::inclusive, before + bins.counts(bin));
      bins.next(bin) = begins[bin] + before;
      if (number + 1 == tiles) next_begins[bin] = begins[bin] + before + bins.counts(bin);
    }
    bins.move(arrays, begin, end, bin_of);
  }
};

/// One pass over chunks whose counts are known: starts[bin * chunks + chunk] is where the chunk's items of a bin go.
template <ExecutionSpace Exec, class T, class Value, class BinOf, class Tuning>
struct ScatterChunksKernel {
  using Bounds = typename Tuning::Bounds;
  using Policy = Kokkos::TeamPolicy<Exec, Bounds>;
  using Member = typename Policy::member_type;
  using Tile = BinTile<Exec, T, Value, BinOf, Tuning>;
  using Running = ScratchView<std::int64_t*, Exec>;
  static constexpr int vector_length = lane::vector_length<Exec>(Tuning::lanes);

  MovedArrays<T, Value> arrays;
  BinOf bin_of;
  std::int64_t const* starts;
  Chunks chunks;
  int tile_size;

  [[nodiscard]] static std::size_t scratch_bytes() {
    if constexpr (Tuning::warps) {
      return Tile::scratch_bytes();
    } else {
      return HostBins<Exec>::scratch_bytes();
    }
  }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    int const chunk = team.league_rank();
    std::size_t const begin = chunks.begin(chunk);
    std::size_t const end = chunks.end(chunk);
    if constexpr (Tuning::warps) {
      Tile tile(team);
      std::int64_t* const offsets = tile.template offsets<std::int64_t>();
      tile.for_each_bin([&](int bin) { offsets[bin] = starts[index(bin, chunk)]; });
      for (std::size_t from = begin; from < end; from += tile_size) {
        int const count = thread::count_before(from, end, tile_size);
        tile.rank(team, arrays, from, count, bin_of, [](int, std::uint32_t) {});
        tile.exchange(team);
        if constexpr (Tile::has_values && !Tile::values_late) tile.load_values(arrays, from);
        // `offsets` has the place of the bin's next item; while the tile is stored, minus the bin's begin in the tile.
        tile.for_each_bin([&](int bin) { offsets[bin] -= tile.begins[bin]; });
        tile.exchange_values();
        team.team_barrier();
        tile.template store<std::int64_t>(team, bin_of, arrays, from);
        team.team_barrier();
        tile.for_each_bin([&](int bin) { offsets[bin] += tile.begins[bin + 1]; });
      }
    } else {
      HostBins<Exec> const bins(team);
      for (int bin = 0; bin < bin_count; ++bin) bins.next(bin) = starts[index(bin, chunk)];
      bins.move(arrays, begin, end, bin_of);
    }
    leave_scratch(team);
  }

 private:
  [[nodiscard]] KOKKOS_FUNCTION std::size_t index(int bin, int chunk) const {
    return static_cast<std::size_t>(bin) * chunks.count + chunk;
  }
};

}  // namespace tessera::kernels::detail
