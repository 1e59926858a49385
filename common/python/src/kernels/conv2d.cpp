#include <tessera/kernels/conv2d.hpp>

#include "../kernels.hpp"
#include "../runtime.hpp"

namespace tessera::python {

void conv2d(Array const& x, Array const& weight, Array const& out) {
  with_type_of(x, Numbers{}, [&]<class T>() {
    on_space_of(x, [&]<class Exec>(Exec const& exec) {
      auto const& conv2d = kept<kernels::Conv2d<Exec, T>>(exec, x.shape[0], x.shape[1]);
      conv2d(exec, view_of<T const**, Exec>(x), view_of<T const**, Exec>(weight), view_of<T**, Exec>(out));
    });
  });
}

}  // namespace tessera::python
