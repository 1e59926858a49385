/// \file
/// On several ranks: each rank makes its own rows as `stored_rows` does, with the layer's parameters on all ranks.
/// Ranks exchange nothing.

#include "../layer_plans.hpp"

namespace tessera::layernorm_linear {

struct Distributed {
  static constexpr VariantInfo info{.name = "distributed",
                                    .level = Level::ranks,
                                    .summary = "rows split over the ranks, as stored_rows; w on all, no communication"};

  template <ExecutionSpace Exec, std::floating_point T>
  using Plan = SharedPlan<LayernormLinear, Distributed, StoredRowsProduct<Exec, T>>;
};

VariantRows distributed() { return rows<LayernormLinear, Distributed>(); }

}  // namespace tessera::layernorm_linear
