#include <tessera/kernels/embedding.hpp>

#include "../kernels.hpp"
#include "../runtime.hpp"

namespace tessera::python {

void embedding(Array const& indices, Array const& weight, Array const& out) {
  with_type_of(weight, Numbers{}, [&]<class T>() {
    on_space_of(weight, [&]<class Exec>(Exec const& exec) {
      using Embedding = kernels::Embedding<Exec, T>;
      auto const table = view_of<T const**, Exec>(weight);
      bool const is_aligned = reinterpret_cast<std::uintptr_t>(weight.data) % 16 == 0;
      auto& embedding = kept_from<Embedding>(exec, {indices.count(), table.extent(0), table.extent(1), is_aligned},
                                             [&] { return std::make_shared<Embedding>(exec, indices.count(), table); });
      embedding(exec, view_of<std::int32_t const*, Exec>(indices), table, view_of<T**, Exec>(out));
    });
  });
}

}  // namespace tessera::python
