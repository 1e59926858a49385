#pragma once
/// \file
/// The Plan of fused_tensor and fused_bf16x3: kernels/tensor_attention.hpp, and a check that it can take the input.

#include <Kokkos_Core.hpp>

#include <cstddef>

#include "problem.hpp"

#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>
#include <tessera/kernels/tensor_attention.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::attention {

/// \tparam Terms bfloat16 numbers per factor: 1 or 3
template <ExecutionSpace Exec, int Terms>
class TensorPlan : public kernels::TensorAttention<Exec, Terms> {
  using Kernel = kernels::TensorAttention<Exec, Terms>;

 public:
  /// Throws Skip if the space has no matrix units, or if the kernel cannot take the rows or elements.
  TensorPlan(Exec const& exec, InputOn<Attention, Exec, float> const& input)
      : Kernel(exec, input.q.extent(0), input.k.extent(0), input.q.extent(1), input.parameters.team,
               Terms == 1 ? "tessera::attention::fused_tensor" : "tessera::attention::fused_bf16x3") {
    if (!Kernel::takes(input.parameters.scale)) {
      throw Skip("a scale outside of 2^-20 to 2^20, and not 0 (scores might leave float's range)");
    }
    if (outside(exec, input.q) + outside(exec, input.k) + outside(exec, input.v) > 0) {
      throw Skip("elements outside of 2^-40 to 2^40, and not 0 (scores might leave float's range)");
    }
  }

  void operator()(Exec const& exec, InputOn<Attention, Exec, float> const& input,
                  OutputOn<Attention, Exec, float> const& output) const {
    Kernel::operator()(exec, input.q, input.k, input.v, output.out, input.parameters.scale);
  }

  /// Returns the number of elements beyond the kernel's range, including NaN and infinities.
  // Public because CUDA allows no device lambda in a private function.
  template <class Matrix>
  [[nodiscard]] static std::size_t outside(Exec const& exec, Matrix const& matrix) {
    std::size_t count = 0;
    // The label has no row name: the launch belongs to the construction of the Plan, outside the row's region.
    Kokkos::parallel_reduce(
        "tessera::attention::outside", over(exec, matrix.size()),
        KOKKOS_LAMBDA(std::size_t i, std::size_t& sum) {
          float const value = matrix.data()[i];
          float const size = value < 0 ? -value : value;
          sum += size == 0 || (size >= Kernel::smallest && size <= Kernel::largest) ? 0 : 1;
        },
        count);
    return count;
  }
};

}  // namespace tessera::attention
