/// \file
/// Two launches: the rows' statistics, then a product that normalises x as it loads it. ln is not stored; an element of
/// x is normalised once per tile of outputs.

#include "../layer_plans.hpp"

namespace tessera::layernorm_linear {

struct TwoLaunch {
  static constexpr VariantInfo info{
      .name = "two_launch",
      .level = Level::team,
      .summary = "statistics of rows, then a tiled product that normalises what it loads"};

  template <ExecutionSpace Exec, std::floating_point T>
  using Plan = SharedPlan<LayernormLinear, TwoLaunch, StatisticsProduct<Exec, T>>;
};

VariantRows two_launch() { return rows<LayernormLinear, TwoLaunch>(); }

}  // namespace tessera::layernorm_linear
