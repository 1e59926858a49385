#include <tessera/kernels/attention.hpp>

#include "../kernels.hpp"
#include "../runtime.hpp"

namespace tessera::python {

void scaled_dot_product_attention(Array const& query, Array const& key, Array const& value, double scale,
                                  Array const& out) {
  with_type_of(query, Floats{}, [&]<class T>() {
    on_space_of(query, [&]<class Exec>(Exec const& exec) {
      kernels::attention(exec, view_of<T const**, Exec>(query), view_of<T const**, Exec>(key),
                         view_of<T const**, Exec>(value), view_of<T**, Exec>(out), static_cast<T>(scale));
    });
  });
}

}  // namespace tessera::python
