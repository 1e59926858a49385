#pragma once
/// \file
/// Which lanes of a thread hold the same digit, found by ballots: one per bit of the digit.
///
/// Must be called by all lanes of the thread. No scratch, no barriers. Result: in every lane.
/// Source: Ashkiani, Davidson, Meyer and Owens, GPU Multisplit (PPoPP 2016).
///
/// Example, W = 4, digits of 2 bits, 3 1 3 0: votes for bit 0 are 0b0111, for bit 1 0b0101 -> lanes 0 and 2 get 0b0101,
/// lane 1 gets 0b0010, lane 3 gets 0b1000.

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <type_traits>
#include <utility>

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/core/unroll.hpp>

namespace tessera::thread {

/// One bit per lane. 32 bits suffice for a warp, and cost half as much as 64.
template <int W>
using LaneMask = std::conditional_t<W <= 32, std::uint32_t, std::uint64_t>;

/// The lanes below `lane`.
template <int W>
[[nodiscard]] KOKKOS_INLINE_FUNCTION constexpr LaneMask<W> lanes_below(int lane) {
  return (LaneMask<W>{1} << lane) - 1;
}

/// Returns the number of lanes in a mask. Kokkos' constexpr popcount is a loop on GPUs, so the builtin is used.
template <class Mask>
[[nodiscard]] KOKKOS_INLINE_FUNCTION std::uint32_t count_lanes(Mask mask) {
  return static_cast<std::uint32_t>(Kokkos::Experimental::popcount_builtin(mask));
}

namespace detail {

/// Removes from `peers` the lanes whose digit has another bit `Bit`.
template <int Bit, lane::Lanes L, class Digit, class Peers>
KOKKOS_FUNCTION void keep_equal_bit(L const& lanes, Digit const& digit, Peers& peers) {
  using Mask = LaneMask<L::width>;
#if defined(__CUDA_ARCH__)
  if constexpr (L::width == 32 && std::is_same_v<Peers, Mask>) {  // and not emulated
    // From this form ptxas makes three instructions per bit, and one more for all predicates of the digit.
    asm volatile(
        "{ .reg .pred set; .reg .b32 votes; and.b32 votes, %1, %2; setp.ne.b32 set, votes, 0;"
        " vote.sync.ballot.b32 votes, set, 0xffffffff; @!set not.b32 votes, votes; and.b32 %0, %0, votes; }"
        : "+r"(peers)
        : "r"(digit), "n"(1 << Bit));
    return;
  }
#endif
  auto is_set = lanes.template fill<bool>(false);
  lanes.each([&](int, bool& set, std::uint32_t own) { set = ((own >> Bit) & 1U) != 0; }, is_set, digit);
  auto const votes = static_cast<Mask>(lanes.ballot(is_set));
  lanes.each([&](int, Mask& own, bool set) { own &= set ? votes : static_cast<Mask>(~votes); }, peers, is_set);
}

}  // namespace detail

/// Returns for each lane the lanes with its digit, its own included. `digit`: one std::uint32_t below 2^Bits per lane.
template <int Bits, lane::Lanes L, class Digit>
[[nodiscard]] KOKKOS_FUNCTION auto match_digit(L const& lanes, Digit const& digit) {
  using Mask = LaneMask<L::width>;
  auto peers = lanes.template fill<Mask>(static_cast<Mask>(~std::uint64_t{0} >> (64 - L::width)));
  [&]<int... Bit>(std::integer_sequence<int, Bit...>) {
    (detail::keep_equal_bit<Bit>(lanes, digit, peers), ...);
  }(std::make_integer_sequence<int, Bits>{});
  return peers;
}

}  // namespace tessera::thread
