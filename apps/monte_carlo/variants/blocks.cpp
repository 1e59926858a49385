/// \file
/// One launch for all replicates: a team per block of points, a run of the block per thread, one atomic addition per
/// team. See block_sums.hpp.

#include <concepts>

#include "../block_sums.hpp"
#include "../estimate.hpp"

namespace tessera::monte_carlo {

struct Blocks {
  static constexpr VariantInfo info{.name = "blocks",
                                    .level = Level::team,
                                    .summary = "one launch, a team per block of points, one atomic per block"};

  template <ExecutionSpace Exec, std::floating_point T>
  class Plan : public EstimatePlan<Exec, T> {
   public:
    Plan(Exec const& exec, InputOn<MonteCarlo, Exec, T> const& input)
        : Plan::EstimatePlan(input.parameters, "tessera::monte_carlo::blocks"),
          sum_(exec, input.parameters, "tessera::monte_carlo::blocks::sum") {}

    void operator()(Exec const& exec, InputOn<MonteCarlo, Exec, T> const&,
                    OutputOn<MonteCarlo, Exec, T> const& output) {
      sum_(exec, output.sums, 0, sum_.count());
      this->finish(exec, output);
    }

   private:
    BlockSums<Exec, T> sum_;
  };
};

VariantRows blocks() { return rows<MonteCarlo, Blocks>(); }

}  // namespace tessera::monte_carlo
