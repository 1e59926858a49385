#include <tessera/kernels/reduce_by_key.hpp>
#include <tessera/kernels/sort.hpp>

#include "../kernels.hpp"
#include "../runtime.hpp"

namespace tessera::python {

namespace {

template <class Lengths, class Counts>
struct WidenLengths {
  Lengths lengths;
  Counts counts;
  KOKKOS_FUNCTION void operator()(std::size_t i) const { counts(i) = lengths(i); }
};

/// A sort, and the lengths of its runs of equal elements.
template <class Exec, class T>
struct UniqueCounts {
  ArrayOn<T*, Exec> sorted;
  ArrayOn<std::int32_t*, Exec> lengths;
  ArrayOn<std::int64_t, Exec> runs;
  kernels::OnesweepSort<Exec, T> sort;
  kernels::RunLengths<Exec, T> run_lengths;

  UniqueCounts(Exec const& exec, std::size_t n)
      : sorted(unset("tessera::unique_counts::sorted"), n),
        lengths(unset("tessera::unique_counts::lengths"), n),
        runs("tessera::unique_counts::runs"),
        sort(exec, n, kernels::SortOrder{}),
        run_lengths(exec, n) {}
};

}  // namespace

std::int64_t unique_counts(Array const& x, Array const& values, Array const& counts) {
  std::int64_t runs = 0;
  with_type_of(x, Numbers{}, [&]<class T>() {
    on_space_of(x, [&]<class Exec>(Exec const& exec) {
      auto& unique = kept<UniqueCounts<Exec, T>>(exec, x.count());
      unique.sort(exec, view_of<T const*, Exec>(x), unique.sorted);
      unique.run_lengths(exec, unique.sorted, view_of<T*, Exec>(values), unique.lengths, unique.runs);
      Kokkos::deep_copy(exec, runs, unique.runs);
      exec.fence("tessera: unique_counts");
      auto const to = view_of<std::int64_t*, Exec>(counts);
      Kokkos::parallel_for("tessera::unique_counts::widen", over(exec, static_cast<std::size_t>(runs)),
                           WidenLengths<decltype(unique.lengths), decltype(to)>{unique.lengths, to});
    });
  });
  return runs;
}

}  // namespace tessera::python
