#pragma once
/// \file
/// Scans over a team, computed by its lanes.

#include <Kokkos_Macros.hpp>

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/team/team.hpp>
#include <tessera/collective/thread/scan.hpp>

namespace tessera::team {

/// The result of scan_threads: the combination of the earlier threads' values, and the combination of all threads'
/// values.
template <class T>
struct ThreadPrefix {
  T before;
  T total;
};

/// Exclusive scan of one value per thread.
///
/// Must be called by all lanes of every thread. `value`: the same in all lanes of a thread. Scratch: the caller's
/// `scratch`, one value per thread, which may be overwritten only after the caller's next barrier. Barriers: one, in
/// the middle. Operator: associative with identity; the order of threads is kept. The result is valid in every lane.
///
/// Example, 4 threads, sum: values 3 1 4 1 -> before 0 3 4 8, total 9.
template <Team M, lane::Lanes L, class T, class Op>
[[nodiscard]] KOKKOS_FUNCTION ThreadPrefix<T> scan_threads(M const& team, L const& lanes, T const& value, T* scratch,
                                                           Op const& op) {
  lanes.each([&](int lane) {
    if (lane == 0) scratch[team.team_rank()] = value;
  });
  team.team_barrier();
  // Every thread scans all totals itself. This takes no more steps than a scan by one thread, and saves a second
  // barrier.
  ThreadPrefix<T> result{op.identity(), op.identity()};
  for (int first = 0; first < team.team_size(); first += L::width) {
    auto totals = lanes.template fill<T>(op.identity());
    lanes.each(
        [&](int lane, T& total) {
          if (first + lane < team.team_size()) total = scratch[first + lane];
        },
        totals);
    thread::inclusive_scan(lanes, totals, op);
    // The place of the previous thread, if it is among these.
    int const previous = team.team_rank() - 1 - first;
    T const upto_previous = lanes.template read<T>(totals, previous >= 0 && previous < L::width ? previous : 0);
    if (previous >= 0 && previous < L::width) result.before = op(result.total, upto_previous);
    result.total = op(result.total, lanes.template read<T>(totals, L::width - 1));
  }
  return result;
}

/// Replaces data[0, n) in scratch by its inclusive scan. Lanes scan rows of W elements, a thread carries the sum from
/// row to row of its part, and the team adds the total before the thread's part.
///
/// Must be called by all lanes of every thread. Scratch: the caller's `data` (n values) and `totals` (one value per
/// thread). Barriers: the caller needs none between filling `data` and the call; data is valid for every thread at the
/// end. Operator: associative with identity; the order of elements is kept.
///
/// Example, 2 threads of 2 lanes, n = 6, sum: 3 1 4 1 5 9 -> parts of 4: rows 3 4, 8 9 | 5 14 -> 3 4 8 9 14 23.
template <Team M, lane::Lanes L, class T, class Op>
KOKKOS_FUNCTION void lane_scan(M const& team, L const& lanes, T* data, T* totals, int n, Op const& op) {
  // Parts are whole rows, so that all lanes of a warp take the same number of steps.
  int const rows = (n + L::width * team.team_size() - 1) / (L::width * team.team_size());
  int const begin = team.team_rank() * rows * L::width;
  team.team_barrier();
  T carry = op.identity();
  for (int row = 0; row < rows; ++row) {
    auto values = lanes.template fill<T>(op.identity());
    int const first = begin + row * L::width;
    lanes.each(
        [&](int lane, T& value) {
          if (first + lane < n) value = data[first + lane];
        },
        values);
    thread::inclusive_scan(lanes, values, op);
    lanes.each(
        [&](int lane, T& value) {
          value = op(carry, value);
          if (first + lane < n) data[first + lane] = value;
        },
        values);
    carry = lanes.template read<T>(values, L::width - 1);
  }
  T const before = scan_threads(team, lanes, carry, totals, op).before;
  for (int row = 0; row < rows; ++row) {
    int const first = begin + row * L::width;
    lanes.each([&](int lane) {
      if (first + lane < n) data[first + lane] = op(before, data[first + lane]);
    });
  }
  team.team_barrier();
}

}  // namespace tessera::team
