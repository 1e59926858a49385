#pragma once
/// \file
/// Trailing windows, out[i] = op(a[i - window + 1] .. a[i]). A thread computes a run of L consecutive outputs in its
/// registers, because neighbouring windows share all elements except at their ends.

#include <Kokkos_Macros.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <type_traits>

#include <tessera/collective/in_range.hpp>
#include <tessera/collective/pack.hpp>

namespace tessera::thread {

/// Reads N elements: with one access if that is at most 16 bytes wide (`from` must be aligned for it), otherwise one by
/// one.
template <int N, class T>
KOKKOS_INLINE_FUNCTION void read_run(T const* from, T* to) {
  if constexpr (N <= collective::pack_width<T>) {
    collective::Pack<T, N> const pack = collective::pack_at<N>(from);
    for (int e = 0; e < N; ++e) to[e] = pack[e];
  } else {
    for (int e = 0; e < N; ++e) to[e] = from[e];
  }
}

template <int N, class T>
KOKKOS_INLINE_FUNCTION void write_run(T const* from, T* to) {
  if constexpr (N <= collective::pack_width<T>) {
    collective::Pack<T, N> pack;
    for (int e = 0; e < N; ++e) pack[e] = from[e];
    collective::pack_at<N>(to) = pack;
  } else {
    for (int e = 0; e < N; ++e) to[e] = from[e];
  }
}

/// The number of elements that window_run folds side by side: lanes of a vector register, or independent chains.
template <int L>
inline constexpr int fold_width = L == 1 ? 8 : L;

/// Returns the fold of data[0 .. count), in fold_width<L> chains: the operator must commute. `data + count` must be
/// aligned as for read_run<L>.
template <int L, class T, class Op>
[[nodiscard]] KOKKOS_INLINE_FUNCTION T fold_chains(Op const& op, T const* data, std::size_t count) {
  constexpr int width = fold_width<L>;
  T chains[width];
  auto const head = static_cast<int>(count % width);
  for (int e = 0; e < width; ++e) chains[e] = e < head ? data[e] : op.identity();
  for (T const* at = data + head; at != data + count; at += width) {
    T values[width];
    read_run<width>(at, values);
    for (int e = 0; e < width; ++e) chains[e] = op(chains[e], values[e]);
  }
  for (int half = width / 2; half > 0; half /= 2) {
    for (int e = 0; e < half; ++e) chains[e] = op(chains[e], chains[e + half]);
  }
  return chains[0];
}

/// Returns true if the window is short: it has at most L + 1 elements, and so reaches back no farther than one run.
template <int L>
[[nodiscard]] KOKKOS_INLINE_FUNCTION constexpr bool is_short_window(std::size_t window) {
  return window <= static_cast<std::size_t>(L) + 1;
}

/// window_run for a short window: element by element, for all L outputs at once.
template <int L, class T, class Op>
KOKKOS_INLINE_FUNCTION void short_window_run(Op const& op, T const* at, std::size_t window, std::size_t before,
                                             T* out) {
  T values[2 * L];
  if (before >= L) {
    read_run<L>(at - L, values);
  } else {
    for (int e = 0; e < L; ++e) values[e] = static_cast<std::size_t>(L - e) <= before ? at[e - L] : op.identity();
  }
  read_run<L>(at, values + L);
  for (int t = 0; t < L; ++t) out[t] = values[L + t];
  // Registers need constant indices, so all possible elements are visited, with a mask.
  constexpr bool in_registers = L <= 8;
  auto const taps = static_cast<int>(window);
  int const end = in_registers ? L + 1 : taps;
  for (int tap = 1; tap < end; ++tap) {
    if (tap < taps) {
      for (int t = 0; t < L; ++t) out[t] = op(values[L + t - tap], out[t]);
    }
  }
}

/// window_run for any other window. The core at[L - window .. -1], which all L windows share, is folded once. The parts
/// before the core are folded backwards from it, the parts after it forwards from at[0]. This takes (window - L) / L +
/// 3 operations per output. Nothing is subtracted, so any commutative operator works and no digits cancel. Source: van
/// Herk (1992); Gil and Werman, Computing 2-D min, median, and max filters (1993). Here blocks are as long as the run,
/// not as the window.
///
/// Example, L = 4, window 6, sum, at[-5 ..]: 1 2 3 4 5 | 6 7 8 9: the core is 4 + 5; begins including the core 15 14 12
/// 9; ends 6 13 21 30; out 21 27 33 39.
template <int L, class T, class Op>
KOKKOS_INLINE_FUNCTION void long_window_run(Op const& op, T const* at, std::size_t window, std::size_t before, T* out) {
  std::size_t const core = window - L < before ? window - L : before;
  T begins[L];
  begins[L - 1] = fold_chains<L>(op, at - core, core);
  for (int t = L - 2; t >= 0; --t) {
    std::size_t const back = window - 1 - static_cast<std::size_t>(t);
    begins[t] = back <= before ? op(*(at - back), begins[t + 1]) : begins[t + 1];
  }
  T values[L];
  read_run<L>(at, values);
  T end = values[0];
  out[0] = op(begins[0], end);
  for (int t = 1; t < L; ++t) {
    end = op(end, values[t]);
    out[t] = op(begins[t], end);
  }
}

/// Computes out[t] = op over at[t - window + 1 .. t], t < L, without elements before at[-before].
///
/// May be called by any thread. `at` must be aligned as for read_run<L>, and at[-before .. L) must be readable. The
/// operator must commute.
///
/// Example, L = 4, window 3, sum, at[-2 ..]: 1 2 | 3 4 5 6 -> 6 9 12 15.
template <int L, class T, class Op>
KOKKOS_INLINE_FUNCTION void window_run(Op const& op, T const* at, std::size_t window, std::size_t before, T* out) {
  if (is_short_window<L>(window)) {
    short_window_run<L>(op, at, window, before, out);
  } else {
    long_window_run<L>(op, at, window, before, out);
  }
}

/// Returns the mean of at[1 - elements .. 0] if their sum may overflow. It uses as many chains as window_run, so that
/// no chain is longer. It is slow, because it shares nothing with the next window; overflows are rare.
template <int L, class T>
[[nodiscard]] KOKKOS_FUNCTION T mean_of_huge(T const* at, std::size_t elements) {
  constexpr T scale = collective::shrink<T>;
  constexpr int width = fold_width<L>;
  T chains[width] = {};
  for (std::size_t first = 0; first < elements; first += width) {
    for (int e = 0; e < width; ++e) {
      if (first + e < elements) chains[e] += *(at - (first + e)) * scale;
    }
  }
  for (int half = width / 2; half > 0; half /= 2) {
    for (int e = 0; e < half; ++e) chains[e] += chains[e + half];
  }
  return chains[0] / static_cast<T>(elements) / scale;
}

/// A tag: the length of the runs by which windows were folded.
template <int L>
struct RunOf {};

/// Turns folded windows into results. For a mean, divides by the number of elements in the window; if the result is not
/// finite, computes the mean again with scaled terms. May be called by any thread.
template <class T>
struct FinishWindow {
  std::size_t window;
  bool mean;

