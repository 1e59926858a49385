/// \file
/// The peak of matrix units (tensor cores) for bfloat16 factors. The kernel is in measure/roof_kernels.hpp.

#include "../matrix_chains.hpp"

namespace tessera::roofline {

struct MatrixBfloat16 {
  using Factor = BFloat16;
  static constexpr VariantInfo info{
      .name = "matrix_bfloat16",
      .level = Level::lane,
      .summary = "matrix units (mma.sync), factors of bfloat16 (8 bits), sums in float: their peak",
      .unit = measure::unit_of<Factor>};

  template <ExecutionSpace Exec, std::same_as<float> T>
  using Plan = MatrixPlan<Exec, Factor>;
};

VariantRows matrix_bfloat16() { return rows<Roofline, MatrixBfloat16>(); }

}  // namespace tessera::roofline
