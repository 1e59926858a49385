#pragma once
/// \file
/// Blocks of rows that rotate in a ring, in the memory of an execution space: every rank has every block once, its own
/// first. While a rank works with one block, the next block is in flight from the rank behind it.
///
/// Example, 3 ranks: rank 0 has the blocks of ranks 0, 1 and 2, one after the other; rank 1 has 1, 2 and 0; rank 2 has
/// 2, 0 and 1.

#include <Kokkos_Core.hpp>

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>
#include <tessera/ranks/bulk.hpp>

namespace tessera::ranks {

/// Rotates several fields with rows of the same length together. The constructor allocates two blocks: one for the
/// current step and one that arrives. Must be constructed and called by all ranks. Each rank sends and receives all
/// blocks but one.
template <ExecutionSpace Exec, class T, std::size_t Fields>
class Rotate {
 public:
  /// The first row of a block in each field.
  using Rows = std::array<T const*, Fields>;

  /// \param n rows of all ranks together
  /// \param row elements per row
  Rotate(Exec const& exec, Ranks const& ranks, std::size_t n, std::size_t row, std::string const& label)
      : ranks_(ranks),
        n_(n),
        row_(row),
        stride_((ranks.count() > 1 ? elements_of(0) + 15 : 0) / 16 *
                16),  // aligned so that 16 bytes can be read at once
        blocks_{memory(label, ranks.count() > 1), memory(label, ranks.count() > 2)},
        bulk_(exec, ranks, label,
              {.messages = Fields,
               .sent = Fields * elements_of(0) * sizeof(T),
               .received = Fields * elements_of(0) * sizeof(T)}) {
    sent_.reserve(Fields);
    received_.reserve(Fields);
  }

  /// body(rank, rows) enqueues the work on the block of that rank. The block has ranks::block_of(n, count, rank).size()
  /// rows, possibly none.
  /// \param own the rank's rows of each field, in memory of Exec
  template <class Body>
  void operator()(Exec const& exec, Rows const& own, Body const& body) {
    int const count = ranks_.count();
    int const before = (ranks_.rank() + count - 1) % count;
    int const behind = (ranks_.rank() + 1) % count;
    Rows here = own;
    for (int step = 0; step < count; ++step) {
      int const rank = (ranks_.rank() + step) % count;
      if (step + 1 == count) return body(rank, here);
      // Memory that the last step has read is overwritten only now: begin() waits for the step.
      auto const& next = blocks_[static_cast<std::size_t>(step % 2)];
      Rows there;
      sent_.clear();
      received_.clear();
      for (std::size_t f = 0; f < Fields; ++f) {
        there[f] = next.data() + f * stride_;
        add(sent_, before, here[f], rank);
        add(received_, behind, there[f], (rank + 1) % count);
      }
      bulk_.begin(exec, sent_, received_);
      body(rank, here);
      bulk_.wait(exec);
      here = there;
    }
  }

 private:
  using Memory = typename Exec::memory_space;

  // Returns the elements of that rank's block in one field.
  [[nodiscard]] std::size_t elements_of(int rank) const { return block_of(n_, ranks_.count(), rank).size() * row_; }
  [[nodiscard]] Array<T*, Memory> memory(std::string const& label, bool wanted) const {
    return Array<T*, Memory>(unset(label + "::block"), wanted ? Fields * stride_ : 0);
  }
  void add(std::vector<Message>& messages, int other, T const* rows, int of_rank) const {
    messages.push_back({other, const_cast<T*>(rows), elements_of(of_rank) * sizeof(T)});  // sent memory is not written
  }

  Ranks const& ranks_;
  std::size_t n_;
  std::size_t row_;
  std::size_t stride_;  // distance between the fields of a block
  std::array<Array<T*, Memory>, 2> blocks_;
  Bulk<Exec> bulk_;
  std::vector<Message> sent_;
  std::vector<Message> received_;
};

}  // namespace tessera::ranks
