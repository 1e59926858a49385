#include <tessera/kernels/top_k.hpp>

#include "../kernels.hpp"
#include "../runtime.hpp"

namespace tessera::python {

void topk(Array const& x, Array const& values, Array const& indices) {
  with_type_of(x, Numbers{}, [&]<class T>() {
    on_space_of(x, [&]<class Exec>(Exec const& exec) {
      auto const in = view_of<T const**, Exec>(x);
      auto& top = kept<kernels::TopK<Exec, T>>(exec, in.extent(0), in.extent(1), values.shape.back());
      top(exec, in, view_of<T**, Exec>(values), view_of<std::int64_t**, Exec>(indices));
    });
  });
}

}  // namespace tessera::python
