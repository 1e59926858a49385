/// \file
/// On several ranks: each rank has its share of the blocks of points, and the ranks' sums are added. Sums are integers:
/// the bits are the same on any number of ranks.

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "../block_sums.hpp"
#include "../estimate.hpp"

#include <tessera/ranks/bulk.hpp>

namespace tessera::monte_carlo {

struct Distributed {
  static constexpr VariantInfo info{.name = "distributed",
                                    .level = Level::ranks,
                                    .summary = "a share of the blocks per rank, then 32 sums over the ranks"};

  template <ExecutionSpace Exec, std::floating_point T>
  class Plan : public EstimatePlan<Exec, T> {
    static constexpr std::size_t bytes = replicates * sizeof(std::int64_t);

   public:
    Plan(Exec const& exec, InputOn<MonteCarlo, Exec, T> const& input, ranks::Part const& part)
        : Plan::EstimatePlan(input.parameters, "tessera::monte_carlo::distributed"),
          ranks_(part.ranks),
          sum_(exec, input.parameters, "tessera::monte_carlo::distributed::sum",
               BlockSums<Exec, T>::block_of(input.parameters.count / static_cast<std::uint64_t>(ranks_.count()))),
          own_(part.ranks.block(sum_.count())),
          of_ranks_("tessera::monte_carlo::distributed::of_ranks", ranks_.count() * replicates),
          bulk_(exec, ranks_, "tessera::monte_carlo::distributed",
                {.messages = static_cast<std::size_t>(ranks_.count()),
                 .sent = static_cast<std::size_t>(ranks_.count() - 1) * bytes,
                 .received = static_cast<std::size_t>(ranks_.count() - 1) * bytes}) {
      for (int r = 0; r < ranks_.count(); ++r) {
        if (r == ranks_.rank()) continue;
        sent_.push_back({r, sums_of(ranks_.rank()).data(), bytes});
        received_.push_back({r, sums_of(r).data(), bytes});
      }
    }

    void operator()(Exec const& exec, InputOn<MonteCarlo, Exec, T> const&,
                    OutputOn<MonteCarlo, Exec, T> const& output) {
      auto const own = sums_of(ranks_.rank());
      sum_(exec, own, own_.begin, own_.end);
      if (ranks_.count() == 1 || bulk_.enqueues()) {
        bulk_.enqueue(exec, sent_, received_);
        return this->finish(exec, output, StoredSums{of_ranks_.data(), ranks_.count()});
      }
      // Through the host: 256 bytes, which a kernel writes to shared memory in less time than a copy takes.
      auto const words = words_;
      Kokkos::parallel_for(
          "tessera::monte_carlo::distributed::give", over(exec, replicates),
          KOKKOS_LAMBDA(std::size_t r) { words(r) = own(r); });
      exec.fence("tessera::monte_carlo::distributed: own sums");
      GivenSums sums{};
      std::copy_n(words_.data(), replicates, sums.of);
      this->finish(exec, output, ranks_.fold(sums, [](GivenSums total, GivenSums const& others) {
        others.add_to(total.of);
        return total;
      }));
    }

   private:
    [[nodiscard]] Array<std::int64_t*, typename Exec::memory_space> sums_of(int rank) const {
      std::size_t const begin = static_cast<std::size_t>(rank) * replicates;
      return Kokkos::subview(of_ranks_, Kokkos::make_pair(begin, begin + replicates));
    }

    ranks::Ranks const& ranks_;
    BlockSums<Exec, T> sum_;
    ranks::Block own_;                                            // of the blocks
    Array<std::int64_t*, typename Exec::memory_space> of_ranks_;  // [ranks, 32]
    Kokkos::View<std::int64_t*, Kokkos::SharedHostPinnedSpace> words_{"tessera::monte_carlo::distributed::words",
                                                                      replicates};
    ranks::Bulk<Exec> bulk_;
    std::vector<ranks::Message> sent_;
    std::vector<ranks::Message> received_;
  };
};

VariantRows distributed() { return rows<MonteCarlo, Distributed>(); }

}  // namespace tessera::monte_carlo
