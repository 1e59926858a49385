#pragma once
/// \file
/// Layernorm to memory, then the product of kernels/gemm.hpp, which reads w transposed and adds the bias as it stores.

#include <string>

#include "problem.hpp"

#include <tessera/core/problem.hpp>
#include <tessera/kernels/gemm.hpp>
#include <tessera/kernels/layer_norm.hpp>

namespace tessera::layernorm_linear {

/// Constructed once: allocates ln, chooses tiles and teams. Calls only enqueue.
template <ExecutionSpace Exec, class T>
class StoredRowsProduct {
 public:
  /// \param label name of the launches in Kokkos' tools
  StoredRowsProduct(Exec const& exec, InputOn<LayernormLinear, Exec, T> const& input, std::string const& label)
      : layer_norm_(exec, input.rows(), input.hidden(), input.parameters.eps, input.parameters.team,
                    label + "::layernorm"),
        product_(exec, input.rows(), input.outputs(), input.hidden(), Product::team_if_open(input.parameters.team),
                 label + "::product"),
        ln_(Kokkos::view_alloc(Kokkos::WithoutInitializing, label + "::ln"), input.rows(), input.hidden()) {}

  void operator()(Exec const& exec, InputOn<LayernormLinear, Exec, T> const& input,
                  OutputOn<LayernormLinear, Exec, T> const& output) const {
    layer_norm_(exec, input.x, input.gamma, input.beta, ln_);
    product_(exec, ln_, input.w, output.y,
             {.load = {}, .store = kernels::sum_and_bias(exec, input.bias, input.outputs())});
  }

  /// Counts the chain to ln (2 of it after xhat), the product and the bias.
  [[nodiscard]] double rounding_steps() const {
    return layer_norm_.rounding_steps() + 2 + product_.rounding_steps() + 1;
  }

 private:
  using Form = kernels::ProductForm<false, true, kernels::AsStored, kernels::SumAndBias<T>>;
  using Product = kernels::Gemm<Exec, T, Form>;

  kernels::LayerNorm<Exec, T> layer_norm_;
  Product product_;
  Array<T**, typename Exec::memory_space> ln_;
};

}  // namespace tessera::layernorm_linear
