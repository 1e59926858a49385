/// \file
/// On matrix units (tensor cores), each factor as the sum of two tf32, so that three products have float's accuracy. The launches
/// are in tf32_attention.hpp.

#include "../problem.hpp"
#include "../tf32_attention.hpp"

#include <concepts>

#include <tessera/table/make_app.hpp>
#include <tessera/table/on_matrix_units.hpp>

namespace tessera::attention {

struct Tensor3xtf32 {
  static constexpr VariantInfo info{.name = "tensor_3xtf32",
                                    .level = Level::device,
                                    .summary = "composed with products on matrix units of float's accuracy",
                                    .unit = Unit::tf32,
                                    .unit_products = 3};

  template <ExecutionSpace Exec, class T>
    requires std::same_as<T, float>
  using Plan = OnMatrixUnits<Exec, Tf32Attention<Exec>>;
};

VariantRows tensor_3xtf32() { return rows<Attention, Tensor3xtf32>(); }

}  // namespace tessera::attention
