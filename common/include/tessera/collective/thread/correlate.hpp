#pragma once
/// \file
/// Correlation, out[i] = a[i] * k[0] + a[i + 1] * k[1] + ... A thread computes a run of L consecutive outputs. It keeps
/// their L sums in registers and reads the input L elements at a time.

#include <Kokkos_Macros.hpp>

#include <cstddef>

#include <tessera/collective/accumulator.hpp>
#include <tessera/collective/pack.hpp>

namespace tessera::thread {

/// Consecutive values in memory, `count` of which may be read. It has the members that correlate() requires of its
/// sources: `at(i)`; `read_whole<N>(i, to)`, which reads N values from i on, i a multiple of N; and `read<N>(i, to)`,
/// which reads only the values that exist and sets the others to 0.
///
/// \tparam Aligned `data` is aligned for 16-byte packs, or for packs of N if these are smaller
template <class T, bool Aligned>
struct Span {
  T const* data;
  int count;

  [[nodiscard]] KOKKOS_INLINE_FUNCTION T at(int i) const { return data[i]; }

  template <int N>
  KOKKOS_INLINE_FUNCTION void read_whole(int i, T* to) const {
    constexpr int pack = !Aligned ? 1 : (N < collective::pack_width<T> ? N : collective::pack_width<T>);
    for (int p = 0; p < N; p += pack) {
      collective::Pack<T, pack> const values = collective::pack_at<pack>(data + i + p);
      for (int e = 0; e < pack; ++e) to[p + e] = values[e];
    }
  }
  template <int N>
  KOKKOS_INLINE_FUNCTION void read(int i, T* to) const {
    if (i + N <= count) {
      read_whole<N>(i, to);
    } else {
      for (int e = 0; e < N; ++e) to[e] = i + e < count ? data[i + e] : T(0);
    }
  }
};

namespace detail {

/// sums[t] += values[t + j] * k[j], j < count <= L.
template <int L, class T>
KOKKOS_INLINE_FUNCTION void multiply_add(T const* values, T const* k, int count, collective::Accumulator<T>* sums) {
  // Registers need constant indices, so all L taps are visited, with a mask.
  constexpr bool in_registers = L <= 8;
  int const end = in_registers ? L : count;
  for (int j = 0; j < end; ++j) {
    if (j < count) {
      for (int t = 0; t < L; ++t) sums[t] += collective::product(values[t + j], k[j]);
    }
  }
}

/// The same for Taps taps and values in memory: one pass over the sums, which a host's compiler vectorises.
template <int L, int Taps, class T>
KOKKOS_INLINE_FUNCTION void add_taps(T const* values, T const* k, collective::Accumulator<T>* sums) {
  for (int t = 0; t < L; ++t) {
    collective::Accumulator<T> sum = sums[t];
    for (int j = 0; j < Taps; ++j) sum += collective::product(values[t + j], k[j]);
    sums[t] = sum;
  }
}

/// The same, with four taps in each pass.
template <int L, class T>
KOKKOS_INLINE_FUNCTION void add_in_passes(T const* values, T const* k, int taps, collective::Accumulator<T>* sums) {
  int j = 0;
  for (; j + 4 <= taps; j += 4) add_taps<L, 4>(values + j, k + j, sums);
  switch (taps - j) {
    case 3: add_taps<L, 3>(values + j, k + j, sums); break;
    case 2: add_taps<L, 2>(values + j, k + j, sums); break;
    case 1: add_taps<L, 1>(values + j, k + j, sums); break;
    default: break;
  }
}

}  // namespace detail

/// Adds the sum over j < taps of a(t + j) * k(j) to sums[t], t < L, for t + j < left. Terms past the array's end are
/// omitted rather than multiplied by zero, because k may contain infinities.
///
/// A step loads 2 L elements and taps for L * L multiplications: with L = 8 the time is spent in arithmetic, not in
/// loads. Terms are added in the order of the taps.
///
/// May be called by any thread. \param left number of elements of `a` from its first on; may be 0 or less
///
/// Example, L = 2, taps 3, left 3: a 1 2 3, k 4 5 6 -> 1 * 4 + 2 * 5 + 3 * 6 and 2 * 4 + 3 * 5.
template <int L, class T, class A, class K>
KOKKOS_INLINE_FUNCTION void correlate(A const& a, K const& k, int taps, int left, collective::Accumulator<T>* sums) {
  if (taps + L - 1 > left) {
    int const met = taps < left ? taps : left;
    constexpr bool in_registers = L <= 8;
    for (int j = 0; j < met; ++j) {
      T const factor = k.at(j);
      int const count = left - j < L ? left - j : L;
      int const end = in_registers ? L : count;
      for (int t = 0; t < end; ++t) {
        if (t < count) sums[t] += collective::product(a.at(t + j), factor);
      }
    }
    return;
  }

  constexpr int steps = 2;  // so that L elements move to the window's beginning only every second time
  T window[(steps + 1) * L];
  T factors[L];
  a.template read<L>(0, window);
  int j = 0;
  for (; j + steps * L <= taps; j += steps * L) {
    for (int s = 1; s <= steps; ++s) a.template read<L>(j + s * L, window + s * L);
    for (int s = 0; s < steps; ++s) {
      k.template read_whole<L>(j + s * L, factors);
      detail::multiply_add<L>(window + s * L, factors, L, sums);
    }
    for (int e = 0; e < L; ++e) window[e] = window[steps * L + e];
  }
  for (; j < taps; j += L) {
    a.template read<L>(j + L, window + L);
    k.template read<L>(j, factors);
    detail::multiply_add<L>(window, factors, taps - j < L ? taps - j : L, sums);
    for (int e = 0; e < L; ++e) window[e] = window[L + e];
  }
}

/// Stores the first `count` sums to out[0 ..), as elements: with one access if count is L and `aligned` is true.
template <int L, class T>
KOKKOS_INLINE_FUNCTION void store_sums(collective::Accumulator<T> const* sums, int count, bool aligned, T* out) {
  if constexpr (L <= collective::pack_width<T>) {
    if (count >= L && aligned) {
      collective::Pack<T, L> pack;
      for (int t = 0; t < L; ++t) pack[t] = static_cast<T>(sums[t]);
      collective::pack_at<L>(out) = pack;
      return;
    }
  }
  for (int t = 0; t < L; ++t) {
    if (t < count) out[t] = static_cast<T>(sums[t]);
  }
}

/// Returns `count` in 32 bits, clamped to 2^30, which is beyond a kernel's reach.
[[nodiscard]] KOKKOS_INLINE_FUNCTION int clamped_count(std::size_t count) {
  constexpr std::size_t far = std::size_t{1} << 30;
  return static_cast<int>(count < far ? count : far);
}

}  // namespace tessera::thread
