#pragma once
/// \file
/// The launches that variants share: a product of kernels/ after the statistics of the rows, or after a layernorm to
/// memory. Both multiply by the transpose of w, and add the bias as they store y.

#include <Kokkos_Core.hpp>

#include <string>

#include "problem.hpp"

#include <tessera/kernels/gemm.hpp>
#include <tessera/kernels/layer_norm.hpp>
#include <tessera/kernels/product_form.hpp>
#include <tessera/table/make_app.hpp>
#include <tessera/table/shared_plan.hpp>

namespace tessera::layernorm_linear {

/// Returns the product of normalised rows and w, a kernel object. Tiles of matrix units fix the threads per team.
template <class Product, ExecutionSpace Exec, class Input>
[[nodiscard]] Product product_of(Exec const& exec, Input const& input, std::string const& label) {
  if constexpr (requires { Product::team_if_open(input.parameters.team); }) {
    auto const team = Product::team_if_open(input.parameters.team);
    return Product(exec, input.rows(), input.outputs(), input.hidden(), team, label);
  } else {
    return Product(exec, input.rows(), input.outputs(), input.hidden(), label);
  }
}

/// Forms of a product that normalises x as it loads x, and of a product that takes ln from memory.
template <class T>
using NormalisingForm = kernels::ProductForm<false, true, kernels::NormaliseOnLoad<T>, kernels::SumAndBias<T>>;
template <class T>
using StoredForm = kernels::ProductForm<false, true, kernels::AsStored, kernels::SumAndBias<T>>;

/// The rows' statistics, then the product, which normalises x as it loads x. ln is not stored. Constructed once; calls
/// only enqueue.
/// \tparam Product a kernel object of NormalisingForm
template <ExecutionSpace Exec, class T, class Product = kernels::Gemm<Exec, T, NormalisingForm<T>>>
class StatisticsProduct {
 public:
  /// \param label name of the variant; the launches are named label::statistics and label::product
  StatisticsProduct(Exec const& exec, InputOn<LayernormLinear, Exec, T> const& input, std::string const& label)
      : layer_norm_(exec, input.rows(), input.hidden(), input.parameters.eps, input.parameters.team,
                    label + "::statistics"),
        product_(product_of<Product>(exec, input, label + "::product")),
        mean_(unset(label + "::mean"), input.rows()),
        inv_std_(unset(label + "::inv_std"), input.rows()) {}

  void operator()(Exec const& exec, InputOn<LayernormLinear, Exec, T> const& input,
                  OutputOn<LayernormLinear, Exec, T> const& output) const {
    auto const& [x, gamma, beta, w, bias, parameters] = input;
    layer_norm_.statistics(exec, x, mean_, inv_std_);
    product_(exec, x, w, output.y,
             {.load = layer_norm_.on_load(x, gamma, beta, mean_, inv_std_),
              .store = kernels::sum_and_bias(exec, bias, input.outputs())});
  }

  /// Returns the chain to ln: 2 of it after xhat.
  [[nodiscard]] double steps_to_ln() const { return layer_norm_.rounding_steps() + 2; }
  /// Counts the chain to ln, the product and the bias.
  [[nodiscard]] double rounding_steps() const { return steps_to_ln() + product_.rounding_steps() + 1; }

 private:
  kernels::LayerNorm<Exec, T> layer_norm_;
  Product product_;
  Kokkos::View<T*, typename Exec::memory_space> mean_;
  Kokkos::View<T*, typename Exec::memory_space> inv_std_;
};

/// Layernorm to memory, then the product. Constructed once: allocates ln, chooses tiles and teams. Calls only enqueue.
/// \tparam Product a kernel object that adds the bias as it stores
template <ExecutionSpace Exec, class T, class Product = kernels::Gemm<Exec, T, StoredForm<T>>>
class StoredRowsProduct {
 public:
  /// \param label name of the variant; the launches are named label::layernorm and label::product
  StoredRowsProduct(Exec const& exec, InputOn<LayernormLinear, Exec, T> const& input, std::string const& label)
      : layer_norm_(exec, input.rows(), input.hidden(), input.parameters.eps, input.parameters.team,
                    label + "::layernorm"),
        product_(product_of<Product>(exec, input, label + "::product")),
        ln_(unset(label + "::ln"), input.rows(), input.hidden()) {}

  void operator()(Exec const& exec, InputOn<LayernormLinear, Exec, T> const& input,
                  OutputOn<LayernormLinear, Exec, T> const& output) const {
    normalise(exec, input);
    multiply(exec, input, input.w, output);
  }

  /// Counts the chain to ln (2 of it after xhat), the product and the bias.
  [[nodiscard]] double rounding_steps() const {
    return layer_norm_.rounding_steps() + 2 + product_.rounding_steps() + 1;
  }

 protected:
  void normalise(Exec const& exec, InputOn<LayernormLinear, Exec, T> const& input) const {
    layer_norm_(exec, input.x, input.gamma, input.beta, ln_);
  }
  /// \param w the product's right operand
  template <class W>
  void multiply(Exec const& exec, InputOn<LayernormLinear, Exec, T> const& input, W const& w,
                OutputOn<LayernormLinear, Exec, T> const& output) const {
    product_(exec, ln_, w, output.y, {.load = {}, .store = kernels::sum_and_bias(exec, input.bias, input.outputs())});
  }
  [[nodiscard]] Product const& product() const { return product_; }

 private:
  kernels::LayerNorm<Exec, T> layer_norm_;
  Product product_;
  Array<T**, typename Exec::memory_space> ln_;
};

}  // namespace tessera::layernorm_linear
