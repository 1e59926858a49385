#include <tessera/kernels/histogram.hpp>

#include "../kernels.hpp"
#include "../runtime.hpp"

namespace tessera::python {

void histogram(Array const& x, double lo, double hi, Array const& counts, Array const& outside) {
  with_type_of(x, Numbers{}, [&]<class T>() {
    on_space_of(x, [&]<class Exec>(Exec const& exec) {
      kernels::histogram(exec, view_of<T const*, Exec>(x), lo, hi, view_of<std::int64_t*, Exec>(counts),
                         view_of<std::int64_t, Exec>(outside));
    });
  });
}

}  // namespace tessera::python
