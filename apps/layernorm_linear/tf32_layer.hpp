#pragma once
/// \file
/// The Plan of tensor_3xtf32 and warpgroup_3xtf32: layernorm to memory, then a product on matrix units with float
/// accuracy, which adds the bias as it stores y. kernels/tf32_gemm.hpp reads the rows of w's transpose, which is
/// written to memory before. kernels/warpgroup_tf32_gemm.hpp transposes w as it splits w.

#include <Kokkos_Core.hpp>

#include <string>

#include "layer_plans.hpp"
#include "magnitudes.hpp"

#include <tessera/core/types.hpp>
#include <tessera/kernels/product_form.hpp>
#include <tessera/kernels/tf32_gemm.hpp>
#include <tessera/kernels/transpose.hpp>
#include <tessera/table/on_matrix_units.hpp>

namespace tessera::layernorm_linear {

/// Throws Skip for elements that may round to infinity, and if `Product` does: Tf32Gemm on GPUs without matrix units
/// (on hosts it emulates them, for tests only; the variant skips hosts), WarpgroupTf32Gemm without warpgroups.
/// \tparam Product a kernel object constructed from (exec, m, n, k, label)
/// \tparam TransposesW whether the product takes w as it is and transposes it
template <ExecutionSpace Exec,
          class Product = kernels::Tf32Gemm<
              Exec, 2, kernels::ProductForm<false, false, kernels::AsStored, kernels::SumAndBias<float>>>,
          bool TransposesW = false>
class Tf32Layer : public StoredRowsProduct<Exec, float, Product> {
 public:
  /// \param label name of the variant; the launches are named label::layernorm, and so on
  Tf32Layer(Exec const& exec, InputOn<LayernormLinear, Exec, float> const& input,
            std::string const& label = "tessera::layernorm_linear::tensor_3xtf32")
      : Tf32Layer::StoredRowsProduct(exec, input, label),
        transpose_(exec, input.outputs(), input.hidden(), input.parameters.team, label + "::transpose"),
        w_transposed_(unset(label + "::w_transposed"), TransposesW ? 0 : input.hidden(),
                      TransposesW ? 0 : input.outputs()),
        largest_(largest_factors(exec, input)) {}

  void operator()(Exec const& exec, InputOn<LayernormLinear, Exec, float> const& input,
                  OutputOn<LayernormLinear, Exec, float> const& output) const {
    if (output.y.size() == 0) return;
    this->normalise(exec, input);
    if constexpr (TransposesW) {
      this->multiply(exec, input, input.w, output);
    } else {
      transpose_(exec, input.w, w_transposed_);
      this->multiply(exec, input, w_transposed_, output);
    }
  }

  [[nodiscard]] ReducedPrecision reduced_precision() const {
    return {.relative = this->product().error(),
            .absolute = this->product().lost_by_underflow(largest_.ln, largest_.w)};
  }

 private:
  kernels::Transpose<Exec, float> transpose_;
  Array<float**, typename Exec::memory_space> w_transposed_;
  LargestFactors largest_;
};

}  // namespace tessera::layernorm_linear
