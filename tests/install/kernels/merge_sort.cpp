// Stable sorts of the user's own Views, with and without values.

#include "program.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include <tessera/kernels/merge_sort.hpp>

using Exec = Kokkos::DefaultExecutionSpace;
using Keys = Kokkos::View<float*, Exec>;
using Values = Kokkos::View<std::int32_t*, Exec>;
using tessera::collective::KeyOrder;

KOKKOS_INLINE_FUNCTION float key(int i) { return static_cast<float>(i * 7 % 1009) - 500; }

int check(Exec const& exec) {
  int wrong = 0;
  for (int n : {0, 1, 31, 4097, 1000003}) {
    Keys const keys("keys", n);
    Keys const sorted("sorted", n);
    Values const values("values", n);
    Values const sorted_values("sorted_values", n);
    Kokkos::parallel_for(
        "fill", Kokkos::RangePolicy<Exec>(exec, 0, n), KOKKOS_LAMBDA(int i) {
          keys(i) = key(i);
          values(i) = i;
        });
    std::vector<std::int32_t> expected(n);
    std::iota(expected.begin(), expected.end(), 0);
    std::stable_sort(expected.begin(), expected.end(), [](int a, int b) { return key(a) > key(b); });
    for (bool const with_values : {false, true}) {
      tessera::kernels::MergeSort<Exec, float> const sort(exec, n, with_values);
      for (int launch = 0; launch < 2; ++launch) {
        sort(exec, KeyOrder<float>(true), keys, values, sorted, sorted_values);
      }
      exec.fence();
      auto const found = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), sorted);
      auto const moved = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), sorted_values);
      for (int i = 0; i < n && wrong < 9; ++i) {
        wrong += differs("key", i, found(i), key(expected[i]));
        wrong += differs("value", i, moved(i), with_values ? expected[i] : 0);
      }
    }
  }
  // Single use, ascending.
  Keys const in("in", 5);
  Keys const out("out", 5);
  Values const places("places", 5);
  Values const moved("moved", 5);
  auto const host = Kokkos::create_mirror_view(in);
  for (int i = 0; i < 5; ++i) host(i) = static_cast<float>((i * 3 + 1) % 5);  // 1 4 2 0 3
  Kokkos::deep_copy(in, host);
  Kokkos::parallel_for("places", Kokkos::RangePolicy<Exec>(exec, 0, 5), KOKKOS_LAMBDA(int i) { places(i) = i; });
  exec.fence();
  tessera::kernels::merge_sort(exec, in, out);
  auto const once = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), out);
  Kokkos::deep_copy(out, 0);
  tessera::kernels::merge_sort_by_key(exec, in, places, out, moved);
  auto const by_key = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), out);
  auto const where = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), moved);
  for (int i = 0; i < 5; ++i) {
    wrong += differs("merge_sort", i, once(i), static_cast<float>(i));
    wrong += differs("merge_sort_by_key", i, by_key(i), static_cast<float>(i));
    wrong += differs("its value", i, host(where(i)), static_cast<float>(i));
  }

  tessera::kernels::MergeSort<Exec, float> const sort(exec, 4, true);
  Keys const four("four", 4);
  Keys const five("five", 5);
  Values const values("values", 4);
  Values const sorted_values("sorted_values", 4);
  KeyOrder<float> const order;
  wrong += accepts("more keys", [&] { sort(exec, order, five, values, Keys("out", 4), sorted_values); });
  wrong += accepts("fewer results", [&] { sort(exec, order, four, values, Keys("three", 3), sorted_values); });
  wrong += accepts("other values", [&] { sort(exec, order, four, Values("three", 3), Keys("out", 4), sorted_values); });
  wrong += accepts("the result in the keys", [&] { sort(exec, order, four, values, four, sorted_values); });
  wrong += accepts("the values in place", [&] { sort(exec, order, four, values, Keys("out", 4), values); });
  return wrong;
}
