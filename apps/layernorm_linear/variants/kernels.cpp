/// \file
/// Layernorm to memory, then KokkosBlas::gemm of Kokkos Kernels (the vendor's BLAS if Kokkos Kernels was built with it,
/// else its own kernel; the note says which), then the bias. A build without Kokkos Kernels skips the rows and says so.

#include <cstdint>

#include "../problem.hpp"

#include <tessera/kernels/layer_norm.hpp>
#include <tessera/table/make_app.hpp>

#include <tessera/table/kokkos_blas.hpp>

namespace tessera::layernorm_linear {

struct Kernels {
  static constexpr VariantInfo info{
      .name = "kernels",
      .level = Level::library,
      .summary = "layernorm, KokkosBlas::gemm (the vendor's or Kokkos Kernels' own), bias"};

  template <ExecutionSpace Exec, std::floating_point T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<LayernormLinear, Exec, T> const& input)
        : layer_norm_(exec, input.rows(), input.hidden(), input.parameters.eps, input.parameters.team,
                      "tessera::layernorm_linear::kernels::layernorm"),
          ln_(unset("tessera::layernorm_linear::kernels::ln"), input.rows(), input.hidden()) {
      needs_int_extents({input.rows(), input.hidden(), input.outputs()});
    }

    void operator()(Exec const& exec, InputOn<LayernormLinear, Exec, T> const& input,
                    OutputOn<LayernormLinear, Exec, T> const& output) const {
      if (output.y.size() == 0) return;
      layer_norm_(exec, input.x, input.gamma, input.beta, ln_);
      KokkosBlas::gemm(exec, "N", "T", T(1), ln_, input.w, T(0), output.y);
      auto const y = output.y;
      auto const bias = input.bias;
      auto const outputs = static_cast<std::int64_t>(input.outputs());
      Kokkos::parallel_for(
          "tessera::layernorm_linear::kernels::bias", over(exec, y.size()),
          KOKKOS_LAMBDA(std::int64_t i) { y.data()[i] += bias(i % outputs); });
    }

    [[nodiscard]] std::string note() const { return whose_gemm<Exec, T>(); }

   private:
    kernels::LayerNorm<Exec, T> layer_norm_;
    Array<T**, typename Exec::memory_space> ln_;
  };
};

VariantRows kernels() { return rows<LayernormLinear, Kernels>(); }

}  // namespace tessera::layernorm_linear
