#pragma once
/// \file
/// One thread's part of a softmax over a piece of an array: one sweep for the maximum and the sum of exponentials,
/// another sweep for the results.
///
/// Two implementations of the same two functions, `sum` and `write`:
/// - LaneSoftmax: several threads share the piece; each lane has several 16-byte accesses in flight.
/// - LoopSoftmax: one host thread, with vectorisable loops over blocks that fit the first-level cache.
///
/// Both compute the softmax of `factor * x`, with factor > 0. x and y may be the same array.
///
/// Must be called by all lanes of a thread. No scratch, no barriers. `sum` returns the result of the thread's part, in
/// every lane.
///
/// Example, factor 1: sum of 1 2 3 -> {3, e^-2 + e^-1 + 1}; write(.., max 3, inverse 1/1.503) -> 0.0900 0.2447 0.6652.

#include <Kokkos_Core.hpp>

#include <cmath>
#include <cstddef>

#include <tessera/collective/exponential.hpp>
#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/online_sum.hpp>
#include <tessera/collective/thread/reduce.hpp>
#include <tessera/collective/thread/rows.hpp>

namespace tessera::thread {

/// The larger of two values, in one instruction. It may lose a NaN, but the sum of exponentials then keeps it.
template <class T>
struct Larger {
  [[nodiscard]] KOKKOS_FUNCTION T operator()(T const& a, T const& b) const { return b > a ? b : a; }
};

/// Parts of N-element packs, which `threads` threads take in turn. If N is above 1, pieces that are not aligned for
/// packs are accessed element by element.
template <class T, lane::Lanes L, int N>
struct LaneSoftmax {
  using OnlineSum = collective::OnlineSum<T>;
  static constexpr int in_flight = N == 1 ? 8 : 4;  // packs in flight per lane
  static constexpr int part = in_flight * L::width * N;
  using Items = Rows<T, in_flight, N>;

  L lanes;
  int thread;
  int threads;
  T factor;

  /// Returns the rounding steps of a sum: over a lane's parts, the elements of a part, and the lanes.
  [[nodiscard]] static double rounding_steps(double count, int threads) {
    using Merge = collective::MergeOnlineSums<T>;
    return Merge::rounding_steps * (std::ceil(count / part / threads) + std::log2(L::width)) + in_flight * N;
  }

  [[nodiscard]] KOKKOS_FUNCTION OnlineSum sum(T const* piece, std::size_t count) const {
    auto sums = lanes.template fill<OnlineSum>(OnlineSum{});
    std::size_t const parts = (count + part - 1) / part;
    for (std::size_t p = thread; p < parts; p += threads) {
      typename L::template Value<Items> items;
      load_rows(lanes, piece + p * part, count_before(p * part, count, part), collective::minus_infinity<T>(), items);
      lanes.each([&](int, OnlineSum& own, Items const& of) { add(of, own); }, sums, items);
    }
    return reduce<OnlineSum>(lanes, sums, collective::MergeOnlineSums<T>{});
  }

  /// Runs from the end to the beginning, because elements that were read last may still be in a cache.
  KOKKOS_FUNCTION void write(T const* piece, T* out, std::size_t count, T max, T inverse) const {
    std::size_t const parts = (count + part - 1) / part;
    for (std::size_t i = thread; i < parts; i += threads) {
      std::size_t const p = parts - 1 - i;
      int const size = count_before(p * part, count, part);
      typename L::template Value<Items> items;
      load_rows(lanes, piece + p * part, size, collective::minus_infinity<T>(), items);
      lanes.each(
          [&](int, Items& of) {
            for (int k = 0; k < in_flight; ++k) {
              for (int e = 0; e < N; ++e) {
                of.at[k][e] = collective::exp_nonpositive(of.at[k][e] * factor - max) * inverse;
              }
            }
          },
          items);
      store_rows(lanes, out + p * part, size, items);
    }
  }

