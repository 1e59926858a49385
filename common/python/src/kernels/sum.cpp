#include <tessera/kernels/reduce.hpp>

#include "../kernels.hpp"
#include "../runtime.hpp"

namespace tessera::python {

void sum(Array const& x, Array const& out) {
  with_type_of(x, Numbers{}, [&]<class T>() {
    on_space_of(x, [&]<class Exec>(Exec const& exec) {
      auto& sum = kept<kernels::SinglePassSum<Exec, T, 1, kernels::Itself<T>>>(exec, x.count());
      sum(exec, view_of<T const*, Exec>(x), view_of<T, Exec>(out));
    });
  });
}

}  // namespace tessera::python
