#pragma once
/// \file
/// How large the factors of a block's products may be, for variants on matrix units.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>

#include "problem.hpp"

#include <tessera/core/types.hpp>
#include <tessera/kernels/largest_magnitude.hpp>

namespace tessera::transformer_block {

/// Bounds of the magnitudes that enter the products.
template <ExecutionSpace Exec>
class BlockMagnitudes {
 public:
  /// Throws Skip if a factor may exceed 2^`most_bits`: it or its products may leave float's range. Waits.
  BlockMagnitudes(Exec const& exec, InputOn<TransformerBlock, Exec, float> const& in, int most_bits)
      : d_(static_cast<double>(in.d_model())),
        d_ff_(static_cast<double>(in.d_ff())),
        dim_(static_cast<double>(in.d_head())),
        scale_(in.score_scale()),
        eps_(in.parameters.eps) {
    auto const most = [&](auto const&... fields) {
      return std::max({static_cast<double>(kernels::largest_magnitude(exec, fields))...});
    };
    projection_ = most(in.wq, in.wk, in.wv);
    out_ = most(in.wo);
    up_ = most(in.w1);
    down_ = most(in.w2);
    gamma2_ = most(in.gamma2);
    double const row = std::sqrt(d_);  // of the largest xhat
    ln_ = std::max(most(in.gamma1) * row + most(in.beta1), gamma2_ * row + most(in.beta2));
    projected_ = d_ * projection_ * ln_ + most(in.bq, in.bk, in.bv);
    hidden_ = d_ * up_ * ln_ + most(in.b1);
    if (!(std::max({projection_, out_, up_, down_, ln_, projected_, hidden_}) <= std::ldexp(1.0, most_bits))) {
      throw Skip("factors that may exceed 2^" + std::to_string(most_bits) + " (they or their products may overflow)");
    }
  }

  /// Returns the error of y by underflow in all products, each amplified by the stages behind it. `lost_by`(k, a, w) is
  /// the error of a product of k terms, of factors up to a and w.
  template <class LostBy>
  [[nodiscard]] double lost_by_underflow(LostBy const& lost_by) const {
    auto const lost = [&](double k, double a, double w) { return lost_by(static_cast<std::size_t>(k), a, w); };
    double const hidden = of_hidden();
    double const a = of_a();
    double const mean = d_ * out_ * a;
    double const scores = 8 * scale_ * dim_ * projected_ * projected_ * mean;  // a weight moves by twice the score
    return lost(d_, ln_, projection_) * (mean + scores) + lost(d_, projected_, out_) * a + lost(d_, ln_, up_) * hidden +
           lost(d_ff_, hidden_, down_);
  }

  /// Returns the largest magnitude of q, k and v.
  [[nodiscard]] double projected() const { return projected_; }
  /// Returns the error of y by underflow in an attention of so many keys on matrix units: terms of a weight lose 2^-125
  /// of its value, and a product of terms 2^-126.
  [[nodiscard]] double lost_by_attention(std::size_t keys) const {
    return static_cast<double>(keys) * 0x1p-123 * std::max(1.0, projected_) * d_ * out_ * of_a();
  }

 private:
  // By how much errors grow until y: of the hidden units, by gelu and the last product; of a, also by the layernorm.
  [[nodiscard]] double of_hidden() const { return 1.13 * d_ff_ * down_; }
  [[nodiscard]] double of_a() const {
    return 1 + gamma2_ * (2 + std::sqrt(d_)) / std::sqrt(eps_) * d_ * up_ * of_hidden();
  }

  double d_, d_ff_, dim_, scale_, eps_;
  double projection_ = 0, out_ = 0, up_ = 0, down_ = 0, gamma2_ = 0, ln_ = 0, projected_ = 0, hidden_ = 0;
};

}  // namespace tessera::transformer_block
