// Sorts of keys, and of keys with values, on the user's own Views.

#include "program.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include <tessera/kernels/sort.hpp>

using Exec = Kokkos::DefaultExecutionSpace;
using Keys = Kokkos::View<float*, Exec>;
using Values = Kokkos::View<std::int32_t*, Exec>;

KOKKOS_INLINE_FUNCTION float key(int i) { return static_cast<float>(i * 7 % 1009) - 500.5F; }

// Returns 1 if a key, or the index that moved with it, is at another place than after a serial stable sort.
int compare(char const* what, Keys const& keys, Values const& values, bool descending) {
  auto const found = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), keys);
  auto const moved = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), values);
  std::vector<int> order(found.extent(0));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return descending ? key(b) < key(a) : key(a) < key(b); });
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (differs(what, i, found(i), key(order[i])) != 0) return 1;
    if (moved.extent(0) > 0 && differs(what, i, moved(i), order[i]) != 0) return 1;
  }
  return 0;
}

int check(Exec const& exec) {
  int wrong = 0;
  for (int n : {0, 1, 31, 4097, 1000003}) {
    Keys const keys("keys", n);
    Values const values("values", n);
    Keys const sorted("sorted", n);
    Values const moved("moved", n);
    Values const none("none", 0);
    Kokkos::parallel_for(
        "fill", Kokkos::RangePolicy<Exec>(exec, 0, n), KOKKOS_LAMBDA(int i) {
          keys(i) = key(i);
          values(i) = i;
        });

    tessera::kernels::sort(exec, Kokkos::View<float const*, Exec>(keys), sorted);
    wrong += compare("sort", sorted, none, false);
    tessera::kernels::sort_pairs(exec, keys, values, sorted, moved, {.descending = true});
    wrong += compare("sort_pairs", sorted, moved, true);

    tessera::kernels::OnesweepSort<Exec, float, std::int32_t> onesweep(exec, n);
    for (int launch = 0; launch < 3; ++launch) onesweep(exec, keys, values, sorted, moved);
    exec.fence();
    wrong += compare("onesweep", sorted, moved, false);
    tessera::kernels::RadixSort<Exec, float> radix(exec, n);
    for (int launch = 0; launch < 3; ++launch) radix(exec, keys, sorted);
    exec.fence();
    wrong += compare("radix", sorted, none, false);
  }

  Keys const four("four", 4);
  Kokkos::View<float**, Kokkos::LayoutRight, Exec> const matrix("matrix", 4, 3);
  wrong +=
      accepts("a strided column", [&] { tessera::kernels::sort(exec, Kokkos::subview(matrix, Kokkos::ALL, 1), four); });
  wrong += accepts("a short result", [&] { tessera::kernels::sort(exec, four, Keys("out", 3)); });
  wrong += accepts("a result in the input's memory", [&] { tessera::kernels::sort(exec, four, four); });
  wrong += accepts("33 bits", [&] { tessera::kernels::sort(exec, four, Keys("out", 4), {.end_bit = 33}); });
  return wrong;
}
