#include <tessera/kernels/softmax.hpp>

#include "../kernels.hpp"
#include "../runtime.hpp"

namespace tessera::python {

void softmax_rows(Array const& x, Array const& out) {
  with_type_of(x, Floats{}, [&]<class T>() {
    on_space_of(x, [&]<class Exec>(Exec const& exec) {
      auto const in = view_of<T const**, Exec>(x);
      auto& softmax = kept<kernels::RowSoftmax<Exec, T>>(exec, in.extent(0), in.extent(1));
      softmax(exec, in, view_of<T**, Exec>(out));
    });
  });
}

}  // namespace tessera::python
