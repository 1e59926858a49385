#pragma once
/// \file
/// The Plan of the variants matrix_*: chains of products of small matrices on matrix units (tensor cores), in
/// registers. As in multiply_add, a chain counts its own iterations, so its result shows whether all of them ran.

#include "chains.hpp"

#include <tessera/collective/lane/matrix_unit.hpp>
#include <tessera/kernels/detail/gemm/matrix_units.hpp>

namespace tessera::roofline {

/// Throws Skip without matrix units, and for more iterations than a chain can count exactly.
template <ExecutionSpace Exec, class Factor>
class MatrixPlan : public Chains {
 public:
  MatrixPlan(Exec const& exec, InputOn<Roofline, Exec, float> const& input)
      : Chains(input.a.extent(0), input.parameters.iterations, sizeof(float),
               measure::matrix_chain_operations<Exec, Factor>) {
    kernels::require_matrix_units(exec);
    if (iterations_ > Kernel::most_iterations) {
      throw Skip("more than " + std::to_string(Kernel::most_iterations) + " iterations (sums of floats count " +
                 std::to_string(Kernel::Unit::depth) + " in each)");
    }
  }

  void operator()([[maybe_unused]] Exec const& exec, InputOn<Roofline, Exec, float> const&,
                  [[maybe_unused]] OutputOn<Roofline, Exec, float> const& output) const {
    if constexpr (is_gpu<Exec> && collective::can_have_matrix_units<Exec>)
      measure::matrix_chains<Factor>(exec, output.chains, iterations_);
  }

  /// Returns a warning if there are so few chains that units are idle: the result is then no peak.
  [[nodiscard]] std::string note() const {
    return count_ < measure::most_chains ? std::to_string(count_) + " sums: too few to fill a machine" : "";
  }

 private:
  using Kernel = measure::MatrixChainKernel<Exec, Factor>;
};

}  // namespace tessera::roofline
