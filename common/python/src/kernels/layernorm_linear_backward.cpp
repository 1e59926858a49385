#include <bit>

#include <tessera/kernels/gemm.hpp>
#include <tessera/kernels/layer_norm_backward.hpp>
#include <tessera/kernels/product_form.hpp>
#include <tessera/kernels/sum_columns.hpp>

#include "../kernels.hpp"
#include "../runtime.hpp"

namespace tessera::python {

namespace {

/// The kernels of a layer's gradients, and the rows between them.
template <class Exec, class T>
struct BackwardStages {
  ArrayOn<T**, Exec> ln;
  ArrayOn<T**, Exec> dln;
  kernels::LayerNorm<Exec, T> norm;
  kernels::LayerNormBackward<Exec, T> norm_backward;
  kernels::Gemm<Exec, T> to_ln;
  kernels::Gemm<Exec, T, kernels::TransposedA> to_weight;
  kernels::SumColumns<Exec, T> to_bias;

  BackwardStages(Exec const& exec, std::size_t rows, std::size_t hidden, std::size_t outputs, double eps)
      : ln(unset("tessera::layernorm_linear_backward::ln"), rows, hidden),
        dln(unset("tessera::layernorm_linear_backward::dln"), rows, hidden),
        norm(exec, rows, hidden, eps),
        norm_backward(exec, rows, hidden, eps),
        to_ln(exec, rows, hidden, outputs),
        to_weight(exec, outputs, hidden, rows, 0, "tessera::gemm", kernels::SplitK::where_it_helps),
        to_bias(exec, rows, outputs) {}
};

}  // namespace

void layernorm_linear_backward(Array const& x, LayerParameters const& layer, Array const& grad,
                               LayerGradients const& to) {
  with_type_of(x, Floats{}, [&]<class T>() {
    on_space_of(x, [&]<class Exec>(Exec const& exec) {
      using Kernels = BackwardStages<Exec, T>;
      auto const rows = view_of<T const**, Exec>(x);
      auto const gamma = view_of<T const*, Exec>(layer.gamma);
      auto const w = view_of<T const**, Exec>(layer.weight);
      auto const g = view_of<T const**, Exec>(grad);
      std::size_t const count = rows.extent(0);
      std::size_t const hidden = rows.extent(1);
      std::size_t const outputs = w.extent(0);
      auto& stages = kept_from<Kernels>(exec, {count, hidden, outputs, std::bit_cast<std::uint64_t>(layer.eps)}, [&] {
        return std::make_shared<Kernels>(exec, count, hidden, outputs, layer.eps);
      });

      stages.to_ln(exec, g, w, stages.dln);
      stages.norm_backward(exec, rows, gamma, stages.dln, view_of<T**, Exec>(to.x), view_of<T*, Exec>(to.gamma),
                           view_of<T*, Exec>(to.beta));
      stages.norm(exec, rows, gamma, view_of<T const*, Exec>(layer.beta), stages.ln);
      stages.to_weight(exec, g, stages.ln, view_of<T**, Exec>(to.weight));
      stages.to_bias(exec, g, view_of<T*, Exec>(to.bias));
    });
  });
}

}  // namespace tessera::python
