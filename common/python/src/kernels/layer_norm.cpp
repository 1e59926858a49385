#include <bit>

#include <tessera/kernels/layer_norm.hpp>

#include "../kernels.hpp"
#include "../runtime.hpp"

namespace tessera::python {

void layer_norm(Array const& x, Array const& weight, Array const& bias, double eps, Array const& out) {
  with_type_of(x, Floats{}, [&]<class T>() {
    on_space_of(x, [&]<class Exec>(Exec const& exec) {
      using LayerNorm = kernels::LayerNorm<Exec, T>;
      auto const rows = view_of<T const**, Exec>(x);
      auto& layer_norm =
          kept_from<LayerNorm>(exec, {rows.extent(0), rows.extent(1), std::bit_cast<std::uint64_t>(eps)},
                               [&] { return std::make_shared<LayerNorm>(exec, rows.extent(0), rows.extent(1), eps); });
      layer_norm(exec, rows, view_of<T const*, Exec>(weight), view_of<T const*, Exec>(bias), view_of<T**, Exec>(out));
    });
  });
}

}  // namespace tessera::python
