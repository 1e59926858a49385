/// \file
/// The peak of matrix units (tensor cores) for tf32 factors. The kernel is in measure/roof_kernels.hpp.

#include "../matrix_chains.hpp"

namespace tessera::roofline {

struct MatrixTf32 {
  using Factor = collective::Tf32;
  static constexpr VariantInfo info{
      .name = "matrix_tf32",
      .level = Level::lane,
      .summary = "matrix units (mma.sync), factors of tf32 (11 bits), sums in float: their peak",
      .unit = measure::unit_of<Factor>};

  template <ExecutionSpace Exec, std::same_as<float> T>
  using Plan = MatrixPlan<Exec, Factor>;
};

VariantRows matrix_tf32() { return rows<Roofline, MatrixTf32>(); }

}  // namespace tessera::roofline
