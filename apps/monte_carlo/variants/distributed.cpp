/// \file
/// On several ranks: each rank has its share of the blocks of points, and the ranks' sums are added. Sums are integers:
/// the bits are the same on any number of ranks.

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include "../block_sums.hpp"
#include "../estimate.hpp"

namespace tessera::monte_carlo {

struct Distributed {
  static constexpr VariantInfo info{.name = "distributed",
                                    .level = Level::ranks,
                                    .summary = "a share of the blocks per rank, then 32 sums over the ranks"};

  template <ExecutionSpace Exec, std::floating_point T>
  class Plan : public EstimatePlan<Exec, T> {
   public:
    Plan(Exec const& exec, InputOn<MonteCarlo, Exec, T> const& input, ranks::Part const& part)
        : Plan::EstimatePlan(input.parameters, "tessera::monte_carlo::distributed"),
          ranks_(part.ranks),
          sum_(exec, input.parameters, "tessera::monte_carlo::distributed::sum"),
          own_(part.ranks.block(sum_.count())) {}

    void operator()(Exec const& exec, InputOn<MonteCarlo, Exec, T> const&,
                    OutputOn<MonteCarlo, Exec, T> const& output) {
      sum_(exec, output.sums, own_.begin, own_.end);
      if (ranks_.count() == 1) return this->finish(exec, output);
      auto const words = words_;
      auto const sums = output.sums;
      Kokkos::parallel_for(
          "tessera::monte_carlo::distributed::give", over(exec, replicates),
          KOKKOS_LAMBDA(std::size_t r) { words(r) = sums(r); });
      exec.fence("tessera::monte_carlo::distributed: own sums");
      Sums own{};
      std::copy_n(words_.data(), replicates, own.begin());
      Sums const all = ranks_.fold(own, [](Sums total, Sums const& others) {
        for (std::size_t r = 0; r < replicates; ++r) total[r] += others[r];
        return total;
      });
      std::ranges::copy(all, words_.data());
      this->finish(exec, output, words_.data());
    }

   private:
    using Sums = std::array<std::int64_t, replicates>;

    ranks::Ranks const& ranks_;
    BlockSums<Exec, T> sum_;
    ranks::Block own_;  // of the blocks
    // The sums, in memory that kernels and the host share: copies would take longer.
    Kokkos::View<std::int64_t*, Kokkos::SharedHostPinnedSpace> words_{"tessera::monte_carlo::distributed::words",
                                                                      replicates};
  };
};

VariantRows distributed() { return rows<MonteCarlo, Distributed>(); }

}  // namespace tessera::monte_carlo
