#pragma once
/// \file
/// The mean and the inverse standard deviation of a row, by the nested reductions of a team.
///
/// Both are of the distances of the row's elements from its first one. If the mean is large and the variance small,
/// these distances are exact and their mean is small, while the mean of x itself would have a rounding error larger
/// than the row's variation. If the sum of the distances or of their squares leaves the range, they are scaled and
/// summed again (in_range.hpp).
///
/// Example: x = [1 3], eps -> 0: shift 1, mean 1, inv_std 1, and xhat = [-1 1].

#include <Kokkos_Core.hpp>

#include <cstddef>

#include <tessera/collective/in_range.hpp>

namespace tessera::team {

/// A row's statistics: its first element, the mean of the distances from it, and 1 / sqrt(variance + eps).
template <class T>
struct NormalisedRow {
  T shift = 0;
  T mean = 0;
  T inv_std = 0;

  /// Returns xhat. The order of the subtractions matters: the first one is exact if x is near its row's first element.
  [[nodiscard]] KOKKOS_FUNCTION T operator()(T x) const { return ((x - shift) - mean) * inv_std; }
};

/// All threads of the team call it and get the same statistics. It is a barrier of the team.
/// \param row TeamVectorRange(team, cols)
/// \param x x(h) is element h, for any h < cols.
/// \param eps Added to the variance.
template <class T, class Range, class Element>
[[nodiscard]] KOKKOS_INLINE_FUNCTION NormalisedRow<T> normalised_row(Range const& row, Element const& x,
                                                                     std::size_t cols, T eps) {
  auto const count = static_cast<T>(cols);
  NormalisedRow<T> result{.shift = x(0)};
  for (T scale = 1;; scale = collective::shrink<T>) {  // once more if a sum has left the range
    T sum = 0;
    Kokkos::parallel_reduce(row, [&](std::size_t h, T& part) { part += (x(h) - result.shift) * scale; }, sum);
    result.mean = sum / count / scale;
    T squares = 0;
    Kokkos::parallel_reduce(
        row,
        [&](std::size_t h, T& part) {
          T const deviation = ((x(h) - result.shift) - result.mean) * scale;
          part += deviation * deviation;
        },
        squares);
    result.inv_std = scale / Kokkos::sqrt(squares / count + eps * scale * scale);
    if (result.inv_std > 0 || scale < 1) return result;
  }
}

}  // namespace tessera::team
