/// \file
/// On matrix units (tensor cores), with factors rounded to tf32 (11 significant bits). A result may be off by 2^-10 of
/// the sum of its terms' magnitudes. The kernel is kernels/tf32_gemm.hpp.

#include "../tf32_plan.hpp"

namespace tessera::matmul {

struct TensorTf32 {
  static constexpr VariantInfo info{.name = "tensor_tf32",
                                    .level = Level::lane,
                                    .summary = "matrix units, factors rounded to tf32 (11 bits), sums in float",
                                    .unit = Unit::tf32};

  template <ExecutionSpace Exec, std::same_as<float> T>
  using Plan = OnMatrixUnits<Matmul, TensorTf32, Exec, Tf32Plan<Exec, 1>>;
};

VariantRows tensor_tf32() { return rows<Matmul, TensorTf32>(); }

}  // namespace tessera::matmul
