/// \file
/// Two steps: ln = layernorm(x) to memory, then the product of ln and w transposed, which adds the bias as it stores.

#include "../layer_plans.hpp"

namespace tessera::layernorm_linear {

struct StoredRows {
  static constexpr VariantInfo info{.name = "stored_rows",
                                    .level = Level::team,
                                    .summary = "layernorm to memory, then a tiled product with the bias"};

  template <ExecutionSpace Exec, std::floating_point T>
  using Plan = SharedPlan<LayernormLinear, StoredRows, StoredRowsProduct<Exec, T>>;
};

VariantRows stored_rows() { return rows<LayernormLinear, StoredRows>(); }

}  // namespace tessera::layernorm_linear
