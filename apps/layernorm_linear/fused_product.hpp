#pragma once
/// \file
/// Layernorm and the product in one launch: the product of kernels/gemm.hpp normalises x as it loads it, and makes the
/// statistics of its rows itself.

#include <cstddef>
#include <string>

#include "normalise_inside.hpp"
#include "problem.hpp"

#include <tessera/collective/pack.hpp>
#include <tessera/core/problem.hpp>
#include <tessera/kernels/gemm.hpp>

namespace tessera::layernorm_linear {

/// Constructed once: chooses tiles and teams. Calls only enqueue.
template <ExecutionSpace Exec, class T>
class FusedProduct {
 public:
  /// \param label name of the launch in Kokkos' tools
  FusedProduct(Exec const& exec, InputOn<LayernormLinear, Exec, T> const& input, std::string const& label)
      : product_(exec, input.rows(), input.outputs(), input.hidden(), Product::team_if_open(input.parameters.team),
                 label),
        hidden_(input.hidden()) {}

  void operator()(Exec const& exec, InputOn<LayernormLinear, Exec, T> const& input,
                  OutputOn<LayernormLinear, Exec, T> const& output) const {
    T const* const x = input.x.data();
    Load const load{.x = x,
                    .gamma = input.gamma.data(),
                    .beta = input.beta.data(),
                    .cols = hidden_,
                    .eps = static_cast<T>(input.parameters.eps),
                    .in_packs = hidden_ % Load::pack == 0 && collective::is_aligned_for_packs<Load::pack>(x)};
    product_(exec, input.x, input.w, output.y,
             {.load = load, .store = kernels::sum_and_bias(exec, input.bias, input.outputs())});
  }

  /// Counts a row's sum by the lanes that share it, 8 to an xhat, 2 to ln, the product and the bias.
  [[nodiscard]] double rounding_steps() const {
    return Load::ByElements::sum_steps(hidden_) + 8 + 2 + product_.rounding_steps() + 1;
  }

 private:
  using Load = NormaliseInside<Exec, T>;
  using Form = kernels::ProductForm<false, true, Load, kernels::SumAndBias<T>>;
  using Product = kernels::Gemm<Exec, T, Form>;

  Product product_;
  std::size_t hidden_;
};

}  // namespace tessera::layernorm_linear
