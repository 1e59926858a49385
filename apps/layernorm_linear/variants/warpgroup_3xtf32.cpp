/// \file
/// Two steps: ln = layernorm(x) to memory, then the product of ln and w transposed by warpgroups, which adds the bias as it stores. Each
/// factor is the sum of two tf32: three products, of float's accuracy. The product is kernels/warpgroup_tf32_gemm.hpp. CMake compiles
/// this file for 9.0a.

#include <Kokkos_Core.hpp>

#include "../magnitudes.hpp"
#include "../problem.hpp"

#include <concepts>

#include <tessera/kernels/layer_norm.hpp>
#include <tessera/kernels/warpgroup_tf32_gemm.hpp>
#include <tessera/table/make_app.hpp>
#include <tessera/table/on_matrix_units.hpp>

namespace tessera::layernorm_linear {

namespace {

/// Throws Skip for elements that may round to infinity, and on GPUs without warpgroups.
template <ExecutionSpace Exec>
class WarpgroupLayer {
 public:
  WarpgroupLayer(Exec const& exec, InputOn<LayernormLinear, Exec, float> const& input)
      : layer_norm_(exec, input.rows(), input.hidden(), input.parameters.eps, input.parameters.team,
                    "tessera::layernorm_linear::warpgroup_3xtf32::layernorm"),
        product_(exec, input.rows(), input.outputs(), input.hidden(),
                 "tessera::layernorm_linear::warpgroup_3xtf32::product"),
        ln_(Kokkos::view_alloc(Kokkos::WithoutInitializing, "tessera::layernorm_linear::warpgroup_3xtf32::ln"),
            input.rows(), input.hidden()),
        largest_(largest_factors(exec, input)) {}

  void operator()(Exec const& exec, InputOn<LayernormLinear, Exec, float> const& input,
                  OutputOn<LayernormLinear, Exec, float> const& output) const {
    if (output.y.size() == 0) return;
    layer_norm_(exec, input.x, input.gamma, input.beta, ln_);
    product_(exec, ln_, input.w, output.y,
             {.load = {}, .store = kernels::sum_and_bias(exec, input.bias, input.outputs())});
  }

  /// Counted: what leads to ln, 2 of it after xhat; the product; the bias.
  [[nodiscard]] double rounding_steps() const {
    return layer_norm_.rounding_steps() + 2 + product_.rounding_steps() + 1;
  }
  [[nodiscard]] ReducedPrecision reduced_precision() const {
    return {.relative = product_.error(), .absolute = product_.lost_by_underflow(largest_.ln, largest_.w)};
  }

 private:
  using Form = kernels::ProductForm<false, true, kernels::AsStored, kernels::SumAndBias<float>>;

  kernels::LayerNorm<Exec, float> layer_norm_;
  kernels::WarpgroupTf32Gemm<Exec, 2, Form> product_;
  Array<float**, typename Exec::memory_space> ln_;
  LargestFactors largest_;
};

}  // namespace

struct Warpgroup3xtf32 {
  static constexpr VariantInfo info{
      .name = "warpgroup_3xtf32",
      .level = Level::team,
      .summary = "layernorm to memory, then a product by warpgroups of float's accuracy, with the bias",
      .unit = Unit::tf32,
      .unit_products = 3};

  template <ExecutionSpace Exec, class T>
    requires std::same_as<T, float>
  using Plan = OnMatrixUnits<Exec, WarpgroupLayer<Exec>>;
};

VariantRows warpgroup_3xtf32() { return rows<LayernormLinear, Warpgroup3xtf32>(); }

}  // namespace tessera::layernorm_linear
