#pragma once
/// \file
/// The stable places of a team's items, sorted by one digit: how radix sorts and splits order a tile.
///
/// Each thread holds rows of W items in registers, one item per lane and row. Item (thread, row, lane) is number
/// (thread * N + row) * W + lane of the team's items; a warp's loads of a row are then coalesced.
///
/// Each thread counts its digits, and the team scans the counts of its threads, bin by bin. The counts are known before
/// the places, so that other teams do not wait for these. Then each thread ranks its rows one after the other. The
/// lanes of a row that hold the same digit find each other by ballots, take the place of the digit's next item, and the
/// last of them writes the place behind the row's: the same steps for every distribution of the digits, except that a
/// thread whose digits are all equal numbers its items.
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
#include <tessera/collective/team/scratch_add.hpp>
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

/// Returns whether all digits of a thread are equal; other data usually show it in the first row. Must be called by all
/// lanes of the thread.
template <int N, lane::Lanes L, class Digits>
[[nodiscard]] KOKKOS_FUNCTION bool all_equal(L const& lanes, Digits const& digits) {
  auto first = lanes.template fill<std::uint32_t>(0);
  lanes.each([&](int, auto const& own, std::uint32_t& digit) { digit = own.at[0]; }, digits, first);
  std::uint32_t const common = lanes.template read<std::uint32_t>(first, 0);
  auto differs = lanes.template fill<bool>(false);
  lanes.each([&](int, std::uint32_t digit, bool& other) { other = digit != common; }, first, differs);
  if (lanes.any(differs)) return false;
  lanes.each(
      [&](int, auto const& own, bool& other) {
        std::uint32_t bits = 0;
        TESSERA_UNROLL
        for (int row = 0; row < N; ++row) bits |= own.at[row] ^ common;
        other = bits != 0;
      },
      digits, differs);
  return !lanes.any(differs);
}

/// Counts the digits of one thread's rows in `counters`. Must be called by all lanes of the thread. No barriers.
/// \param are_equal whether all digits are equal: then one lane counts them, because lanes that add to one counter wait
///        for each other
template <int Bits, int N, lane::Lanes L, class Digits>
KOKKOS_FUNCTION void count_rows(L const& lanes, Digits const& digits, std::uint32_t* counters, bool are_equal) {
  constexpr int bins = 1 << Bits;
  lanes.each([&](int lane) {
    for (int bin = lane; bin < bins; bin += L::width) counters[bin] = 0;
  });
  lanes.sync();
  lanes.each(
      [&](int lane, auto const& own) {
        if (are_equal) {
          if (lane == 0) counters[own.at[0]] = N * L::width;
          return;
        }
        TESSERA_UNROLL
        for (int row = 0; row < N; ++row) scratch_add(&counters[own.at[row]], 1);
      },
      digits);
}

/// Replaces the digits of one thread's rows by places, and adds their counts to `counters`, which begin with the place
/// of the thread's first item of each digit. Must be called by all lanes of the thread. No barriers.
/// \param are_equal whether all digits are equal
template <int Bits, int N, lane::Lanes L, class Digits>
KOKKOS_FUNCTION void rank_rows(L const& lanes, Digits& digits, std::uint32_t* counters, bool are_equal) {
  if (are_equal) {
    lanes.each(
        [&](int lane, auto& own) {
          std::uint32_t const begin = counters[own.at[0]];
          TESSERA_UNROLL
          for (int row = 0; row < N; ++row) own.at[row] = begin + static_cast<std::uint32_t>(row * L::width + lane);
        },
        digits);
    return;
  }
  TESSERA_UNROLL
  for (int row = 0; row < N; ++row) {
    auto digit = lanes.template fill<std::uint32_t>(0);
    lanes.each([&](int, auto const& own, std::uint32_t& d) { d = own.at[row]; }, digits, digit);
    auto const peers = thread::match_digit<Bits>(lanes, digit);
    auto before = lanes.template fill<std::uint32_t>(0);
    lanes.each([&](int, std::uint32_t d, std::uint32_t& count) { count = counters[d]; }, digit, before);
    lanes.sync();  // all have read the counts before the last of them writes a new one
    lanes.each(
        [&](int lane, std::uint32_t d, auto const& same, std::uint32_t count, auto& own) {
          auto const below = thread::lanes_below<L::width>(lane);
          std::uint32_t const place = count + thread::count_lanes(same & below);
          bool const is_last = (same & static_cast<thread::LaneMask<L::width>>(~below << 1)) == 0;
          if (is_last) counters[d] = place + 1;
          own.at[row] = place;
        },
        digit, peers, before, digits);
    lanes.sync();
  }
}

}  // namespace detail

/// Replaces the digits of the team's items by the stable places of the items, from 0 on, sorted by digit.
///
/// \tparam Bits number of bits of a digit; \tparam N number of rows of each thread
/// \tparam Threads size of the team if it is known at compile time, which saves loops; 0: any size
/// \param places LaneItems<std::uint32_t, N> of each lane: digits below 2^Bits, and places on return. A team has fewer
///        than 2^(32 - Bits) items.
/// \param on_count called as `on_count(bin, count)` once for each bin, by one lane, as soon as the team's items of the
///        bin are counted
/// \param on_begin called as `on_begin(bin, begin)` once for each bin, by one lane: the place of the bin's first item
///
/// Must be called by all lanes of every thread. Scratch: the caller's; nothing else may use it from the caller's last
/// barrier on. Barriers: at least three. Data that on_begin wrote to scratch are visible to the whole team on return.
template <int Bits, int N, int Threads = 0, Team M, lane::Lanes L, class Places, class OnCount, class OnBegin>
KOKKOS_FUNCTION void rank_by_digit(M const& team, L const& lanes, Places& places, DigitScratch<Bits> const& scratch,
                                   OnCount const& on_count, OnBegin const& on_begin) {
  constexpr int bins = DigitScratch<Bits>::bins;
  using Add = collective::Sum<std::uint32_t>;
  int const threads = Threads > 0 ? Threads : team.team_size();
  std::uint32_t* const own_counters = scratch.counters + team.team_rank() * bins;
  bool const are_equal = detail::all_equal<N>(lanes, places);
  detail::count_rows<Bits, N>(lanes, places, own_counters, are_equal);
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
          TESSERA_UNROLL
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
          TESSERA_UNROLL
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
  detail::rank_rows<Bits, N>(lanes, places, own_counters, are_equal);
}

}  // namespace tessera::team
