#pragma once
/// \file
/// Every rank has runs of elements. The first runs of all ranks belong one behind the other, in the order of the ranks; behind
/// them the second runs, and so on. Each element goes to the rank that has its place: lengths, exclusive scans of them over the
/// ranks, and one all-to-all. What a stable partition, a filter or a sort by a digit ends with.
///
/// Example, two runs a rank, 3 places on each of 2 ranks: 3 1, 7 | 2, 8 9 -> 3 1 2 | 7 8 9. The second rank's first run begins at
/// place 2, which the first rank has; the first one's second run begins at place 3, behind all first runs.

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <tessera/core/spaces.hpp>
#include <tessera/ranks/bulk.hpp>

namespace tessera::ranks {

/// Constructed once. All ranks call it; a call sends what belongs to others, in at most `runs` messages from each rank to each,
/// and allocates nothing.
template <ExecutionSpace Exec, class T, std::size_t runs>
class RunsToPlaces {
 public:
  using Lengths = std::array<std::size_t, runs>;  ///< elements of each run of a rank

  /// \param n places of all ranks, in blocks
  /// \param most elements that this rank's runs have together, at most; those of all ranks are n at most
  RunsToPlaces(Exec const& exec, Ranks const& ranks, std::size_t n, std::size_t most, std::string const& label)
      : ranks_(ranks),
        n_(n),
        own_(ranks.block(n)),
        of_ranks_(static_cast<std::size_t>(ranks.count())),
        bulk_(exec, ranks, label,
              {.messages = runs * of_ranks_.size(), .sent = most * sizeof(T), .received = own_.size() * sizeof(T)}) {
    for (auto* const messages : {&sent_, &received_}) messages->reserve(runs * of_ranks_.size());
  }

  /// `from`: this rank's runs, one behind the other; `own`: its block of places, of which those behind the last run of all stay as
  /// they are. Both are memory of Exec. What `exec` was given before is done first; the elements are there when the call returns.
  void operator()(Exec const& exec, Lengths const& lengths, T* from, T* own) {
    ranks_.all_gather(lengths, std::span(of_ranks_));
    sent_.clear();
    received_.clear();
    std::size_t place = 0;  // where the next run begins
    for (std::size_t k = 0; k < runs; ++k) {
      for (int rank = 0; rank < ranks_.count(); ++rank) {
        Block const run{place, place + of_ranks_[static_cast<std::size_t>(rank)][k]};
        place = run.end;
        add(received_, rank, own, own_.begin, common(run, own_));
        if (rank != ranks_.rank()) continue;
        for (int to = 0; to < ranks_.count(); ++to) {
          add(sent_, to, from, run.begin, common(run, block_of(n_, ranks_.count(), to)));
        }
        from += run.size();
      }
    }
    bulk_(exec, sent_, received_);
  }

  /// Elements of the k-th runs of all ranks, in the last call.
  [[nodiscard]] std::size_t length(std::size_t k) const {
    std::size_t sum = 0;
    for (Lengths const& of_rank : of_ranks_) sum += of_rank[k];
    return sum;
  }

 private:
  // `data` has the elements of the places from `first` on.
  static void add(std::vector<Message>& messages, int rank, T* data, std::size_t first, Block places) {
    if (places.size() > 0) messages.push_back({rank, data + (places.begin - first), places.size() * sizeof(T)});
  }
  [[nodiscard]] static Block common(Block a, Block b) {
    std::size_t const begin = std::max(a.begin, b.begin);
    return {begin, std::max(begin, std::min(a.end, b.end))};
  }

  Ranks const& ranks_;
  std::size_t n_;
  Block own_;
  std::vector<Lengths> of_ranks_;
  Bulk<Exec> bulk_;
  std::vector<Message> sent_;
  std::vector<Message> received_;
};

}  // namespace tessera::ranks
