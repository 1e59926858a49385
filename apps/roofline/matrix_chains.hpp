#pragma once
/// \file
/// The Plan of the variants matrix_*: chains of products of small matrices on matrix units (tensor cores), in
/// registers. As in multiply_add, a chain counts its own iterations, so its result shows whether all of them ran.

#include "problem.hpp"

#include <tessera/collective/lane/matrix_unit.hpp>
#include <tessera/core/problem.hpp>
#include <tessera/kernels/detail/gemm/matrix_units.hpp>
#include <tessera/table/app.hpp>

namespace tessera::roofline {

/// Throws Skip without matrix units, and for more iterations than a chain can count exactly.
template <ExecutionSpace Exec, class Factor>
class MatrixPlan {
 public:
  MatrixPlan(Exec const& exec, InputOn<Roofline, Exec, float> const& input)
      : count_(static_cast<std::int32_t>(std::min<std::size_t>(input.a.extent(0), measure::most_chains))),
        iterations_(static_cast<std::int32_t>(input.parameters.iterations)) {
    kernels::require_matrix_units(exec);
    if (iterations_ > Kernel::most_iterations) {
      throw Skip("more than " + std::to_string(Kernel::most_iterations) + " iterations (sums of floats count " +
                 std::to_string(Kernel::Unit::depth) + " in each)");
    }
  }

  void operator()(Exec const& exec, InputOn<Roofline, Exec, float> const& input,
                  OutputOn<Roofline, Exec, float> const& output) const {
    (void)input;
    if constexpr (is_gpu<Exec> && collective::can_have_matrix_units<Exec>)
      measure::matrix_chains<Factor>(exec, output.chains, iterations_);
  }

  [[nodiscard]] std::vector<WrittenField> outputs() const { return {{.field = "chains"}}; }
  [[nodiscard]] Work work() const {
    return {.bytes = static_cast<double>(count_) * sizeof(float),
            .flops = measure::matrix_chain_operations<Exec, Factor> * count_ * iterations_};
  }
  /// Returns a warning if there are so few chains that units are idle: the result is then no peak.
  [[nodiscard]] std::string note() const {
    return count_ < measure::most_chains ? std::to_string(count_) + " sums: too few to fill a machine" : "";
  }

 private:
  using Kernel = measure::MatrixChainKernel<Exec, Factor>;

  std::int32_t count_;
  std::int32_t iterations_;
};

}  // namespace tessera::roofline
