#include <tessera/kernels/embedding.hpp>

#include "../kernels.hpp"
#include "../runtime.hpp"

namespace tessera::python {

void embedding(Array const& indices, Array const& weight, Array const& out) {
  with_type_of(weight, Numbers{}, [&]<class T>() {
    on_space_of(weight, [&]<class Exec>(Exec const& exec) {
      kernels::embedding(exec, view_of<std::int32_t const*, Exec>(indices), view_of<T const**, Exec>(weight),
                         view_of<T**, Exec>(out));
    });
  });
}

}  // namespace tessera::python
