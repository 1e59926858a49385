#pragma once
/// \file
/// The Plan of tensor_3xtf32 and warpgroup_3xtf32: layernorm to memory, then a product on matrix units with float's accuracy
/// (kernels/tf32_gemm.hpp, kernels/warpgroup_tf32_gemm.hpp), which adds the bias as it stores. The first kernel reads w by rows of its
/// transpose: that goes to memory before. The second transposes w as it splits it.

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

/// The product's form: w is stored as [outputs, hidden], so it, or what is made of it before, is the right operand.
template <bool TransposesW>
using Tf32LayerForm = kernels::ProductForm<false, TransposesW, kernels::AsStored, kernels::SumAndBias<float>>;

/// Throws Skip for elements that may round to infinity, and where `Product` does: Tf32Gemm on GPUs without matrix units (on hosts it
/// emulates them, for tests; the variant skips hosts), WarpgroupTf32Gemm wherever there are no warpgroups.
/// \tparam Product a kernel object constructed from (exec, m, n, k, label)
/// \tparam TransposesW whether it takes w as it is
template <ExecutionSpace Exec, class Product = kernels::Tf32Gemm<Exec, 2, Tf32LayerForm<false>>,
          bool TransposesW = false>
class Tf32Layer {
 public:
  /// \param label of the variant; the launches are called label::layernorm, and so on
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

  /// Counted: what leads to ln, 2 of it after xhat; the product; the bias.
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
