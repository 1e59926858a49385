#pragma once
/// \file
/// One thread's part of an array, in registers, told apart into left and right elements, orders kept: every element
/// learns how many left ones stand before it in the part.
///
/// Who calls: all lanes of one thread; `part` and `count` are the same in all of them. Scratch, barriers: none.
///
/// The counts of four rows share a 32-bit word, 8 bits each, so that one scan over the lanes serves four rows: a row has
/// at most 255 elements.
///
/// Example, W = 2, N = 2, one row, left is < 5: 3 7 1 8 -> 2 left ones; 3 goes to left place 0, 1 to left place 1, 7 to
/// right place 0, 8 to right place 1.

#include <Kokkos_Macros.hpp>

#include <cstdint>

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/thread/rows.hpp>
#include <tessera/collective/thread/scan.hpp>

namespace tessera::thread {

/// One of two numbers, without a branch: on random data a host guesses every second one wrong. `first`: 1 or 0.
[[nodiscard]] KOKKOS_INLINE_FUNCTION constexpr int either(int first, int a, int b) { return b ^ ((a ^ b) & -first); }

template <lane::Lanes L, class T, int RowCount, int N>
class SplitRows {
  static_assert(L::width * N <= 255, "Tessera: the count of a row takes 8 bits");

 public:
  static constexpr int rows = RowCount;
  static constexpr int pack = N;
  static constexpr int size = RowCount * L::width * N;

  /// Loads the first `count` elements of `part`; no others are read.
  KOKKOS_FUNCTION void load(L const& lanes, T const* part, int count) {
    count_ = count;
    load_rows(lanes, part, count, T{}, values_);
  }

  /// Counts the left elements: returns how many there are, the same in every lane.
  template <class Predicate>
  [[nodiscard]] KOKKOS_FUNCTION int count(L const& lanes, Predicate const& is_left) {
    return count_ == size ? count_some<true>(lanes, is_left) : count_some<false>(lanes, is_left);
  }

  /// Calls `put(i, rank, left, value)` for each element, i its place in the part, rank the number of left elements before
  /// it in the part, left 1 or 0. After `count`, with the same predicate.
  template <class Predicate, class Put>
  KOKKOS_FUNCTION void place(L const& lanes, Predicate const& is_left, Put const& put) const {
    if (count_ == size) {
      place_some<true>(lanes, is_left, put);
    } else {
      place_some<false>(lanes, is_left, put);
    }
  }

 private:
  static constexpr int words = (RowCount + 3) / 4;
  using Own = Rows<T, RowCount, N>;
  struct Counts {
    std::uint32_t word[words];
    [[nodiscard]] KOKKOS_FUNCTION int of_row(int row) const {
      return static_cast<int>((word[row / 4] >> (8 * (row % 4))) & 0xffu);
    }
  };
  struct AddCounts {
    [[nodiscard]] KOKKOS_FUNCTION Counts operator()(Counts const& a, Counts const& b) const {
      Counts sum;
      for (int w = 0; w < words; ++w) sum.word[w] = a.word[w] + b.word[w];
      return sum;
    }
  };

  template <bool is_whole, class Predicate>
  [[nodiscard]] KOKKOS_FUNCTION int count_some(L const& lanes, Predicate const& is_left) {
    int const count = count_;
    auto own = lanes.template fill<Counts>({});
    lanes.each(
        [&](int lane, Own const& values, Counts& counts) {
          for (int row = 0; row < RowCount; ++row) {
            std::uint32_t lefts = 0;
            for (int e = 0; e < N; ++e) {
              bool const is_there = is_whole || row_offset<L::width, N>(row, lane, e) < count;
              lefts += is_there && is_left(values.at[row][e]) ? 1u : 0u;
            }
            counts.word[row / 4] += lefts << (8 * (row % 4));
          }
        },
        values_, own);
    before_ = own;
    inclusive_scan(lanes, before_, AddCounts{});
    of_rows_ = lanes.template read<Counts>(before_, L::width - 1);
    lanes.each(
        [&](int, Counts& before, Counts const& counts) {
          for (int w = 0; w < words; ++w) before.word[w] -= counts.word[w];
        },
        before_, own);
    int total = 0;
    for (int row = 0; row < RowCount; ++row) total += of_rows_.of_row(row);
    return total;
  }

  template <bool is_whole, class Predicate, class Put>
  KOKKOS_FUNCTION void place_some(L const& lanes, Predicate const& is_left, Put const& put) const {
    int const count = count_;
    Counts const of_rows = of_rows_;
    lanes.each(
        [&](int lane, Own const& values, Counts const& before) {
          int earlier_rows = 0;
          for (int row = 0; row < RowCount; ++row) {
            int rank = earlier_rows + before.of_row(row);
            // Compared all at once, in vectors; and a compiler that sees no comparison below makes no branch of it.
            int lefts[N];
            for (int e = 0; e < N; ++e) lefts[e] = is_left(values.at[row][e]) ? 1 : 0;
            for (int e = 0; e < N; ++e) {
              int const i = row_offset<L::width, N>(row, lane, e);
              if (is_whole || i < count) {
                put(i, rank, lefts[e], values.at[row][e]);
                rank += lefts[e];
              }
            }
            earlier_rows += of_rows.of_row(row);
          }
        },
        values_, before_);
  }

  typename L::template Value<Own> values_;
  typename L::template Value<Counts> before_;  // in the lanes before, row by row
  Counts of_rows_;
  int count_;
};

}  // namespace tessera::thread
