#include <tessera/kernels/sort.hpp>

#include "../kernels.hpp"
#include "../runtime.hpp"

namespace tessera::python {

void sort(Array const& x, bool descending, Array const& out) {
  with_type_of(x, Numbers{}, [&]<class T>() {
    on_space_of(x, [&]<class Exec>(Exec const& exec) {
      using Sort = kernels::OnesweepSort<Exec, T>;
      auto& sort = kept_from<Sort>(exec, {x.count(), descending}, [&] {
        return std::make_shared<Sort>(exec, x.count(), kernels::SortOrder{.descending = descending});
      });
      sort(exec, view_of<T const*, Exec>(x), view_of<T*, Exec>(out));
    });
  });
}

}  // namespace tessera::python
