/// \file
/// On matrix units (tensor cores), factors rounded to bfloat16: the rows' statistics, then a product (kernels/tensor_gemm.hpp) that
/// normalises x as it rounds it, and adds the bias as it stores. ln is never stored in float.
///
/// An element of ln and one of w are off by 2^-8 of them, their product by 2^-7 + 2^-16, and the sums as matmul/tensor_bf16 says: all
/// relative to the sum of |w| |ln|, which is in the scale of y.

#include <Kokkos_Core.hpp>

#include <concepts>
#include <cstddef>
#include <string>

#include "../problem.hpp"

#include <tessera/core/half.hpp>
#include <tessera/core/types.hpp>
#include <tessera/kernels/layer_norm.hpp>
#include <tessera/kernels/tensor_gemm.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::layernorm_linear {

/// The largest finite magnitude. Infinities and NaN stay what they are when they are rounded.
template <class Field>
struct LargestMagnitude {
  Field field;

  KOKKOS_FUNCTION void operator()(std::size_t i, float& largest) const {
    float const value = field.data()[i];
    float const magnitude = value < 0 ? -value : value;
    if (magnitude > largest && magnitude < Kokkos::Experimental::infinity_v<float>) largest = magnitude;
  }
};
/// Waits for it. 0 if there is none.
template <ExecutionSpace Exec, class Field>
[[nodiscard]] float largest_magnitude(Exec const& exec, Field const& field) {
  float largest = 0;
  Kokkos::parallel_reduce("tessera::layernorm_linear::fused_tensor::largest",
                          Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::size_t>>(exec, 0, field.size()),
                          LargestMagnitude<Field>{field}, Kokkos::Max<float>(largest));
  return field.size() == 0 ? 0 : largest;
}

struct FusedTensor {
  static constexpr VariantInfo info{
      .name = "fused_tensor",
      .level = Level::lane,
      .summary = "statistics of rows, then a product on matrix units, factors rounded to bfloat16 (8 bits)",
      .unit = Unit::bfloat16};

  template <ExecutionSpace Exec, class T>
    requires std::same_as<T, float>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<LayernormLinear, Exec, T> const& input)
        : layer_norm_(checked(exec), input.rows(), input.hidden(), input.parameters.eps, input.parameters.team,
                      "tessera::layernorm_linear::fused_tensor::statistics"),
          product_(exec, input.rows(), input.outputs(), input.hidden(),
                   "tessera::layernorm_linear::fused_tensor::product"),
          mean_(Kokkos::view_alloc(Kokkos::WithoutInitializing, "tessera::layernorm_linear::fused_tensor::mean"),
                input.rows()),
          inv_std_(Kokkos::view_alloc(Kokkos::WithoutInitializing, "tessera::layernorm_linear::fused_tensor::inv_std"),
                   input.rows()),
          hidden_(input.hidden()) {
      float const w = largest_magnitude(exec, input.w);
      if (w > most || largest_magnitude(exec, input.gamma) > most || largest_magnitude(exec, input.beta) > most) {
        throw Skip("elements of w, gamma and beta up to 2^100 (larger ones may round to infinity)");
      }
      largest_of_w_ = static_cast<double>(w);
    }

    void operator()(Exec const& exec, InputOn<LayernormLinear, Exec, T> const& input,
                    OutputOn<LayernormLinear, Exec, T> const& output) const {
      auto const& [x, gamma, beta, w, bias, parameters] = input;
      layer_norm_.statistics(exec, x, mean_, inv_std_);
      product_(exec, x, w, output.y,
               {.load = layer_norm_.on_load(x, gamma, beta, mean_, inv_std_), .store = {bias.data()}});
    }

    /// A row's sum to ln with its 2, the bias.
    [[nodiscard]] double rounding_steps() const { return layer_norm_.rounding_steps() + 2 + 1; }
    [[nodiscard]] ReducedPrecision reduced_precision() const {
      double const of_factors = kernels::error_of_factors<BFloat16>;
      // An ln below the normal range is off by 2^-134, and a product there by 2^-126.
      return {.relative = of_factors + kernels::error_of_unit_sums(hidden_) * (1 + of_factors),
              .absolute = 2 * static_cast<double>(hidden_) * (largest_of_w_ * 0x1p-134 + 0x1p-126),
              .rounds_data = true};
    }

   private:
    using Form = kernels::ProductForm<false, true, kernels::NormaliseOnLoad<T>, kernels::SumAndBias<T>>;

    static constexpr float most = 0x1p100F;

    // The space, if the variant can run there.
    [[nodiscard]] static Exec const& checked(Exec const& exec) {
      if (!is_gpu<Exec>) {
        throw Skip("matrix units (CUDA has them, from compute capability 8.0 on; a host's are emulated, for tests)");
      }
      return exec;
    }

    kernels::LayerNorm<Exec, T> layer_norm_;
    kernels::TensorGemm<Exec, BFloat16, Form> product_;
    Kokkos::View<T*, typename Exec::memory_space> mean_;
    Kokkos::View<T*, typename Exec::memory_space> inv_std_;
    std::size_t hidden_;
    double largest_of_w_ = 0;
  };
};

VariantRows fused_tensor() { return rows<LayernormLinear, FusedTensor>(); }

}  // namespace tessera::layernorm_linear
