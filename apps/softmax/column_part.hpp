#pragma once
/// \file
/// One lane's part of a softmax of columns: a pack of columns, and every so many rows of them.

#include <cstddef>
#include <cstdint>

#include <tessera/collective/online_sum.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/collective/thread/softmax_piece.hpp>

namespace tessera::softmax {

/// What N columns sum up to.
template <class T, int N>
struct ColumnSums {
  collective::OnlineSum<T> at[N];
};

/// Who calls: any lane, by itself; a column's lanes below each other then meet in scratch. Barriers: in `meet` alone.
template <class T, int N>
struct ColumnPart {
  using Pack = collective::Pack<T, N>;
  using Sum = collective::OnlineSum<T>;
  using Sums = ColumnSums<T, N>;
  using Merge = collective::MergeOnlineSums<T>;
  static constexpr int in_flight = N == 1 ? 8 : 4;  // rows that a lane has under way

  T const* x;
  T* y;
  std::size_t cols;
  int across;  // lanes side by side
  int down;    // lanes below each other: from one of a lane's rows to the next

  /// What rows first, first + down, ... of N columns sum up to.
  [[nodiscard]] KOKKOS_FUNCTION Sums of_rows(std::size_t col, std::size_t first, std::size_t end) const {
    Sums sums{};
    std::size_t const apart = static_cast<std::size_t>(down);
    for (std::size_t row = first; row < end; row += apart * in_flight) {
      Pack rows[in_flight];
      for (int k = 0; k < in_flight; ++k) {
        if (row + k * apart < end) {
          rows[k] = collective::pack_at<N>(x + (row + k * apart) * cols + col);
        } else {
          for (int e = 0; e < N; ++e) rows[k][e] = collective::minus_infinity<T>();
        }
      }
      for (int e = 0; e < N; ++e) {
        Sum& own = sums.at[e];
        T max = own.max;
        for (int k = 0; k < in_flight; ++k) max = thread::Larger<T>{}(max, rows[k][e]);
        T const reference = collective::online_reference(max);
        T sum = T(0);
        for (int k = 0; k < in_flight; ++k) sum += collective::exp_nonpositive(rows[k][e] - reference);
        own.sum = own.sum * collective::exp_nonpositive(own.max - reference) + sum;
        own.max = max;
      }
    }
    return sums;
  }

  /// Merges what the lanes below each other have. Who calls: all threads of the team. Scratch: one value a thread.
  /// Barriers: the caller needs none before; result: in the scratch of the topmost lane, for every thread.
  template <class Member>
  KOKKOS_FUNCTION void meet(Member const& team, Sums const& own, Sums* scratch) const {
    int const below = team.team_rank() / across;
    scratch[team.team_rank()] = own;
    for (int stride = 1; stride < down; stride *= 2) {
      team.team_barrier();
      if (below % (2 * stride) == 0 && below + stride < down) {
        Sums& upper = scratch[team.team_rank()];
        Sums const& lower = scratch[team.team_rank() + stride * across];
        for (int e = 0; e < N; ++e) upper.at[e] = Merge{}(upper.at[e], lower.at[e]);
      }
    }
    team.team_barrier();
  }

  /// The results of the same rows, from the last to the first.
  KOKKOS_FUNCTION void write(std::size_t col, std::size_t first, std::size_t end, T const (&max)[N],
                             T const (&inverse)[N]) const {
    if (first >= end) return;
    auto const apart = static_cast<std::int64_t>(down);
    std::int64_t const rounds = static_cast<std::int64_t>((end - first - 1) / down) + 1;
    for (std::int64_t round = rounds - 1; round >= 0; round -= in_flight) {
      Pack rows[in_flight];  // at the end some are read once more, and dropped: no access has a condition
      for (int k = 0; k < in_flight; ++k) {
        rows[k] = collective::pack_at<N>(x + (first + (round < k ? 0 : round - k) * apart) * cols + col);
      }
      for (int k = 0; k < in_flight; ++k) {
        if (round < k) continue;
        Pack out;
        for (int e = 0; e < N; ++e) out[e] = collective::exp_nonpositive(rows[k][e] - max[e]) * inverse[e];
        collective::pack_at<N>(y + (first + (round - k) * apart) * cols + col) = out;
      }
    }
  }
};

}  // namespace tessera::softmax
