#pragma once
/// \file
/// One thread's part of a scan's tile, which stays in memory: it is read once for its total, and again from the cache
/// for its scan.

#include <Kokkos_Macros.hpp>

#include <cstddef>

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/collective/streaming_store.hpp>
#include <tessera/collective/thread/rows.hpp>

namespace tessera::team {

/// `BlockCount` blocks of elements, each of `RunCount` runs of `RunLength` neighbours. Operations within a run depend
/// on each other and have a latency of some clocks. A thread therefore interleaves a block's runs. Between scan() and
/// store() it keeps the total before each run.
///
/// `Elements` converts an element of memory to a value of the scan and back (kernels/detail/scan). The
/// interface is the same as RegisterTile's, but lanes are not used. For hosts, whose caches hold more than their
/// registers. Must be called by one thread. No scratch, no barriers. Operator: associative; the order is kept.
///
/// Example, blocks of 2 runs of 2, sum, elements 3 1 4 1 5 9 2: runs 3 1 | 4 1, totals before them 0 | 4; the remaining
/// 5 9 2 are less than a block and form one run, total before it 9; total 25.
template <lane::Lanes L, class Elements, int BlockCount, int RunCount, int RunLength>
class MemoryTile {
 public:
  using Scalar = typename Elements::Scalar;
  using Value = typename Elements::Value;
  static constexpr int block = RunCount * RunLength;
  static constexpr int size = BlockCount * block;
  /// The longest chain of operations: a run, its block's runs, the blocks, the prefix, and a run or an incomplete
  /// block.
  static constexpr int chain = RunLength + RunCount + BlockCount + 1 + block;

  /// Takes elements [begin, begin + size) of `data` that are before `end`; others are never read.
  KOKKOS_FUNCTION void load(L const&, Elements const&, Scalar const* data, std::size_t begin, std::size_t end) {
    data_ = data;
    begin_ = begin;
    count_ = thread::count_before(begin, end, size);
  }

  /// Returns the part's total. Must be called before store().
  KOKKOS_FUNCTION Value scan(L const&, Elements const& elements) {
    auto const op = elements.op();
    auto const add = [&](Value& sum, std::size_t i) { sum = op(sum, elements.lift(i, data_[i])); };
    Value total = op.identity();
    for (int b = 0; b < count_ / block; ++b) {
      Value runs[RunCount];
      for (Value& run : runs) run = op.identity();
      side_by_side(b, runs, add);
      Value of_block = op.identity();
      for (int r = 0; r < RunCount; ++r) {
        before_[b * RunCount + r] = op(total, of_block);
        of_block = op(of_block, runs[r]);
      }
      total = op(total, of_block);
    }
    before_rest_ = total;
    for (int i = count_ / block * block; i < count_; ++i) add(total, begin_ + i);
    return total;
  }

  /// Stores the scan of the part, given the total before it, to the same positions of `data`, never past the end.
  /// `data` may be the array that the elements were loaded from. `past_caches`: uses streaming stores if `data` is
  /// aligned for them, and then the required fence.
  KOKKOS_FUNCTION void store(L const&, Elements const& elements, Value const& prefix, Scalar* data,
                             bool past_caches = false) {
    auto const op = elements.op();
    auto const next = [&](Value& running, std::size_t i) {
      Value const earlier = running;
      running = op(running, elements.lift(i, data_[i]));
      return elements.lower(i, earlier, running);
    };
    for (int b = 0; b < count_ / block; ++b) {
      Value runs[RunCount];
      for (int r = 0; r < RunCount; ++r) runs[r] = op(prefix, before_[b * RunCount + r]);
      Scalar* const to = data + begin_ + b * block;
      if (past_caches && stream_block(b, runs, next, to)) continue;
      side_by_side(b, runs, [&](Value& running, std::size_t i) { data[i] = next(running, i); });
    }
    Value running = op(prefix, before_rest_);
    for (int i = count_ / block * block; i < count_; ++i) data[begin_ + i] = next(running, begin_ + i);
    if (past_caches) collective::streaming_fence();
  }

 private:
  static constexpr int pack = 16 % sizeof(Scalar) == 0 ? 16 / static_cast<int>(sizeof(Scalar)) : 0;

  // Computes a block's results by interleaved runs, then stores them pack by pack from the cache to `to`. Returns false
  // without storing if `to` is not aligned.
  template <class Next>
  KOKKOS_FUNCTION bool stream_block(int b, Value (&runs)[RunCount], Next const& next, Scalar* to) const {
    if constexpr (pack == 0 || block % (pack == 0 ? 1 : pack) != 0) {
      return false;
    } else {
      if (!collective::is_aligned_for_packs<pack>(to)) return false;
      collective::Pack<Scalar, pack> results[block / pack];
      std::size_t const first = begin_ + b * block;
      side_by_side(b, runs, [&](Value& running, std::size_t i) {
        int const at = static_cast<int>(i - first);
        results[at / pack][at % pack] = next(running, i);
      });
      for (int p = 0; p < block / pack; ++p) collective::streaming_store(to + p * pack, results[p]);
      return true;
    }
  }

  // Calls `body` with each run of a block and each of its elements, in order within a run.
  template <class Body>
  KOKKOS_FUNCTION void side_by_side(int b, Value (&runs)[RunCount], Body const& body) const {
    for (int e = 0; e < RunLength; ++e) {
      for (int r = 0; r < RunCount; ++r) body(runs[r], begin_ + b * block + r * RunLength + e);
    }
  }

  Scalar const* data_ = nullptr;
  std::size_t begin_ = 0;
  int count_ = 0;
  Value before_[BlockCount * RunCount];  // per run: the total of all earlier elements of the part
  Value before_rest_;
};

}  // namespace tessera::team
