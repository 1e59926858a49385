#pragma once
/// \file
/// The stable places of a team's items, sorted by one digit: how radix sorts and splits order a tile.
///
/// Each thread holds rows of W items in registers, one item per lane and row. Item (thread, row, lane) is number
/// (thread * N + row) * W + lane of the team's items; a warp's loads of a row are then coalesced.
///
/// A thread counts its digits row by row. The lanes of a row that hold the same digit find each other by ballots, take
/// the count as it was before the row, and the first of them adds their number: no atomics, and the same steps for
/// every distribution of the digits. The team then scans the counts of its threads, bin by bin.
/// Source: Ashkiani, Davidson, Meyer and Owens, GPU Multisplit (PPoPP 2016); Adinets and Merrill, Onesweep
/// (arXiv:2206.01784).
///
/// Example, 1 thread of 4 lanes, N = 2, digits of 2 bits, 3 1 3 0 | 1 1 0 3: counts 2 3 0 3, begins 0 2 5 5, places
/// 5 2 6 0 | 3 4 1 7.

#include <Kokkos_Core.hpp>

#include <cstdint>

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/operators.hpp>
#include <tessera/collective/team/lane_scan.hpp>
#include <tessera/collective/team/team.hpp>
#include <tessera/collective/thread/match_digit.hpp>
#include <tessera/collective/thread/scan.hpp>
#include <tessera/core/unroll.hpp>

namespace tessera::team {

/// The items of one lane, one per row.
template <class T, int N>
struct LaneItems {
  T at[N];
};

/// The places of one lane's items, one per row. Two share a register: a team has at most 65536 items.
template <int N>
class LanePlaces {
 public:
  [[nodiscard]] KOKKOS_FUNCTION std::uint32_t operator[](int row) const {
    return (words_[row / 2] >> (16 * (row % 2))) & 0xffffU;
  }
  /// Sets the place of a row. Must be called for the rows in ascending order.
  KOKKOS_FUNCTION void set(int row, std::uint32_t place) {
    words_[row / 2] = row % 2 == 0 ? place : words_[row / 2] | (place << 16);
  }
  /// Adds to the place of a row. The sum must stay below 65536.
  KOKKOS_FUNCTION void add(int row, std::uint32_t more) { words_[row / 2] += more << (16 * (row % 2)); }

 private:
  std::uint32_t words_[(N + 1) / 2];
};

/// The scratch of rank_by_digit, in 32-bit numbers.
template <int Bits>
struct DigitScratch {
  static constexpr int bins = 1 << Bits;
  std::uint32_t* counters;  ///< counters_for(threads); may be overwritten after the caller's next barrier
  std::uint32_t* sums;      ///< sums_for(threads)

