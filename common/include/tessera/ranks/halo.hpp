#pragma once
/// \file
/// Halos: the rows of other ranks, beside its own, that a rank's results need.
///
/// Example, 10 rows on 4 ranks, [0, 3) [3, 6) [6, 8) [8, 10), 3 rows behind: rank 1 gets 6 7 of rank 2 and 8 of rank 3; it
/// gives 3 4 5 to rank 0. Rank 2 gets 8 9, for there are no more; rank 3 nothing.

#include <algorithm>
#include <cstddef>
#include <vector>

#include <tessera/ranks/ranks.hpp>

namespace tessera::ranks {

/// Rows beside a row that its result needs.
struct Reach {
  std::size_t before = 0;
  std::size_t behind = 0;
};

/// The rows of n that results for the rows `own` need, those themselves included; none if there are no own ones.
[[nodiscard]] constexpr Block with_halo(Block own, Reach reach, std::size_t n) {
  if (own.size() == 0) return own;
  return {own.begin - std::min(own.begin, reach.before), own.end + std::min(n - own.end, reach.behind)};
}

/// The halos of n rows that lie in blocks (block_of). Where blocks are smaller than the reach, a halo comes from several
/// ranks; ranks without rows have none, and give nothing.
class Halo {
 public:
  /// \param n rows of all ranks together
  /// \param row_bytes bytes of a row, on all ranks the same
  Halo(Ranks const& ranks, std::size_t n, Reach reach, std::size_t row_bytes)
      : ranks_(ranks), n_(n), reach_(reach), row_bytes_(row_bytes), own_(ranks.block(n)), got_(wide(ranks.rank())) {
    for (int r = 0; r < ranks.count(); ++r) {
      if (r == ranks.rank()) continue;
      Block const wanted = common(own_, wide(r));
      if (wanted.size() == 0) continue;
      (r < ranks.rank() ? head_ : tail_) = std::max(r < ranks.rank() ? head_ : tail_, wanted.size());
    }
  }

  /// Rows that this rank gets: before its own, and behind them.
  [[nodiscard]] std::size_t before() const { return own_.begin - got_.begin; }
  [[nodiscard]] std::size_t behind() const { return got_.end - own_.end; }
  /// Its own rows that others get: the first ones, and the last ones.
  [[nodiscard]] std::size_t head() const { return head_; }
  [[nodiscard]] std::size_t tail() const { return tail_; }

  /// Says, once, where the rows are, in host memory: `head` and `tail` have the rank's first head() and last tail() rows,
  /// `before` and `behind` become the before() and behind() rows beside its own.
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

  /// Gives and gets; all ranks call it.
  void exchange() const { ranks_.exchange(sent_, received_); }

 private:
  // What that rank has, with its halo.
  [[nodiscard]] Block wide(int rank) const { return with_halo(block_of(n_, ranks_.count(), rank), reach_, n_); }
  [[nodiscard]] static Block common(Block a, Block b) {
    std::size_t const begin = std::max(a.begin, b.begin);
    return {begin, std::max(begin, std::min(a.end, b.end))};
  }
  // `data` has the rows from `first` on.
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
  Block got_;  // the own rows and the halo
  std::size_t head_ = 0;
  std::size_t tail_ = 0;
  std::vector<Message> sent_;
  std::vector<Message> received_;
};

}  // namespace tessera::ranks
