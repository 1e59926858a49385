#pragma once
/// \file
/// Every rank has several runs of elements. The global order is: the first runs of all ranks, in the order of the
/// ranks; then the second runs, and so on. Each element is sent to the rank that owns its place. This takes the
/// lengths, exclusive scans of them over the ranks, and one all-to-all. It is the last step of a stable partition, a
/// filter or a sort by a digit.
///
/// Example, two runs per rank, 3 places on each of 2 ranks: 3 1, 7 | 2, 8 9 -> 3 1 2 | 7 8 9. Rank 1's first run begins
/// at place 2, which rank 0 owns; rank 0's second run begins at place 3, behind all first runs.

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <tessera/core/spaces.hpp>
#include <tessera/ranks/bulk.hpp>

namespace tessera::ranks {

/// Must be constructed and called by all ranks. A call sends elements in at most `runs` messages from each rank to each
/// other rank, and allocates nothing.
template <ExecutionSpace Exec, class T, std::size_t runs>
class RunsToPlaces {
 public:
  using Lengths = std::array<std::size_t, runs>;  ///< number of elements in each run of a rank

  /// \param n places of all ranks, in blocks
  /// \param most largest number of elements in this rank's runs together; all ranks' runs together have at most n
  ///   elements
  RunsToPlaces(Exec const& exec, Ranks const& ranks, std::size_t n, std::size_t most, std::string const& label)
      : ranks_(ranks),
        n_(n),
        own_(ranks.block(n)),
        of_ranks_(static_cast<std::size_t>(ranks.count())),
        bulk_(exec, ranks, label,
              {.messages = runs * of_ranks_.size(), .sent = most * sizeof(T), .received = own_.size() * sizeof(T)}) {
    for (auto* const messages : {&sent_, &received_}) messages->reserve(runs * of_ranks_.size());
  }

  /// `from` contains this rank's runs, one behind the other. `own` is its block of places; places behind the last run
  /// of all ranks stay unchanged. Both are in memory of Exec. Work that was enqueued on `exec` before the call is
  /// completed first. When the call returns, the elements have arrived.
  void operator()(Exec const& exec, Lengths const& lengths, T* from, T* own) {
    ranks_.all_gather(lengths, std::span(of_ranks_));
    sent_.clear();
    received_.clear();
    std::size_t place = 0;  // begin of the next run
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

  /// Returns the number of elements in the k-th runs of all ranks together, in the last call.
  [[nodiscard]] std::size_t length(std::size_t k) const {
    std::size_t sum = 0;
    for (Lengths const& of_rank : of_ranks_) sum += of_rank[k];
    return sum;
  }

 private:
  // `data` contains the elements of the places from `first` on.
  static void add(std::vector<Message>& messages, int rank, T* data, std::size_t first, Block places) {
    if (places.size() > 0) messages.push_back({rank, data + (places.begin - first), places.size() * sizeof(T)});
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