  [[nodiscard]] KOKKOS_FUNCTION static constexpr int counters_for(int threads) { return bins * threads; }
  [[nodiscard]] KOKKOS_FUNCTION static constexpr int sums_for(int threads) { return 2 * threads; }
};

namespace detail {

/// Counts the digits of one thread's rows in `counters`, and sets `ranks` to the number of earlier items of the thread
/// with the same digit. Must be called by all lanes of the thread. No barriers.
template <int Bits, int N, lane::Lanes L, class Items, class Ranks, class DigitOf>
KOKKOS_FUNCTION void rank_rows(L const& lanes, Items const& items, DigitOf const& digit_of, std::uint32_t* counters,
                               Ranks& ranks) {
  constexpr int bins = 1 << Bits;
  lanes.each([&](int lane) {
    for (int bin = lane; bin < bins; bin += L::width) counters[bin] = 0;
  });
  lanes.sync();
  TESSERA_UNROLL
  for (int row = 0; row < N; ++row) {
    auto digit = lanes.template fill<std::uint32_t>(0);
    lanes.each([&](int lane, auto const& own, std::uint32_t& d) { d = digit_of(row * L::width + lane, own.at[row]); },
               items, digit);
    auto const peers = thread::match_digit<Bits>(lanes, digit);
    auto before = lanes.template fill<std::uint32_t>(0);
    lanes.each([&](int, std::uint32_t d, std::uint32_t& count) { count = counters[d]; }, digit, before);
    lanes.sync();  // all have read the counts before the first of them adds to it
    lanes.each(
        [&](int lane, std::uint32_t d, auto const& same, std::uint32_t count, auto& rank) {
          std::uint32_t const lower = thread::count_lanes(same & thread::lanes_below<L::width>(lane));
          if (lower == 0) counters[d] = count + thread::count_lanes(same);
          rank.set(row, count + lower);
        },
        digit, peers, before, ranks);
    lanes.sync();
  }
}

}  // namespace detail

/// Sets `places` to the stable places of the team's items, from 0 on, sorted by their digits.
///
/// \tparam Bits number of bits of a digit; \tparam N number of rows of each thread
/// \param items LaneItems<T, N> of each lane
/// \param digit_of returns the digit of an item, below 2^Bits: `std::uint32_t(int i, T const&)`; i is the item's number
///        in its thread, row * W + lane. Called twice per item.
/// \param places LanePlaces<N> of each lane
/// \param on_count called as `on_count(bin, count)` once for each bin, by one lane, as soon as the team's items of the
///        bin are counted
/// \param on_begin called as `on_begin(bin, begin)` once for each bin, by one lane: the place of the bin's first item
///
/// Must be called by all lanes of every thread. Scratch: the caller's; nothing else may use it from the caller's last
/// barrier on. Barriers: at least three. Data that on_begin wrote to scratch are visible to the whole team on return.
template <int Bits, int N, Team M, lane::Lanes L, class Items, class DigitOf, class Places, class OnCount,
          class OnBegin>
KOKKOS_FUNCTION void rank_by_digit(M const& team, L const& lanes, Items const& items, DigitOf const& digit_of,
                                   Places& places, DigitScratch<Bits> const& scratch, OnCount const& on_count,
                                   OnBegin const& on_begin) {
  constexpr int bins = DigitScratch<Bits>::bins;
  using Add = collective::Sum<std::uint32_t>;
  int const threads = team.team_size();
  std::uint32_t* const own_counters = scratch.counters + team.team_rank() * bins;
  detail::rank_rows<Bits, N>(lanes, items, digit_of, own_counters, places);
  team.team_barrier();

  // The counts of the threads become begins: of all earlier bins, and of the earlier threads in the same bin.
  std::uint32_t earlier = 0;
  std::uint32_t* sums = scratch.sums;
  for (int first = 0; first < bins; first += L::width * threads) {
    int const own = first + team.team_rank() * L::width;
    auto totals = lanes.template fill<std::uint32_t>(0);
    lanes.each(
        [&](int lane, std::uint32_t& total) {
          int const bin = own + lane;
          if (bin >= bins) return;
          for (int thread = 0; thread < threads; ++thread) total += scratch.counters[thread * bins + bin];
          on_count(bin, total);
        },
        totals);
    auto upto = totals;
    thread::inclusive_scan(lanes, upto, Add{});
    auto const of_threads =
        scan_threads(team, lanes, lanes.template read<std::uint32_t>(upto, L::width - 1), sums, Add{});
    lanes.each(
        [&](int lane, std::uint32_t total, std::uint32_t inclusive) {
          int const bin = own + lane;
          if (bin >= bins) return;
          std::uint32_t begin = earlier + of_threads.before + inclusive - total;
          on_begin(bin, begin);
          for (int thread = 0; thread < threads; ++thread) {
            std::uint32_t& counter = scratch.counters[thread * bins + bin];
            std::uint32_t const count = counter;
            counter = begin;
            begin += count;
          }
        },
        totals, upto);
    earlier += of_threads.total;
    // The next round writes other sums: there is no barrier between reading these and writing those.
    sums = sums == scratch.sums ? scratch.sums + threads : scratch.sums;
  }
  team.team_barrier();
  lanes.each(
      [&](int lane, auto const& own, auto& place) {
        TESSERA_UNROLL
        for (int row = 0; row < N; ++row) {
          place.add(row, own_counters[digit_of(row * L::width + lane, own.at[row])]);
        }
      },
      items, places);
}

}  // namespace tessera::team
