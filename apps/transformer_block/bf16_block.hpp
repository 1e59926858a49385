#pragma once
/// \file
/// The launches of fused_block.hpp on matrix units, with the factors of all products rounded to BFloat16 (8 significant
/// bits, float's range) and sums in float: products, scores, and weighted values. Rows are normalised as they are
/// rounded. x, the residuals and all results stay floats.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "fused_block.hpp"
#include "magnitudes.hpp"

#include <tessera/core/half.hpp>
#include <tessera/core/types.hpp>
#include <tessera/kernels/tensor_gemm.hpp>
#include <tessera/kernels/tensor_heads.hpp>
#include <tessera/table/on_matrix_units.hpp>

namespace tessera::transformer_block {

/// Products of tensor_bf16. Kernels on matrix units choose their teams themselves.
template <ExecutionSpace Exec>
struct Bf16Products {
  template <class Form>
  using Product = kernels::TensorGemm<Exec, BFloat16, Form>;
  using Attention = kernels::TensorHeads<Exec, 1>;

  template <class P>
  [[nodiscard]] static P make(Exec const& exec, std::size_t m, std::size_t n, std::size_t k, std::int64_t,
                              std::string label) {
    return P(exec, m, n, k, std::move(label));
  }
  [[nodiscard]] static std::int64_t team_of_attention(std::int64_t) { return 0; }
  /// A unit makes all sums: see Bf16Block::reduced_precision.
  template <class P>
  [[nodiscard]] static double rounding_steps(P const&) {
    return 1;
  }
};

/// Throws Skip for factors that may exceed 2^40 (TensorHeads), and as the products do.
template <ExecutionSpace Exec, class Products = Bf16Products<Exec>>
class Bf16Block : public FusedBlock<Exec, float, Products> {
 public:
  /// \param label name of the variant
  Bf16Block(Exec const& exec, InputOn<TransformerBlock, Exec, float> const& in,
            std::string const& label = "tessera::transformer_block::tensor_bf16")
      : Bf16Block::FusedBlock(exec, in, label),
        longest_(std::max(in.d_model(), in.d_ff())),
        lost_(BlockMagnitudes<Exec>(exec, in, 40).lost_by_underflow([](std::size_t k, double a, double w) {
          return 2 * static_cast<double>(k) * ((a + w) * 0x1p-134 + 0x1p-126);  // factors and products
        })) {}

  /// The reference knows the error of rounded factors. Adds eight times the error of sums by a unit, as Tf32Block does.
  [[nodiscard]] ReducedPrecision reduced_precision() const {
    return {.relative = 8 * kernels::error_of_unit_sums(longest_), .absolute = lost_, .bfloat16_factors = true};
  }

 private:
  std::size_t longest_;
  double lost_;
};

}  // namespace tessera::transformer_block
