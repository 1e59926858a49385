#include <tessera/kernels/conv1d.hpp>

#include "../kernels.hpp"
#include "../runtime.hpp"

namespace tessera::python {

void conv1d(Array const& x, Array const& weight, Array const& out) {
  with_type_of(x, Numbers{}, [&]<class T>() {
    on_space_of(x, [&]<class Exec>(Exec const& exec) {
      auto& conv1d = kept<kernels::RegisterWindow<Exec, T>>(exec, x.count(), weight.count());
      conv1d(exec, view_of<T const*, Exec>(x), view_of<T const*, Exec>(weight), view_of<T*, Exec>(out));
    });
  });
}

}  // namespace tessera::python
