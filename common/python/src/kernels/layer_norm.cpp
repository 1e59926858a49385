#include <tessera/kernels/layer_norm.hpp>

#include "../kernels.hpp"
#include "../runtime.hpp"

namespace tessera::python {

void layer_norm(Array const& x, Array const& weight, Array const& bias, double eps, Array const& out) {
  with_type_of(x, Floats{}, [&]<class T>() {
    on_space_of(x, [&]<class Exec>(Exec const& exec) {
      kernels::layer_norm(exec, view_of<T const**, Exec>(x), view_of<T const*, Exec>(weight),
                          view_of<T const*, Exec>(bias), eps, view_of<T**, Exec>(out));
    });
  });
}

}  // namespace tessera::python
