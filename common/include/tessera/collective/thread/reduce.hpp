#pragma once
/// \file
/// Reduction over the W lanes of one thread.
///
/// Must be called by all lanes of the thread. No scratch, no barriers. Operator: associative; the order of lanes is
/// kept. Result: the same value for all lanes.
///
/// Example, W = 4, sum: values 3 1 4 1 -> 9.

#include <Kokkos_Macros.hpp>

#include <concepts>

#include <tessera/collective/lane/lanes.hpp>

namespace tessera::thread {

/// Butterfly reduction: after the step with mask m, every lane holds the reduction of its block of 2m lanes. The lane
/// with bit m set is the later one, so that a non-commutative operator gets its arguments in order. Emulated lanes
/// compute only the values on which lane 0's result depends, in the same order: a fifth of the work.
template <class T, lane::Lanes L, class Op>
[[nodiscard]] KOKKOS_FUNCTION T reduce(L const& lanes, typename L::template Value<T> value, Op const& op) {
  if constexpr (std::same_as<L, lane::Emulated<L::width>>) {
    for (int mask = 1; mask < L::width; mask *= 2) {
      for (int lane = 0; lane < L::width; lane += 2 * mask) {
        value.at[lane] = op(value.at[lane], value.at[lane + mask]);
      }
    }
  } else {
    for (int mask = 1; mask < L::width; mask *= 2) {
      auto const partner = lanes.exchange(value, mask);
      lanes.each([&](int lane, T& own, T const& other) { own = (lane & mask) ? op(other, own) : op(own, other); },
                 value, partner);
    }
  }
  return lanes.template read<T>(value, 0);
}

}  // namespace tessera::thread
