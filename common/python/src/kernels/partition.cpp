#include <tessera/kernels/partition.hpp>

#include "../kernels.hpp"
#include "../runtime.hpp"

namespace tessera::python {

namespace {

template <class T>
struct IsBelow {
  double bound;
  KOKKOS_FUNCTION bool operator()(T const& x) const { return static_cast<double>(x) < bound; }
};

}  // namespace

std::int64_t partition(Array const& x, double below, Array const& out) {
  std::int64_t count = 0;
  with_type_of(x, Numbers{}, [&]<class T>() {
    on_space_of(x, [&]<class Exec>(Exec const& exec) {
      ArrayOn<std::int64_t, Exec> const left("tessera::partition::count");
      kernels::partition(exec, view_of<T const*, Exec>(x), view_of<T*, Exec>(out), left, IsBelow<T>{below});
      Kokkos::deep_copy(exec, count, left);
    });
  });
  return count;
}

}  // namespace tessera::python
