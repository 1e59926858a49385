#pragma once
/// \file
/// Finds where the sorted blocks of all ranks must be cut, so that every rank gets exactly the keys of its places.
///
/// Regular sampling, repeated: each rank shows some keys of the range in which its cut lies, at regular distances. All
/// ranks sort these samples. The places of the samples tell at least and at most how many keys come before each of
/// them, which leaves a smaller range on each rank. The search ends when no range has a key. Equal keys are ordered by
/// rank and place, so that a cut may divide them.
///
/// Messages: samples of all boundaries from each rank to each other rank, about log(n) / 4 times.
///
/// Example, blocks 1 3 4 | 1 2 5, a boundary behind 3 keys: the order is 1 1 2 3 4 5, the cuts are 1 and 2.
/// Source: H. Shi, J. Schaeffer: Parallel Sorting by Regular Sampling (1992); exact cuts as by P. Varman et al.:
/// Merging Multiple Lists on Hierarchical-Memory Multiprocessors (1991).

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <tuple>
#include <vector>

#include <tessera/collective/key_order.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>
#include <tessera/ranks/ranks.hpp>

namespace tessera::sort {

template <ExecutionSpace Exec, class T>
class CutsOnRanks {
 public:
  using Keys = Array<T*, typename Exec::memory_space>;

  /// Keys that a rank shows of a range. A round leaves at most a quarter of the keys, mostly an eighth.
  static constexpr std::size_t samples = 32;

  /// Each rank holds samples of all cuts from all ranks: 64 MiB of 64-bit words at this number.
  static constexpr int most_ranks = 512;

  /// \param n keys of all ranks, in blocks. Throws Skip above most_ranks ranks.
  CutsOnRanks(ranks::Ranks const& ranks, std::size_t n, std::string const& label)
      : ranks_(ranks),
        n_(n),
        count_(few(ranks.count())),
        boundaries_(count_ - 1),
        label_(label + "::samples"),
        ranges_(count_ * boundaries_),
        own_(label + "::ranges", boundaries_),
        words_(label + "::words", boundaries_ * samples),
        all_(count_ * words_.extent(0)),
        known_(count_) {
    ordered_.reserve(count_ * samples);
    sent_.reserve(count_);
    received_.reserve(count_);
    std::size_t const bytes = words_.extent(0) * sizeof(Word);
    for (int rank = 0; rank < ranks.count(); ++rank) {
      if (rank == ranks.rank()) continue;
      sent_.push_back({rank, words_.data(), bytes});
      received_.push_back({rank, &all_[static_cast<std::size_t>(rank) * words_.extent(0)], bytes});
    }
  }

  CutsOnRanks(CutsOnRanks const&) = delete;  // its messages name its memory
  CutsOnRanks(CutsOnRanks&&) = default;

  /// Finds the cuts of the ranks' sorted blocks. Must be called by all ranks. Waits for the work on `exec`.
  void find(Exec const& exec, collective::KeyOrder<T> const& order, Keys const& sorted) {
    for (std::size_t rank = 0; rank < count_; ++rank) {
      for (std::size_t b = 0; b < boundaries_; ++b) range(rank, b) = {0, size_of(rank)};
    }
    while (std::ranges::any_of(ranges_, [](ranks::Block const& one) { return one.size() > 0; })) {
      show(exec, order, sorted);
      ranks_.exchange(sent_, received_);
      for (std::size_t b = 0; b < boundaries_; ++b) narrow(b);
    }
  }

  /// Returns the keys of rank `from` that belong to rank `to`, as places in its sorted block.
  [[nodiscard]] ranks::Block given(int from, int to) const {
    return {cut(static_cast<std::size_t>(from), static_cast<std::size_t>(to)),
            cut(static_cast<std::size_t>(from), static_cast<std::size_t>(to) + 1)};
  }

  /// Copies the words of this rank's samples to the host. Public because CUDA allows no device lambda in a private
  /// function.
  void show(Exec const& exec, collective::KeyOrder<T> const& order, Keys const& sorted) {
    auto const own = static_cast<std::size_t>(ranks_.rank());
    for (std::size_t b = 0; b < boundaries_; ++b) own_(b) = range(own, b);
    auto const ranges = own_;
    auto const words = words_;
    Kokkos::parallel_for(
        label_, over(exec, words.extent(0)), KOKKOS_LAMBDA(std::size_t i) {
          ranks::Block const of = ranges(i / samples);
          if (i % samples < samples_of(of)) words(i) = order(sorted(place(of, i % samples)));
        });
    exec.fence(label_);
    std::copy_n(words_.data(), words_.extent(0), all_.data() + own * words_.extent(0));
  }

