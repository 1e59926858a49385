#include <tessera/kernels/linear.hpp>

#include "../kernels.hpp"
#include "../runtime.hpp"

namespace tessera::python {

void linear(Array const& x, Array const& weight, Array const* bias, Array const& out) {
  with_type_of(x, Numbers{}, [&]<class T>() {
    on_space_of(x, [&]<class Exec>(Exec const& exec) {
      auto const in = view_of<T const**, Exec>(x);
      auto const of = view_of<T const**, Exec>(weight);
      auto const to = view_of<T**, Exec>(out);
      if (bias != nullptr) {
        using Linear = kernels::Linear<Exec, T>;
        auto const& layer = kept<Linear>(exec, in.extent(0), of.extent(0), in.extent(1));
        layer(exec, in, of, view_of<T const*, Exec>(*bias), to);
      } else {
        using Product = kernels::Gemm<Exec, T, kernels::ProductForm<false, true>>;
        auto& product = kept<Product>(exec, in.extent(0), of.extent(0), in.extent(1));
        product(exec, in, of, to);
      }
    });
  });
}

}  // namespace tessera::python
