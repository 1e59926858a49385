#include <tessera/kernels/sort.hpp>

#include "../kernels.hpp"
#include "../runtime.hpp"

namespace tessera::python {

namespace {

/// A key's place before the sort.
template <class View>
struct Places {
  View places;
  KOKKOS_FUNCTION void operator()(std::size_t i) const { places(i) = static_cast<std::int64_t>(i); }
};

}  // namespace

void argsort(Array const& x, bool descending, Array const& out) {
  with_type_of(x, Numbers{}, [&]<class T>() {
    on_space_of(x, [&]<class Exec>(Exec const& exec) {
      ArrayOn<std::int64_t*, Exec> const places(unset("tessera::argsort::places"), x.count());
      ArrayOn<T*, Exec> const sorted(unset("tessera::argsort::keys"), x.count());
      Kokkos::parallel_for("tessera::argsort::places", over(exec, x.count()), Places<decltype(places)>{places});
      kernels::sort_pairs(exec, view_of<T const*, Exec>(x), places, sorted, view_of<std::int64_t*, Exec>(out),
                          {.descending = descending});
    });
  });
}

}  // namespace tessera::python
