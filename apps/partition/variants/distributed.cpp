/// \file
/// On several ranks: each partitions its block (kernels/partition.hpp). From all counts it knows where its left elements begin,
/// and its right ones: in the order of the ranks, behind the others'. Both go to the ranks that have these places, at most two
/// messages from each rank to each. Traffic 3n, then n to other ranks.
///
/// Example, left is < 5, 2 ranks: 3 7 1 | 8 9 2 -> 3 1 7 | 2 8 9, lefts 2 and 1: the second rank's left one goes to place 2, the
/// first one's right one to place 3. 3 1 2 | 7 8 9.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "../predicate.hpp"
#include "../problem.hpp"

#include <tessera/kernels/partition.hpp>
#include <tessera/ranks/bulk.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::partition {

struct Distributed {
  static constexpr VariantInfo info{.name = "distributed",
                                    .level = Level::ranks,
                                    .summary = "each rank partitions its block, then lefts and rights to their places"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<Partition, Exec, T> const& input, ranks::Part const& part)
        : ranks_(part.ranks),
          n_(length(input.parameters, part)),
          own_(part.ranks.block(n_)),
          split_(exec, own_.size(), LessThanPivot<T>(input.parameters.pivot), input.parameters.tile,
                 input.parameters.team, "tessera::partition::distributed"),
          values_(Kokkos::view_alloc(Kokkos::WithoutInitializing, "tessera::partition::distributed::values"),
                  alone() ? 0 : own_.size()),
          lefts_(static_cast<std::size_t>(part.ranks.count())),
          bulk_(exec, part.ranks, "tessera::partition::distributed",
                {.messages = 2 * lefts_.size(), .sent = own_.size() * sizeof(T), .received = own_.size() * sizeof(T)}) {
      for (auto* const messages : {&sent_, &received_}) messages->reserve(2 * lefts_.size());
    }

    void operator()(Exec const& exec, InputOn<Partition, Exec, T> const& input,
                    OutputOn<Partition, Exec, T> const& output) {
      if (output.left_count.extent(0) == 0) return;  // no element, no segment, on any rank
      auto const lefts = Kokkos::subview(output.left_count, 0);
      if (alone()) return split_(exec, input.in, output.values, lefts);
      split_(exec, input.in, values_, lefts);
      Kokkos::deep_copy(exec, own_lefts_, lefts);
      exec.fence("tessera::partition::distributed: own lefts");
      std::int64_t const total = exchange(exec, static_cast<std::size_t>(own_lefts_()), output.values.data());
      Kokkos::deep_copy(exec, lefts, total);
    }

    [[nodiscard]] std::string note() const { return split_.note(); }

   private:
    using Memory = typename Exec::memory_space;

    [[nodiscard]] bool alone() const { return ranks_.count() == 1; }

    [[nodiscard]] static std::size_t length(Parameters const& parameters, ranks::Part const& part) {
      std::size_t const n = part.input[0][0];
      if (!parameters.is_one_segment(n)) {
        throw Skip("segments of " + std::to_string(parameters.segment) + " (the whole array is partitioned at once)");
      }
      return n;
    }

    // Gives the elements to the ranks that have their places, and gets those of the own block into `got`. The lefts of all.
    [[nodiscard]] std::int64_t exchange(Exec const& exec, std::size_t own_lefts, T* got) {
      ranks_.all_gather(own_lefts, std::span(lefts_));
      std::size_t total = 0;
      for (std::size_t const of_rank : lefts_) total += of_rank;
      sent_.clear();
      received_.clear();
      std::size_t left = 0;  // where those of the rank begin
      std::size_t right = total;
      for (int rank = 0; rank < ranks_.count(); ++rank) {
        std::size_t const of_rank = lefts_[static_cast<std::size_t>(rank)];
        ranks::Block const block = ranks::block_of(n_, ranks_.count(), rank);
        ranks::Block const places[] = {{left, left + of_rank}, {right, right + block.size() - of_rank}};
        for (std::size_t side = 0; side < 2; ++side) {
          add(received_, rank, got, own_.begin, common(places[side], own_));
          if (rank != ranks_.rank()) continue;
          T* const from = values_.data() + (side == 0 ? 0 : of_rank);
          for (int to = 0; to < ranks_.count(); ++to) {
            add(sent_, to, from, places[side].begin, common(places[side], ranks::block_of(n_, ranks_.count(), to)));
          }
        }
        left = places[0].end;
        right = places[1].end;
      }
      bulk_(exec, sent_, received_);
      return static_cast<std::int64_t>(total);
    }
    // `data` has the elements of the places from `first` on.
    static void add(std::vector<ranks::Message>& messages, int rank, T* data, std::size_t first, ranks::Block places) {
      if (places.size() > 0) messages.push_back({rank, data + (places.begin - first), places.size() * sizeof(T)});
    }
    [[nodiscard]] static ranks::Block common(ranks::Block a, ranks::Block b) {
      std::size_t const begin = std::max(a.begin, b.begin);
      return {begin, std::max(begin, std::min(a.end, b.end))};
    }

    ranks::Ranks const& ranks_;
    std::size_t n_;  // elements of all ranks
    ranks::Block own_;
    kernels::ReduceThenScatter<Exec, T, LessThanPivot<T>> split_;
    Array<T*, Memory> values_;        // the own elements, left ones first
    std::vector<std::size_t> lefts_;  // of each rank
    ranks::Bulk<Exec> bulk_;
    std::vector<ranks::Message> sent_;
    std::vector<ranks::Message> received_;
    Kokkos::View<std::int64_t, Kokkos::HostSpace> own_lefts_{"tessera::partition::distributed::own_lefts"};
  };
};

VariantRows distributed() { return rows<Partition, Distributed>(); }

}  // namespace tessera::partition
