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

/// A sort of keys with their places, and the keys in order, which nobody wants.
template <class Exec, class T>
struct Argsort {
  ArrayOn<std::int64_t*, Exec> places;
  ArrayOn<T*, Exec> sorted;
  kernels::OnesweepSort<Exec, T, std::int64_t> sort;

  Argsort(Exec const& exec, std::size_t n, bool descending)
      : places(unset("tessera::argsort::places"), n),
        sorted(unset("tessera::argsort::keys"), n),
        sort(exec, n, {.descending = descending}) {
    Kokkos::parallel_for("tessera::argsort::places", over(exec, n), Places<decltype(places)>{places});
  }
};

}  // namespace

void argsort(Array const& x, bool descending, Array const& out) {
  with_type_of(x, Numbers{}, [&]<class T>() {
    on_space_of(x, [&]<class Exec>(Exec const& exec) {
      auto& argsort = kept<Argsort<Exec, T>>(exec, x.count(), descending);
      argsort.sort(exec, view_of<T const*, Exec>(x), argsort.places, argsort.sorted, view_of<std::int64_t*, Exec>(out));
    });
  });
}

}  // namespace tessera::python
