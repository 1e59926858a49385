#pragma once
/// \file
/// The Plan of tensor_3xtf32 and warpgroup_3xtf32: layernorm to memory, then a product on matrix units with float
/// accuracy, which adds the bias as it stores y. kernels/tf32_gemm.hpp reads the rows of w's transpose, which is
/// written to memory before. kernels/warpgroup_tf32_gemm.hpp transposes w as it splits w.

#include <Kokkos_Core.hpp>

#include <string>

#include "magnitudes.hpp"
#include "problem.hpp"

#include <tessera/core/problem.hpp>
#include <tessera/core/types.hpp>
#include <tessera/kernels/layer_norm.hpp>
#include <tessera/kernels/product_form.hpp>
#include <tessera/kernels/tf32_gemm.hpp>
#include <tessera/kernels/transpose.hpp>

namespace tessera::layernorm_linear {

/// The product's form: the right operand is w, stored as [outputs, hidden], or the transpose made of it before.
template <bool TransposesW>
using Tf32LayerForm = kernels::ProductForm<false, TransposesW, kernels::AsStored, kernels::SumAndBias<float>>;

/// Throws Skip for elements that may round to infinity, and if `Product` does: Tf32Gemm on GPUs without matrix units
/// (on hosts it emulates them, for tests only; the variant skips hosts), WarpgroupTf32Gemm without warpgroups.
/// \tparam Product a kernel object constructed from (exec, m, n, k, label)
/// \tparam TransposesW whether the product takes w as it is and transposes it
template <ExecutionSpace Exec, class Product = kernels::Tf32Gemm<Exec, 2, Tf32LayerForm<false>>,
          bool TransposesW = false>
class Tf32Layer {
 public:
  /// \param label name of the variant; the launches are named label::layernorm, and so on
  Tf32Layer(Exec const& exec, InputOn<LayernormLinear, Exec, float> const& input,
            std::string const& label = "tessera::layernorm_linear::tensor_3xtf32")
      : layer_norm_(exec, input.rows(), input.hidden(), input.parameters.eps, input.parameters.team,
                    label + "::layernorm"),
        transpose_(exec, input.outputs(), input.hidden(), input.parameters.team, label + "::transpose"),
        product_(exec, input.rows(), input.outputs(), input.hidden(), label + "::product"),
        ln_(Kokkos::view_alloc(Kokkos::WithoutInitializing, label + "::ln"), input.rows(), input.hidden()),
        w_transposed_(Kokkos::view_alloc(Kokkos::WithoutInitializing, label + "::w_transposed"),
                      TransposesW ? 0 : input.hidden(), TransposesW ? 0 : input.outputs()),
        largest_(largest_factors(exec, input)) {}

  void operator()(Exec const& exec, InputOn<LayernormLinear, Exec, float> const& input,
                  OutputOn<LayernormLinear, Exec, float> const& output) const {
    if (output.y.size() == 0) return;
    layer_norm_(exec, input.x, input.gamma, input.beta, ln_);
    Tf32LayerForm<TransposesW> const form{.load = {},
                                          .store = kernels::sum_and_bias(exec, input.bias, input.outputs())};
    if constexpr (TransposesW) {
      product_(exec, ln_, input.w, output.y, form);
    } else {
      transpose_(exec, input.w, w_transposed_);
      product_(exec, ln_, w_transposed_, output.y, form);
    }
  }

  /// Counts the chain to ln (2 of it after xhat), the product and the bias.
  [[nodiscard]] double rounding_steps() const {
    return layer_norm_.rounding_steps() + 2 + product_.rounding_steps() + 1;
  }
  [[nodiscard]] ReducedPrecision reduced_precision() const {
    return {.relative = product_.error(), .absolute = product_.lost_by_underflow(largest_.ln, largest_.w)};
  }

 private:
  kernels::LayerNorm<Exec, float> layer_norm_;
  kernels::Transpose<Exec, float> transpose_;
  Product product_;
  Array<float**, typename Exec::memory_space> ln_;
  Array<float**, typename Exec::memory_space> w_transposed_;
  LargestFactors largest_;
};

}  // namespace tessera::layernorm_linear
