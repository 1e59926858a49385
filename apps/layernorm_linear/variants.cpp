/// \file
/// The table of layernorm_linear's variants, in the order that --list shows.

#include "problem.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::layernorm_linear {

VariantRows direct();
VariantRows unfused();
VariantRows stored_rows();
VariantRows two_launch();
VariantRows fused();
VariantRows tensor_3xtf32();
VariantRows warpgroup_3xtf32();
VariantRows fused_tensor();
VariantRows kernels();
VariantRows distributed();

App app() {
  return make_app<LayernormLinear>({direct(), unfused(), stored_rows(), two_launch(), fused(), tensor_3xtf32(),
                                    warpgroup_3xtf32(), fused_tensor(), kernels(), distributed()});
}

}  // namespace tessera::layernorm_linear
