/// \file
/// On several ranks: each rank fills its own block as per_counter does. A rank needs only the index of its first
/// element. Ranks exchange nothing. The bits are the same on any number of ranks.

#include "../plan.hpp"

namespace tessera::random {

struct Distributed {
  static constexpr VariantInfo info{.name = "distributed",
                                    .level = Level::ranks,
                                    .summary = "one block per rank, four elements per counter, no communication"};

  template <ExecutionSpace Exec, class T>
  struct Plan : FillPlan<Exec, T> {
    Plan(Exec const&, InputOn<Random, Exec, T> const& input, ranks::Part const& part)
        : Plan::FillPlan(input.parameters, part.ranks.block(input.parameters.count).begin,
                         "tessera::random::distributed::fill") {}
  };
};

VariantRows distributed() { return rows<Random, Distributed>(); }

}  // namespace tessera::random
