#pragma once
/// \file
/// An all-gather in uneven blocks, in the memory of an execution space: every rank gets all rows of a matrix that is
/// split into blocks of rows.
///
/// Example, 3 rows on 2 ranks: 1 2 | 3 -> 1 2 3 | 1 2 3.

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <string>
#include <vector>

#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>
#include <tessera/ranks/bulk.hpp>

namespace tessera::ranks {

/// The constructor allocates memory for all rows. Must be constructed and called by all ranks. Per call a rank receives
/// n - own rows, and sends its own rows to each other rank.
template <ExecutionSpace Exec, class T>
class AllGatherRows {
  using Memory = typename Exec::memory_space;

 public:
  /// \param n rows of all ranks together
  /// \param row elements per row
  AllGatherRows(Exec const& exec, Ranks const& ranks, std::size_t n, std::size_t row, std::string const& label)
      : own_(ranks.block(n)),
        row_(row),
        all_(unset(label + "::all_rows"), n, row),
        bulk_(exec, ranks, label,
              {.messages = static_cast<std::size_t>(ranks.count()),
               .sent = static_cast<std::size_t>(ranks.count() - 1) * own_.size() * row * sizeof(T),
               .received = (n - own_.size()) * row * sizeof(T)}) {
    for (int r = 0; r < ranks.count(); ++r) {
      if (r == ranks.rank()) continue;
      sent_.push_back(rows_for(r, own_));
      received_.push_back(rows_for(r, block_of(n, ranks.count(), r)));
    }
  }

  /// Returns all rows [n, row], valid after the call.
  [[nodiscard]] Array<T const**, Memory> all() const { return all_; }

  /// \param own the rank's rows, in memory of Exec. Work that was enqueued on `exec` before the call is completed
  ///   first.
  void operator()(Exec const& exec, T const* own) {
    std::size_t const size = own_.size() * row_;
    if (size > 0) {
      Kokkos::deep_copy(exec, unmanaged<Memory>(all_.data() + own_.begin * row_, size), unmanaged<Memory>(own, size));
    }
    bulk_(exec, sent_, received_);
  }

 private:
  [[nodiscard]] Message rows_for(int rank, Block rows) const {
    return {rank, all_.data() + rows.begin * row_, rows.size() * row_ * sizeof(T)};
  }

  Block own_;
  std::size_t row_;
  Array<T**, Memory> all_;
  Bulk<Exec> bulk_;
  std::vector<Message> sent_;
  std::vector<Message> received_;
};

}  // namespace tessera::ranks
