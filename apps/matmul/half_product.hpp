#pragma once
/// \file
/// The Plan of tensor_fp16, tensor_bf16, warpgroup_fp16 and warpgroup_bf16: a product of 16-bit factors
/// (kernels/tensor_gemm.hpp, kernels/warpgroup_gemm.hpp), and its error bound.

#include <Kokkos_Core.hpp>

#include <string>
#include <utility>

#include "factor_facts.hpp"
#include "problem.hpp"

#include <tessera/collective/lane/matrix_unit.hpp>
#include <tessera/core/half.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>
#include <tessera/kernels/tensor_gemm.hpp>
#include <tessera/table/make_app.hpp>
#include <tessera/table/on_matrix_units.hpp>
#include <tessera/table/shared_plan.hpp>

namespace tessera::matmul {

/// The error of rounding to Half: 2^-11 of an element; 2^-25 for elements below 2^-14, where neighbouring numbers are
/// 2^-24 apart. Matrix units that flush read the elements below 2^-14 as 0.
template <class Factor, bool flushes>
struct FactorRule {
  static constexpr double of_small = flushes ? 0x1p-14 : 0x1p-25;
  static constexpr char const* range = "elements above 65504";

  [[nodiscard]] KOKKOS_FUNCTION static Fit fit(float value, float magnitude) {
    if (!(magnitude <= 65504.0F)) return Fit::outside;
    if (flushes && magnitude != 0 && magnitude < 0x1p-14F) return Fit::small;
    if (static_cast<float>(Factor(value)) == value) return Fit::exactly;
    return magnitude < 0x1p-14F ? Fit::small : Fit::rounded;
  }
};

/// The error of rounding to BFloat16: 2^-8 of an element. The limits ensure that products of the smallest elements do
/// not underflow and the largest element does not round to infinity.
template <bool flushes>
struct FactorRule<BFloat16, flushes> {
  static constexpr double of_small = 0;
  static constexpr char const* range = "elements outside of 2^-60 to 2^126, and not 0";

  [[nodiscard]] KOKKOS_FUNCTION static Fit fit(float value, float magnitude) {
    if (!(magnitude <= 0x1p126F) || (magnitude != 0 && magnitude < 0x1p-60F)) return Fit::outside;
    return static_cast<float>(BFloat16(value)) == value ? Fit::exactly : Fit::rounded;
  }
};

/// Emulates matrix units on hosts, for tests only; the variants skip hosts. Throws Skip for matrices with elements that
/// the factors do not represent, and on GPUs without matrix units. `Product`: a kernel object for floats; `lanes`:
/// lanes per team.
template <ExecutionSpace Exec, class Factor, class Product = kernels::TensorGemm<Exec, Factor>,
          int lanes = kernels::TensorGemmTuning<Exec>::Large::lanes>
class HalfPlan : public Product {
 public:
  HalfPlan(Exec const& exec, InputOn<Matmul, Exec, float> const& input, std::string const& label)
      : Product(exec, input.a.extent(0), input.b.extent(1), input.a.extent(1), label + "::product") {
    if (input.parameters.team != 0) {
      throw Skip("a team of " + std::to_string(input.parameters.team) + " threads (a tile is cut for " +
                 std::to_string(lanes) + ")");
    }
    FactorFacts const a = facts_of<Rule>(exec, input.a);
    FactorFacts const b = facts_of<Rule>(exec, input.b);
    if (a.outside + b.outside > 0) {
      throw Skip(std::string(Rule::range) + " (the factors or their products leave the range of their type)");
    }
    double const large_a = static_cast<double>(a.largest);
    double const large_b = static_cast<double>(b.largest);
    // If a is off by d_a and b by d_b, |a b - a' b'| is at most |b| d_a + |a| d_b + d_a d_b. Here d_a and d_b are the
    // absolute errors of small elements, and k terms are added.
    double const d_a = a.small > 0 ? Rule::of_small : 0;
    double const d_b = b.small > 0 ? Rule::of_small : 0;
    double const small = static_cast<double>(input.a.extent(1)) *
                         ((large_b * d_a + large_a * d_b) * (1 + kernels::factor_roundoff<Factor>)+d_a * d_b);
    bool const rounds = a.rounded + b.rounded > 0;
    double const of_factors = rounds ? kernels::error_of_factors<Factor> : 0;
    double const of_sums = kernels::error_of_unit_sums(input.a.extent(1));
    precision_ = {
        .relative = of_factors + of_sums * (1 + of_factors), .absolute = small * (1 + of_sums), .rounds_data = rounds};
  }

  /// A matrix unit makes all sums, so there is no chain of independent roundings; reduced_precision() holds their
  /// error.
  [[nodiscard]] static double rounding_steps() { return 1; }
  /// Returns the rounding errors of the factors, if any is rounded, and the errors of the units' sums
  /// (tensor_gemm.hpp).
  [[nodiscard]] ReducedPrecision reduced_precision() const { return precision_; }

 private:
  using Rule = FactorRule<Factor, collective::MatrixUnit<Factor, collective::matrix_lanes<Exec>>::flushes>;

  ReducedPrecision precision_;
};

}  // namespace tessera::matmul
