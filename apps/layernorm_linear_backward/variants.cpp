/// \file
/// The table of layernorm_linear_backward's variants, in the order that --list shows.

#include "problem.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::layernorm_linear_backward {

VariantRows unfused();
VariantRows fused_atomic();
VariantRows atomic_columns();
VariantRows two_stage();
VariantRows tensor_3xtf32();
VariantRows warpgroup_3xtf32();
VariantRows distributed();

App app() {
  return make_app<LayernormLinearBackward>(
      {unfused(), fused_atomic(), atomic_columns(), two_stage(), tensor_3xtf32(), warpgroup_3xtf32(), distributed()});
}

}  // namespace tessera::layernorm_linear_backward
