/// \file
/// All words of one counter per index, or of four on a GPU, stored with 16-byte accesses. The kernel is
/// kernels/random.hpp.

#include "../plan.hpp"

namespace tessera::random {

struct PerCounter {
  static constexpr VariantInfo info{.name = "per_counter",
                                    .level = Level::range,
                                    .summary = "whole counters per index (four on a GPU), 16-byte stores"};

  template <ExecutionSpace Exec, class T>
  struct Plan : FillPlan<Exec, T> {
    Plan(Exec const&, InputOn<Random, Exec, T> const& input)
        : Plan::FillPlan(input.parameters, 0, "tessera::random::per_counter::fill") {}
  };
};

VariantRows per_counter() { return rows<Random, PerCounter>(); }

}  // namespace tessera::random