 private:
  // Called before the samples are allocated, which is what many ranks have no memory for.
  [[nodiscard]] static std::size_t few(int ranks) {
    if (ranks > most_ranks) {
      throw Skip(std::to_string(ranks) + " ranks (at most " + std::to_string(most_ranks) + ")");
    }
    return static_cast<std::size_t>(ranks);
  }

  using Word = collective::KeyWord<T>;
  using Pinned = Kokkos::SharedHostPinnedSpace;

  // A key that a rank shows: ties are ordered by rank and place.
  struct Sample {
    Word word;
    std::size_t rank;
    std::size_t place;
    friend bool operator<(Sample const& a, Sample const& b) {
      return std::tie(a.word, a.rank, a.place) < std::tie(b.word, b.rank, b.place);
    }
  };

  [[nodiscard]] KOKKOS_FUNCTION static std::size_t samples_of(ranks::Block range) {
    return Kokkos::min(range.end - range.begin, std::size_t{samples});
  }
  [[nodiscard]] KOKKOS_FUNCTION static std::size_t place(ranks::Block range, std::size_t sample) {
    return range.begin + (range.end - range.begin) * (2 * sample + 1) / (2 * samples_of(range));
  }

  [[nodiscard]] std::size_t size_of(std::size_t rank) const {
    return ranks::block_of(n_, ranks_.count(), static_cast<int>(rank)).size();
  }
  // Boundary b is that behind rank b's places. The cut of a rank is in [begin, end].
  [[nodiscard]] ranks::Block& range(std::size_t rank, std::size_t b) { return ranges_[rank * boundaries_ + b]; }

  // Returns how many keys of the rank come before the places of rank `to`.
  [[nodiscard]] std::size_t cut(std::size_t rank, std::size_t to) const {
    if (to == 0) return 0;
    return to == count_ ? size_of(rank) : ranges_[rank * boundaries_ + to - 1].begin;
  }

  // Leaves of the ranges of a boundary what the samples do not rule out.
  void narrow(std::size_t b) {
    std::size_t const before = ranks::block_of(n_, ranks_.count(), static_cast<int>(b)).end;
    ordered_.clear();
    for (std::size_t rank = 0; rank < count_; ++rank) {
      ranks::Block const of = range(rank, b);
      Word const* const words = &all_[rank * words_.extent(0) + b * samples];
      for (std::size_t j = 0; j < samples_of(of); ++j) ordered_.push_back({words[j], rank, place(of, j)});
    }
    std::sort(ordered_.begin(), ordered_.end());

    // Upwards: `known_` keys of each rank come before the sample, `sum` of all ranks. If these are enough, the sample
    // is behind the boundary.
    std::size_t sum = 0;
    for (std::size_t rank = 0; rank < count_; ++rank) sum += known_[rank] = range(rank, b).begin;
    for (Sample const& one : ordered_) {
      sum += one.place - known_[one.rank];
      if (sum >= before) range(one.rank, b).end = std::min(range(one.rank, b).end, one.place);
      known_[one.rank] = one.place + 1;
      ++sum;
    }
    // Downwards: a sample before the boundary has no more keys of a rank before it than `known_`. Ends that are smaller
    // now are right, too: with a sample behind the boundary, all cuts together are at most `sum`.
    sum = 0;
    for (std::size_t rank = 0; rank < count_; ++rank) sum += known_[rank] = range(rank, b).end;
    for (auto one = ordered_.rbegin(); one != ordered_.rend(); ++one) {
      if (one->place >= known_[one->rank]) continue;  // behind the boundary
      sum -= known_[one->rank] - one->place;
      known_[one->rank] = one->place;
      if (sum < before) range(one->rank, b).begin = std::max(range(one->rank, b).begin, one->place + 1);
    }
  }

  ranks::Ranks const& ranks_;
  std::size_t n_;
  std::size_t count_;
  std::size_t boundaries_;
  std::string label_;
  std::vector<ranks::Block> ranges_;         // [rank][boundary]
  Kokkos::View<ranks::Block*, Pinned> own_;  // this rank's
  Kokkos::View<Word*, Pinned> words_;        // its samples
  std::vector<Word> all_;                    // [rank][boundary][sample]
  std::vector<Sample> ordered_;              // of one boundary
  std::vector<std::size_t> known_;
  std::vector<ranks::Message> sent_;
  std::vector<ranks::Message> received_;
};

}  // namespace tessera::sort