  /// Returns an object for arrays of n elements; `window` is clamped to 1 .. n. Call it on the host.
  [[nodiscard]] static FinishWindow of(std::size_t n, std::size_t window, bool mean) {
    return {std::clamp<std::size_t>(window, 1, std::max<std::size_t>(1, n)), mean};
  }

  /// Replaces values[0 .. count), which are folds of `in` by runs of L, by the results of outputs begin,
  /// begin + 1, and so on. Only the first `valid` values are used.
  template <int L>
  KOKKOS_FUNCTION void operator()(RunOf<L>, std::size_t begin, T* values, int count, T const* in, int valid) const {
    if constexpr (std::is_floating_point_v<T>) {
      if (!mean) return;
      if (begin + 1 >= window) {
        for (int t = 0; t < count; ++t) values[t] /= static_cast<T>(window);
      } else {
        for (int t = 0; t < count; ++t) {
          std::size_t const present = begin + static_cast<std::size_t>(t) + 1;
          values[t] /= static_cast<T>(present < window ? present : window);
        }
      }
      bool in_range = true;
      for (int t = 0; t < count; ++t) in_range &= collective::is_in_range(values[t]);
      if (in_range) return;
      for (int t = 0; t < count; ++t) {
        if (t >= valid || collective::is_in_range(values[t])) continue;
        std::size_t const place = begin + static_cast<std::size_t>(t);
        values[t] = mean_of_huge<L>(in + place, place + 1 < window ? place + 1 : window);
      }
    }
  }
};

/// Returns the length of the longest chain of operations in window_run<L>.
template <int L>
[[nodiscard]] double window_run_steps(std::size_t window) {
  if (is_short_window<L>(window)) return static_cast<double>(window) - 1;
  double const chain = static_cast<double>((window - L) / fold_width<L>);
  double const steps = chain + std::log2(fold_width<L>) + (L - 1) + 1;
  return std::min(steps, static_cast<double>(window) - 1);
}

}  // namespace tessera::thread
