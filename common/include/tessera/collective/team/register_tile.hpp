#pragma once
/// \file
/// One thread's part of a scan's tile, in registers from load to store.

#include <Kokkos_Macros.hpp>

#include <bit>
#include <cstddef>

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/thread/rows.hpp>
#include <tessera/collective/thread/scan.hpp>
#include <tessera/core/unroll.hpp>

namespace tessera::team {

/// `RowCount` rows of W x N elements of a scan, in the order of thread/rows.hpp.
///
/// `Elements` converts an element of memory to a value of the scan and back (kernels/detail/scan). Must be
/// called by all lanes of one thread. No scratch, no barriers. Operator: associative; the order is kept.
///
/// Example, W = 2, N = 2, 2 rows, sum, elements 3 1 4 1 5 9 2 6: lanes' sums 4 5 | 14 8, rows' totals 9 | 22, totals
/// before each lane 0 4 | 9 23, total 31.
template <lane::Lanes L, class Elements, int RowCount, int N>
class RegisterTile {
 public:
  using Scalar = typename Elements::Scalar;
  using Value = typename Elements::Value;
  static constexpr int size = RowCount * L::width * N;
  /// The longest chain of operations: the items and rows of a lane, and twice the scan over the lanes.
  static constexpr int chain = RowCount * N + 2 * (std::bit_width(static_cast<unsigned>(L::width)) - 1);

  /// Loads elements [begin, begin + size) of `data` that are before `end`; others are never read.
  KOKKOS_FUNCTION void load(L const& lanes, Elements const& elements, Scalar const* data, std::size_t begin,
                            std::size_t end) {
    begin_ = begin;
    count_ = thread::count_before(begin, end, size);
    thread::load_rows(lanes, data + begin, count_, elements.fill(), items_);
  }

  /// Scans the part and returns its total. Must be called before store().
  KOKKOS_FUNCTION Value scan(L const& lanes, Elements const& elements) {
    auto const op = elements.op();
    Value total = op.identity();
    TESSERA_UNROLL_ON_HIP
    for (int row = 0; row < RowCount; ++row) {
      auto sums = lanes.template fill<Value>(op.identity());
      lanes.each([&](int lane, Value& sum, Items const& items) { sum = lane_sum(elements, items, row, lane); }, sums,
                 items_);
      thread::inclusive_scan(lanes, sums, op);
      auto const before = thread::exclusive_from_inclusive(lanes, sums, op.identity());
      Value const carry = total;
      lanes.each([&](int, Before& kept, Value const& own) { kept.row[row] = op(carry, own); }, before_, before);
      total = op(carry, lanes.template read<Value>(sums, L::width - 1));
    }
    return total;
  }

  /// Stores the scan of the part, given the total before it, to the same positions of `data`, never past the end.
  /// Always uses ordinary stores; only MemoryTile has streaming stores.
  KOKKOS_FUNCTION void store(L const& lanes, Elements const& elements, Value const& prefix, Scalar* data,
                             bool /*past_caches*/ = false) {
    lanes.each(
        [&](int lane, Items& items, Before const& before) {
          auto const op = elements.op();
          TESSERA_UNROLL_ON_HIP
          for (int row = 0; row < RowCount; ++row) {
            Value running = op(prefix, before.row[row]);
            for (int e = 0; e < N; ++e) {
              std::size_t const i = begin_ + thread::row_offset<L::width, N>(row, lane, e);
              Value const earlier = running;
              running = op(running, elements.lift(i, items.at[row][e]));
              items.at[row][e] = elements.lower(i, earlier, running);
            }
          }
        },
        items_, before_);
    thread::store_rows(lanes, data + begin_, count_, items_);
  }

 private:
  using Items = thread::Rows<Scalar, RowCount, N>;
  struct Before {
    Value row[RowCount];
  };

  [[nodiscard]] KOKKOS_FUNCTION Value lane_sum(Elements const& elements, Items const& items, int row, int lane) const {
    auto const op = elements.op();
    Value sum = op.identity();
    for (int e = 0; e < N; ++e) {
      int const offset = thread::row_offset<L::width, N>(row, lane, e);
      sum = op(sum, elements.lift_if(offset < count_, begin_ + offset, items.at[row][e]));
    }
    return sum;
  }

  std::size_t begin_ = 0;
  int count_ = 0;
  typename L::template Value<Items> items_;
  typename L::template Value<Before> before_;
};

}  // namespace tessera::team
