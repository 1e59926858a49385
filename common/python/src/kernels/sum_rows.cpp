#include <tessera/kernels/sum_rows.hpp>

#include "../kernels.hpp"
#include "../runtime.hpp"

namespace tessera::python {

void sum_rows(Array const& x, Array const& out) {
  with_type_of(x, Numbers{}, [&]<class T>() {
    on_space_of(x, [&]<class Exec>(Exec const& exec) {
      auto const in = view_of<T const**, Exec>(x);
      auto& sum = kept<kernels::SumRows<Exec, T>>(exec, in.extent(0), in.extent(1));
      sum(exec, in, view_of<T*, Exec>(out));
    });
  });
}

}  // namespace tessera::python
