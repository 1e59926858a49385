#pragma once
/// \file
/// The Plan of tensor_3xtf32 and warpgroup_3xtf32: two_stage with both products on matrix units, with float accuracy
/// (kernels/tf32_gemm.hpp, kernels/warpgroup_tf32_gemm.hpp).

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cmath>
#include <string>

#include "two_stage_gradients.hpp"

#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>
#include <tessera/kernels/largest_magnitude.hpp>
#include <tessera/kernels/product_form.hpp>
#include <tessera/kernels/tf32_gemm.hpp>
#include <tessera/table/on_matrix_units.hpp>

namespace tessera::layernorm_linear_backward {

/// Both products, q = G w and dw = G^T ln, with factors that are sums of two tf32 numbers.
template <ExecutionSpace Exec, class Q, class Dw>
struct Tf32Products {
  /// \param label name of the variant; the products are named label::q and label::dw
  Tf32Products(Exec const& exec, InputOn<LayernormLinearBackward, Exec, float> const& input, std::string const& label)
      : q(exec, input.rows(), input.hidden(), input.outputs(), label + "::q"),
        dw(exec, input.outputs(), input.hidden(), input.rows(), label + "::dw") {}

  Q q;
  Dw dw;
};

/// Throws Skip for elements that may round to infinity, and if `Q` or `Dw` does: Tf32Gemm on GPUs without matrix units
/// (on hosts it emulates them, for tests only; the variant skips hosts), WarpgroupTf32Gemm without warpgroups.
/// `Q`, `Dw`: kernel objects for the products, constructed from (exec, m, n, k, label).
template <ExecutionSpace Exec, class Q = kernels::Tf32Gemm<Exec, 2>,
          class Dw = kernels::Tf32Gemm<Exec, 2, kernels::TransposedA>>
class Tf32Gradients : public TwoStageGradients<Exec, float, Tf32Products<Exec, Q, Dw>> {
 public:
  Tf32Gradients(Exec const& exec, InputOn<LayernormLinearBackward, Exec, float> const& input,
                std::string const& label = "tessera::layernorm_linear_backward::tensor_3xtf32")
      : Tf32Gradients::TwoStageGradients(exec, input, label), lost_(lost_by_underflow(exec, input)) {}

  /// No chain goes through both products.
  [[nodiscard]] ReducedPrecision reduced_precision() const {
    return {.relative = std::max(this->products().q.error(), this->products().dw.error()), .absolute = lost_};
  }

 private:
  // Bounds the error of gradients whose products underflow. The error of q is multiplied by xhat, whose squares add up
  // to at most H in a row, and, for dx, by gamma and inv_std. The sum is doubled, because further operations round.
  [[nodiscard]] double lost_by_underflow(Exec const& exec,
                                         InputOn<LayernormLinearBackward, Exec, float> const& input) const {
    // No factor may be infinite or round to infinity, because the second term of an infinity is NaN.
    auto const largest_of = [&](auto const& field) {
      auto const largest = static_cast<double>(kernels::largest_magnitude(exec, field));
      if (largest > 0x1p100) {
        throw Skip("elements of w, gamma, beta or grad_y above 2^100 (factors may round to infinity)");
      }
      return largest;
    };
    double const gamma = largest_of(input.gamma);
    double const beta = largest_of(input.beta);
    double const w = largest_of(input.w);
    double const grad_y = largest_of(input.grad_y);
    auto const rows = static_cast<double>(input.rows());
    double const xhat = std::sqrt(static_cast<double>(input.hidden()));
    double const q = this->products().q.lost_by_underflow(grad_y, w);
    double const dgamma = rows * xhat * q;
    double const dx = gamma / std::sqrt(input.parameters.eps) * (2 + xhat) * q;
    double const dw = this->products().dw.lost_by_underflow(grad_y, gamma * xhat + beta);
    return 2 * std::max({dgamma, dx, dw});
  }

  double lost_;
};

}  // namespace tessera::layernorm_linear_backward
