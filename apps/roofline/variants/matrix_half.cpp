/// \file
/// The peak of matrix units (tensor cores) for half factors. The kernel is in measure/roof_kernels.hpp.

#include "../matrix_chains.hpp"

namespace tessera::roofline {

struct MatrixHalf {
  using Factor = Half;
  static constexpr VariantInfo info{
      .name = "matrix_half",
      .level = Level::lane,
      .summary = "matrix units (mma.sync), factors of half (11 bits, up to 65504), sums in float: their peak",
      .unit = measure::unit_of<Factor>};

  template <ExecutionSpace Exec, std::same_as<float> T>
  using Plan = MatrixPlan<Exec, Factor>;
};

VariantRows matrix_half() { return rows<Roofline, MatrixHalf>(); }

}  // namespace tessera::roofline
