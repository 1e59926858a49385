#pragma once
/// \file
/// Halos: the rows of other ranks, beside its own rows, that a rank's results need.
///
/// Example, 10 rows on 4 ranks, [0, 3) [3, 6) [6, 8) [8, 10), reach of 3 rows behind: rank 1 gets 6 7 from rank 2 and 8
/// from rank 3, and gives 3 4 5 to rank 0. Rank 2 gets 8 9, since there are no more rows; rank 3 gets nothing.

#include <algorithm>
#include <cstddef>
#include <vector>

#include <tessera/ranks/ranks.hpp>

namespace tessera::ranks {

/// The number of neighbouring rows that a row's result needs.
struct Reach {
  std::size_t before = 0;
  std::size_t behind = 0;
};

/// Returns the rows of n that results for the rows `own` need, including `own`; empty if `own` is empty.
[[nodiscard]] constexpr Block with_halo(Block own, Reach reach, std::size_t n) {
  if (own.size() == 0) return own;
  return {own.begin - std::min(own.begin, reach.before), own.end + std::min(n - own.end, reach.behind)};
}

/// The halos of n rows that are split into blocks (block_of). If blocks are smaller than the reach, a halo comes from
/// several ranks. Ranks without rows have no halo and give nothing.
class Halo {
 public:
  /// \param n rows of all ranks together
  /// \param row_bytes bytes per row, the same on all ranks
  Halo(Ranks const& ranks, std::size_t n, Reach reach, std::size_t row_bytes)
      : ranks_(ranks), n_(n), reach_(reach), row_bytes_(row_bytes), own_(ranks.block(n)), got_(wide(ranks.rank())) {
    for (int r = 0; r < ranks.count(); ++r) {
      if (r == ranks.rank()) continue;
      Block const wanted = common(own_, wide(r));
      if (wanted.size() == 0) continue;
      (r < ranks.rank() ? head_ : tail_) = std::max(r < ranks.rank() ? head_ : tail_, wanted.size());
    }
  }

  /// The numbers of rows that this rank gets: before its own rows, and behind them.
  [[nodiscard]] std::size_t before() const { return own_.begin - got_.begin; }
  [[nodiscard]] std::size_t behind() const { return got_.end - own_.end; }
  /// The numbers of its own rows that others get: the first rows, and the last rows.
  [[nodiscard]] std::size_t head() const { return head_; }
  [[nodiscard]] std::size_t tail() const { return tail_; }

  /// Sets, once, the host memory of the rows. `head` and `tail` contain the rank's first head() and last tail() rows;
  /// `before` and `behind` receive the before() and behind() rows beside its own.
  void lies_at(void* head, void* tail, void* before, void* behind) {
    sent_.clear();
    received_.clear();
    for (int r = 0; r < ranks_.count(); ++r) {
      if (r == ranks_.rank()) continue;
      bool const is_before = r < ranks_.rank();
      Block const given = common(own_, wide(r));
      std::size_t const first = is_before ? own_.begin : own_.end - tail_;
      add(sent_, r, is_before ? head : tail, first, given);
      add(received_, r, is_before ? before : behind, is_before ? got_.begin : own_.end,
          common(got_, block_of(n_, ranks_.count(), r)));
    }
  }

  /// Exchanges the rows. Must be called by all ranks.
  void exchange() const { ranks_.exchange(sent_, received_); }

 private:
  // Returns the rows of that rank including its halo.
  [[nodiscard]] Block wide(int rank) const { return with_halo(block_of(n_, ranks_.count(), rank), reach_, n_); }
  // `data` contains the rows from `first` on.
  void add(std::vector<Message>& messages, int rank, void* data, std::size_t first, Block rows) const {
    if (rows.size() * row_bytes_ == 0) return;
    messages.push_back(
        {rank, static_cast<unsigned char*>(data) + (rows.begin - first) * row_bytes_, rows.size() * row_bytes_});
  }

  Ranks const& ranks_;
  std::size_t n_;
  Reach reach_;
  std::size_t row_bytes_;
  Block own_;
  Block got_;  // own rows plus the halo
  std::size_t head_ = 0;
  std::size_t tail_ = 0;
  std::vector<Message> sent_;
  std::vector<Message> received_;
};

}  // namespace tessera::ranks
