#include <tessera/kernels/scan.hpp>

#include "../kernels.hpp"
#include "../runtime.hpp"

namespace tessera::python {

void cumulative_sum(Array const& x, Array const& out) {
  with_type_of(x, Numbers{}, [&]<class T>() {
    on_space_of(x, [&]<class Exec>(Exec const& exec) {
      auto& scan = kept<kernels::FasterScan<Exec, T>>(exec, x.count());
      scan(exec, view_of<T const*, Exec>(x), view_of<T*, Exec>(out));
    });
  });
}

}  // namespace tessera::python
