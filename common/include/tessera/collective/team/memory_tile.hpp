#pragma once
/// \file
/// One thread's part of a scan's tile, which stays in memory: it is read for its total, and again, from the cache, for
/// its scan.

#include <Kokkos_Macros.hpp>

#include <cstddef>

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/operators.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/collective/streaming_store.hpp>
#include <tessera/collective/thread/rows.hpp>

namespace tessera::team {

/// `BlockCount` blocks of elements, each of `RunCount` runs of `RunLength` neighbours. An operation must wait some
/// clocks for the result of the one before it in its run. So a thread goes through a block's runs side by side, and
/// uses those clocks for the other runs. Between scan() and store() it keeps what lies before each run.
///
/// `Elements` says how an element of memory becomes a value of the scan and back (see kernels/scan_elements.hpp). The
/// calls are those of RegisterTile, but lanes are not used. For hosts, whose caches hold more than their registers. Who
/// calls: one thread. Scratch: none. Barriers: none. Operator: associative; the order is kept.
///
/// Example, blocks of 2 runs of 2, sum, elements 3 1 4 1 5 9 2: runs 3 1 | 4 1, before them 0 | 4; since 5 9 2 are no
/// whole block, they are a run of their own, before it 9; total 25.
template <lane::Lanes L, class Elements, int BlockCount, int RunCount, int RunLength>
class MemoryTile {
 public:
  using Scalar = typename Elements::Scalar;
  using Value = typename Elements::Value;
  static constexpr int block = RunCount * RunLength;
  static constexpr int size = BlockCount * block;
  /// Operations on the longest way to a result: a run, its block's runs, the blocks, the prefix, and a run or the rest of a
  /// block.
  static constexpr int chain = RunLength + RunCount + BlockCount + 1 + block;

  /// Elements [begin, begin + size) of `data`, as far as they lie before `end`; the rest is never read.
  KOKKOS_FUNCTION void load(L const&, Elements const&, Scalar const* data, std::size_t begin, std::size_t end) {
    data_ = data;
    begin_ = begin;
    count_ = thread::count_before(begin, end, size);
  }

  /// Returns the part's total; afterwards store() may be called.
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

  /// Stores the scan of the part, given what lies before it, to the same positions of `data`, never past the end. `data`
  /// may be where the elements were loaded from. `past_caches`: by streaming stores where `data` is aligned for them; the thread's
  /// fence is in the call.
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

  // The results of a block, which come from all of its runs in turn, and then, from the cache, pack by pack to `to`; false if that is not
  // aligned.
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

  // Calls `body` with each run of a block and each of its elements, in their order.
  template <class Body>
  KOKKOS_FUNCTION void side_by_side(int b, Value (&runs)[RunCount], Body const& body) const {
    for (int e = 0; e < RunLength; ++e) {
      for (int r = 0; r < RunCount; ++r) body(runs[r], begin_ + b * block + r * RunLength + e);
    }
  }

  Scalar const* data_ = nullptr;
  std::size_t begin_ = 0;
  int count_ = 0;
  Value before_[BlockCount * RunCount];  // for each run: the total of all earlier elements of the part
  Value before_rest_;
};

}  // namespace tessera::team
