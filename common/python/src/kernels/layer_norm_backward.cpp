#include <bit>

#include <tessera/kernels/layer_norm_backward.hpp>

#include "../kernels.hpp"
#include "../runtime.hpp"

namespace tessera::python {

void layer_norm_backward(Array const& x, Array const& weight, Array const& grad, double eps, Array const& dx,
                         Array const& dweight, Array const& dbias) {
  with_type_of(x, Floats{}, [&]<class T>() {
    on_space_of(x, [&]<class Exec>(Exec const& exec) {
      using Backward = kernels::LayerNormBackward<Exec, T>;
      auto const rows = view_of<T const**, Exec>(x);
      auto& backward =
          kept_from<Backward>(exec, {rows.extent(0), rows.extent(1), std::bit_cast<std::uint64_t>(eps)},
                              [&] { return std::make_shared<Backward>(exec, rows.extent(0), rows.extent(1), eps); });
      backward(exec, rows, view_of<T const*, Exec>(weight), view_of<T const**, Exec>(grad), view_of<T**, Exec>(dx),
               view_of<T*, Exec>(dweight), view_of<T*, Exec>(dbias));
    });
  });
}

}  // namespace tessera::python
