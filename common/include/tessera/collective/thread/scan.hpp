#pragma once
/// \file
/// Scan over the W lanes of one thread.
///
/// Must be called by all lanes of the thread. No scratch, no barriers. Operator: associative; the order of lanes is
/// kept. Result: in every lane.
///
/// Example, W = 4, sum: values 3 1 4 1 -> inclusive 3 4 8 9, exclusive 0 3 4 8.

#include <Kokkos_Macros.hpp>

#include <tessera/collective/lane/lanes.hpp>

namespace tessera::thread {

/// Inclusive scan in log2(W) steps. Source: Hillis and Steele, Data parallel algorithms (1986).
template <lane::Lanes L, class Value, class Op>
KOKKOS_FUNCTION void inclusive_scan(L const& lanes, Value& value, Op const& op) {
  for (int distance = 1; distance < L::width; distance *= 2) {
    Value const earlier = lanes.shift_up(value, distance);
    lanes.each([&](int lane, auto& own, auto const& left) { own = lane >= distance ? op(left, own) : own; }, value,
               earlier);
  }
}

/// Turns the result of inclusive_scan into the exclusive one: every lane gets its left neighbour's value, and lane
/// 0 gets `first`.
template <lane::Lanes L, class Value, class T>
[[nodiscard]] KOKKOS_FUNCTION Value exclusive_from_inclusive(L const& lanes, Value const& inclusive, T const& first) {
  Value result = lanes.shift_up(inclusive, 1);
  lanes.each([&](int lane, auto& own) { own = lane == 0 ? first : own; }, result);
  return result;
}

}  // namespace tessera::thread
