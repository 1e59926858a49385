#pragma once
/// \file
/// The sum of a contiguous piece of an array by the lanes of one or more threads. Each thread sums its part.
///
/// Must be called by all lanes of a thread. No scratch, no barriers. Returns the sum of the thread's part, in every
/// lane.
///
/// Example, 2 threads of 2 lanes, packs of 4, 2 in flight, 21 elements that begin one element before a 16-byte
/// boundary: thread 0 sums 1 .. 16 (lane 0: 1-4 and 9-12), and thread 1 sums 0 and 17 .. 20.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include <tessera/collective/accumulator.hpp>
#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/operators.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/collective/pairwise.hpp>
#include <tessera/collective/thread/reduce.hpp>

namespace tessera::thread {

/// Sums elements of type T by lanes L. Accesses have 16 bytes from the first 16-byte boundary on, with `InFlight` in
/// flight per lane. Elements before that boundary and the remaining ones at the end are read one by one.
template <class T, lane::Lanes L, int InFlight = 4>
struct PieceSum {
  using Sum = collective::Accumulator<T>;
  static constexpr int pack = collective::pack_width<T>;
  using Pack = collective::Pack<T, pack>;
  static constexpr int in_flight = InFlight;    // packs in flight per lane
  static constexpr int line = L::width * pack;  // elements that a thread's lanes read with one access
  static constexpr int part = in_flight * line;
  struct Sums {
    Sum at[pack];
  };

  L lanes;
  int thread;
  int threads;

  /// Returns the rounding steps of a sum: over packs in flight, parts, and lines (or head and tail); over the sums of a
  /// lane; over the lanes.
  [[nodiscard]] static double rounding_steps(double count, int threads) {
    double const of_parts = std::log2(in_flight) + std::ceil(count / part / threads);
    double const of_ends = std::ceil((pack - 1.0) / L::width) + pack;
    return std::max(of_parts + in_flight, of_ends) + pack + std::log2(L::width);
  }

  [[nodiscard]] KOKKOS_FUNCTION Sum operator()(T const* piece, std::size_t count) const {
    std::size_t const before = (0 - reinterpret_cast<std::uintptr_t>(piece)) % sizeof(Pack) / sizeof(T);
    int const head = static_cast<int>(before < count ? before : count);
    T const* const body = piece + head;
    std::size_t const parts = (count - head) / part;
    auto sums = lanes.template fill<Sums>(Sums{});
    for (std::size_t p = thread; p < parts; p += threads) {
      auto const* const packs = reinterpret_cast<Pack const*>(body + p * part);
      lanes.each(
          [&](int lane, Sums& own) {
            Pack values[in_flight];
            for (int k = 0; k < in_flight; ++k) values[k] = packs[k * L::width + lane];
            Sum of_packs[in_flight][pack];
            for (int k = 0; k < in_flight; ++k) {
              for (int e = 0; e < pack; ++e) of_packs[k][e] = static_cast<Sum>(values[k][e]);
            }
            collective::add_pairwise(of_packs, own.at);
          },
          sums);
    }
    // The rest is less than a part: whole lines first, then single elements, together with the head.
    T const* const rest = body + parts * part;
    int const rest_count = static_cast<int>(count - head - parts * part);
    int const lines = rest_count / line;
    for (int l = thread; l < lines; l += threads) {
      auto const* const packs = reinterpret_cast<Pack const*>(rest + l * line);
      lanes.each(
          [&](int lane, Sums& own) {
            Pack const values = packs[lane];
            for (int e = 0; e < pack; ++e) own.at[e] += static_cast<Sum>(values[e]);
          },
          sums);
    }
    auto of_lane = lanes.template fill<Sum>(Sum(0));
    bool const has_packs = parts != 0 || lines != 0;
    bool const has_ends = thread == threads - 1;  // the last thread has the least work
    lanes.each(
        [&](int lane, Sum& sum, Sums const& own) {
          if (has_ends) {
            for (int i = lane; i < head; i += L::width) sum += static_cast<Sum>(piece[i]);
            for (int i = lines * line + lane; i < rest_count; i += L::width) sum += static_cast<Sum>(rest[i]);
          }
          if (!has_packs) return;  // a shortcut for short rows, which may be many
          for (int e = 0; e < pack; ++e) sum += own.at[e];
        },
        of_lane, sums);
    return reduce<Sum>(lanes, of_lane, collective::Sum<Sum>{});
  }
};

/// Returns the sum over all lanes of values[begin + lane], values[begin + lane + step], ... before `end`.
template <class Sum, lane::Lanes L>
[[nodiscard]] KOKKOS_FUNCTION Sum strided_sum(L const& lanes, Sum const* values, int begin, int end, int step) {
  auto of_lane = lanes.template fill<Sum>(Sum(0));
  for (int first = begin; first < end; first += step) {
    lanes.each(
        [&](int lane, Sum& sum) {
          if (first + lane < end) sum += values[first + lane];
        },
        of_lane);
  }
  return reduce<Sum>(lanes, of_lane, collective::Sum<Sum>{});
}

}  // namespace tessera::thread