 private:
  // Adds a part, with one rescaling for all its elements.
  KOKKOS_FUNCTION void add(Items const& of, OnlineSum& own) const {
    T max = own.max;
    for (int k = 0; k < in_flight; ++k) {
      for (int e = 0; e < N; ++e) max = Larger<T>{}(max, of.at[k][e] * factor);
    }
    T const reference = collective::online_reference(max);
    T sum = T(0);
    for (int k = 0; k < in_flight; ++k) {
      for (int e = 0; e < N; ++e) sum += collective::exp_nonpositive(of.at[k][e] * factor - reference);
    }
    own.sum = own.sum * collective::exp_nonpositive(own.max - reference) + sum;
    own.max = max;
  }
};

/// A whole piece by one host thread. Sums are kept in `wide` chains.
template <class T>
struct LoopSoftmax {
  using OnlineSum = collective::OnlineSum<T>;
  static constexpr int wide = 64;
  static constexpr int block = 4096;  // elements that fit the first-level cache

  T factor;

  /// Returns the rounding steps of a sum: over blocks, within a chain, and over the chains.
  [[nodiscard]] static double rounding_steps(double count) {
    using Merge = collective::MergeOnlineSums<T>;
    return Merge::rounding_steps * std::ceil(count / block) + static_cast<double>(block) / wide + wide + wide;
  }

  /// Returns max_j factor * x_j; NaNs are ignored.
  [[nodiscard]] KOKKOS_FUNCTION T max(T const* piece, std::size_t count) const {
    T of[wide];
    for (int e = 0; e < wide; ++e) of[e] = collective::minus_infinity<T>();
    std::size_t i = 0;
    for (; i + wide <= count; i += wide) {
      for (int e = 0; e < wide; ++e) of[e] = Larger<T>{}(of[e], piece[i + e] * factor);
    }
    for (; i < count; ++i) of[0] = Larger<T>{}(of[0], piece[i] * factor);
    for (int e = 1; e < wide; ++e) of[0] = Larger<T>{}(of[0], of[e]);
    return of[0];
  }

  /// Calls `use(i, exponentials, n)` for runs of n values e^(factor * x - reference), which begin at element i. Returns
  /// the sum of all these values.
  template <class Use>
  KOKKOS_FUNCTION T exponentials(T const* piece, std::size_t count, T reference, Use const& use) const {
    T sums[wide] = {};
    T values[wide];
    std::size_t i = 0;
    for (; i + wide <= count; i += wide) {
      for (int e = 0; e < wide; ++e) {
        values[e] = collective::exp_nonpositive(piece[i + e] * factor - reference);
        sums[e] += values[e];
      }
      use(i, values, wide);
    }
    int const left = static_cast<int>(count - i);
    for (int e = 0; e < left; ++e) {
      values[e] = collective::exp_nonpositive(piece[i + e] * factor - reference);
      sums[e] += values[e];
    }
    use(i, values, left);
    T sum = T(0);
    for (int e = 0; e < wide; ++e) sum += sums[e];
    return sum;
  }

  [[nodiscard]] KOKKOS_FUNCTION OnlineSum sum(T const* piece, std::size_t count) const {
    OnlineSum own;
    for (std::size_t begin = 0; begin < count; begin += block) {
      std::size_t const size = count_before(begin, count, block);
      T const larger = Larger<T>{}(own.max, max(piece + begin, size));
      T const reference = collective::online_reference(larger);
      T const of_block = exponentials(piece + begin, size, reference, [](std::size_t, T const*, int) {});
      own.sum = own.sum * collective::exp_nonpositive(own.max - reference) + of_block;
      own.max = larger;
    }
    return own;
  }

  KOKKOS_FUNCTION void write(T const* piece, T* out, std::size_t count, T max, T inverse) const {
    for (std::size_t end = count; end > 0;) {
      std::size_t const begin = (end - 1) / block * block;
      exponentials(piece + begin, end - begin, max, [&](std::size_t i, T const* values, int size) {
        for (int e = 0; e < size; ++e) out[begin + i + e] = values[e] * inverse;
      });
      end = begin;
    }
  }

  /// Sum and results in one call, for a piece that fits a cache: every exponential is computed only once.
  KOKKOS_FUNCTION void whole(T const* piece, T* out, std::size_t count) const {
    T const largest = max(piece, count);
    T const sum = exponentials(piece, count, largest, [&](std::size_t i, T const* values, int size) {
      for (int e = 0; e < size; ++e) out[i + e] = values[e];
    });
    T const inverse = OnlineSum{largest, sum}.inverse();
    for (std::size_t i = 0; i < count; ++i) out[i] *= inverse;
  }
};

}  // namespace tessera::thread
