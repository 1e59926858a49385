#include <tessera/kernels/reduce.hpp>

#include "../kernels.hpp"
#include "../runtime.hpp"

namespace tessera::python {

void vecdot(Array const& a, Array const& b, Array const& out) {
  with_type_of(a, Numbers{}, [&]<class T>() {
    on_space_of(a, [&]<class Exec>(Exec const& exec) {
      auto& dot = kept<kernels::SinglePassSum<Exec, T, 2, kernels::Times<T>>>(exec, a.count());
      dot(exec, view_of<T const*, Exec>(a), view_of<T const*, Exec>(b), view_of<T, Exec>(out));
    });
  });
}

}  // namespace tessera::python
