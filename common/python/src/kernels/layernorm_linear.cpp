#include <bit>

#include <tessera/kernels/gemm.hpp>
#include <tessera/kernels/layer_norm.hpp>
#include <tessera/kernels/product_form.hpp>

#include "../kernels.hpp"
#include "../runtime.hpp"

namespace tessera::python {

namespace {

/// The kernels of a layer, and the normalised rows between them.
template <class Exec, class T>
struct Stages {
  using Form = kernels::ProductForm<false, true, kernels::AsStored, kernels::SumAndBias<T>>;

  ArrayOn<T**, Exec> ln;
  kernels::LayerNorm<Exec, T> norm;
  kernels::Gemm<Exec, T, Form> product;

  Stages(Exec const& exec, std::size_t rows, std::size_t hidden, std::size_t outputs, double eps)
      : ln(unset("tessera::layernorm_linear::ln"), rows, hidden),
        norm(exec, rows, hidden, eps),
        product(exec, rows, outputs, hidden) {}
};

}  // namespace

void layernorm_linear(Array const& x, LayerParameters const& layer, Array const& bias, Array const& out) {
  with_type_of(x, Floats{}, [&]<class T>() {
    on_space_of(x, [&]<class Exec>(Exec const& exec) {
      using Kernels = Stages<Exec, T>;
      auto const rows = view_of<T const**, Exec>(x);
      auto const w = view_of<T const**, Exec>(layer.weight);
      std::size_t const count = rows.extent(0);
      std::size_t const hidden = rows.extent(1);
      std::size_t const outputs = w.extent(0);
      auto& stages = kept_from<Kernels>(exec, {count, hidden, outputs, std::bit_cast<std::uint64_t>(layer.eps)}, [&] {
        return std::make_shared<Kernels>(exec, count, hidden, outputs, layer.eps);
      });
      stages.norm(exec, rows, view_of<T const*, Exec>(layer.gamma), view_of<T const*, Exec>(layer.beta), stages.ln);
      stages.product(exec, stages.ln, w, view_of<T**, Exec>(out),
                     {.load = {}, .store = kernels::sum_and_bias(exec, view_of<T const*, Exec>(bias), outputs)});
    });
  });
}

}  // namespace tessera::python
