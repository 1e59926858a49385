#include <bit>

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

/// A partition, and the number of elements below the bound.
template <class Exec, class T>
struct Partition {
  ArrayOn<std::int64_t, Exec> count;
  kernels::ReduceThenScatter<Exec, T, IsBelow<T>> split;

  Partition(Exec const& exec, std::size_t n, double below)
      : count("tessera::partition::count"), split(exec, n, IsBelow<T>{below}) {}
};

}  // namespace

std::int64_t partition(Array const& x, double below, Array const& out) {
  std::int64_t count = 0;
  with_type_of(x, Numbers{}, [&]<class T>() {
    on_space_of(x, [&]<class Exec>(Exec const& exec) {
      auto& partition = kept_from<Partition<Exec, T>>(exec, {x.count(), std::bit_cast<std::uint64_t>(below)}, [&] {
        return std::make_shared<Partition<Exec, T>>(exec, x.count(), below);
      });
      partition.split(exec, view_of<T const*, Exec>(x), view_of<T*, Exec>(out), partition.count);
      Kokkos::deep_copy(exec, count, partition.count);
      exec.fence("tessera: partition");
    });
  });
  return count;
}

}  // namespace tessera::python
