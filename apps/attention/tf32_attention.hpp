#pragma once
/// \file
/// The Plan of tensor_3xtf32: composed with both products on matrix units, of float's accuracy (kernels/tf32_gemm.hpp).

#include <Kokkos_Core.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include "problem.hpp"
#include "scores.hpp"

#include <tessera/core/problem.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>
#include <tessera/kernels/largest_magnitude.hpp>
#include <tessera/kernels/product_form.hpp>
#include <tessera/kernels/softmax.hpp>
#include <tessera/kernels/tf32_gemm.hpp>
#include <tessera/kernels/transpose.hpp>

namespace tessera::attention {

/// Sums times a number that all columns share.
struct ScaleOnStore {
  static constexpr bool changes = true;
  static constexpr bool adds = false;
  float scale;

  [[nodiscard]] KOKKOS_FUNCTION float of_column(std::size_t) const { return scale; }
  [[nodiscard]] KOKKOS_FUNCTION static float finished(float sum, float scale) { return sum * scale; }
};

/// On hosts with emulated matrix units, for tests: the variant skips them. Throws Skip for rows that are too short, for elements
/// whose scores may leave float's range, and on GPUs without matrix units.
///
/// \tparam Terms of a factor of the scores: 2; 1 is a mistake that a test makes
template <ExecutionSpace Exec, int Terms = 2>
class Tf32Attention {
 public:
  Tf32Attention(Exec const& exec, InputOn<Attention, Exec, float> const& input)
      : turn_(exec, input.k.extent(0), input.k.extent(1), 0, "tessera::attention::tensor_3xtf32::transpose"),
        to_scores_(exec, input.q.extent(0), input.k.extent(0), takes_rows_of(input),
                   "tessera::attention::tensor_3xtf32::scores"),
        softmax_(exec, input.q.extent(0), input.k.extent(0), input.parameters.team,
                 "tessera::attention::tensor_3xtf32::softmax"),
        to_output_(exec, input.q.extent(0), input.q.extent(1), input.k.extent(0),
                   "tessera::attention::tensor_3xtf32::output"),
        lost_(lost_by_underflow(exec, input)),
        scores_(allocate_scores<Exec, float>(input)),
        turned_(Kokkos::view_alloc(Kokkos::WithoutInitializing, "tessera::attention::turned"), input.k.extent(1),
                input.k.extent(0)) {}

  void operator()(Exec const& exec, InputOn<Attention, Exec, float> const& input,
                  OutputOn<Attention, Exec, float> const& output) const {
    turn_(exec, input.k, turned_);
    to_scores_(exec, input.q, turned_, scores_, {.load = {}, .store = {static_cast<float>(input.parameters.scale)}});
    softmax_(exec, scores_, scores_);
    to_output_(exec, scores_, input.v, output.out);
  }

  /// A row's sum; a weight's exponential and quotient; the product. (What a score is off by is in the reference's offset.)
  [[nodiscard]] double rounding_steps() const { return softmax_.rounding_steps() + 8 + to_output_.rounding_steps(); }
  [[nodiscard]] ReducedPrecision reduced_precision() const {
    return {.relative = to_output_.error(), .absolute = lost_};
  }

 private:
  using ToScores = kernels::ProductForm<false, false, kernels::AsStored, ScaleOnStore>;

  // The reference allows a score d + 1 roundings of its sum of magnitudes. Here it has 49, one for every 16 columns, and that of the
  // scale: as many from 53 columns on.
  [[nodiscard]] static std::size_t takes_rows_of(InputOn<Attention, Exec, float> const& input) {
    std::size_t const dim = input.q.extent(1);
    if (dim < 53) {
      throw Skip("d = " + std::to_string(dim) + " (a score's error is within the bound from 53 columns on)");
    }
    return dim;
  }

  // What an element may be off by since products underflow. A score that is off by e makes weights that are off by e relative to
  // themselves, and by as much their sum. Twice that, since what follows rounds.
  [[nodiscard]] double lost_by_underflow(Exec const& exec, InputOn<Attention, Exec, float> const& input) const {
    auto const largest_of = [&](auto const& field) {
      auto const largest = static_cast<double>(kernels::largest_magnitude(exec, field));
      if (largest > 0x1p50) throw Skip("elements up to 2^50 (scores might leave float's range)");
      return largest;
    };
    double const q = largest_of(input.q);
    double const k = largest_of(input.k);
    double const v = largest_of(input.v);
    double const of_score = std::abs(input.parameters.scale) * to_scores_.lost_by_underflow(q, k);
    return 2 * (2 * of_score * 2 * v + to_output_.lost_by_underflow(1, v));
  }

  kernels::Transpose<Exec, float> turn_;
  kernels::Tf32Gemm<Exec, Terms, ToScores> to_scores_;
  kernels::RowSoftmax<Exec, float> softmax_;
  kernels::Tf32Gemm<Exec, 2> to_output_;
  double lost_;
  Scores<Exec, float> scores_;
  Scores<Exec, float> turned_;
};

}  // namespace tessera::attention
