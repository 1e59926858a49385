// Sorts of segments, with and without values, on the user's own Views.

#include "program.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include <tessera/kernels/sort_segments.hpp>

using Exec = Kokkos::DefaultExecutionSpace;
using Keys = Kokkos::View<float*, Exec>;
using Values = Kokkos::View<std::int32_t*, Exec>;
using Offsets = Kokkos::View<std::int64_t*, Exec>;

KOKKOS_INLINE_FUNCTION float key(int i) { return static_cast<float>(i * 7LL % 1009) - 500.5F; }

// Returns 1 if a key, or the index that moved with it, is at another place than after serial stable sorts.
int compare(char const* what, Keys const& keys, Values const& values, std::vector<std::int64_t> const& offsets,
            bool descending) {
  auto const found = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), keys);
  auto const moved = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), values);
  std::vector<int> order(found.extent(0));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t r = 0; r + 1 < offsets.size(); ++r) {
    std::stable_sort(order.begin() + offsets[r], order.begin() + offsets[r + 1],
                     [&](int a, int b) { return descending ? key(b) < key(a) : key(a) < key(b); });
  }
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
    for (int rows : {1, 7, 5000}) {
      // Segment r ends at n (r + 1)^2 / rows^2; the second half of them at n.
      Offsets const offsets("offsets", rows + 1);
      auto const ends = Kokkos::create_mirror_view(offsets);
      for (std::int64_t r = 0; r <= rows; ++r) ends(r) = 2 * r > rows ? n : n * r * r / rows / rows;
      ends(rows) = n;
      Kokkos::deep_copy(offsets, ends);
      std::vector<std::int64_t> const on_host(ends.data(), ends.data() + rows + 1);

      tessera::kernels::sort_segments(exec, Kokkos::View<float const*, Exec>(keys), offsets, sorted);
      wrong += compare("sort_segments", sorted, none, on_host, false);
      tessera::kernels::sort_segment_pairs(exec, keys, values, offsets, sorted, moved, true);
      wrong += compare("sort_segment_pairs", sorted, moved, on_host, true);
      tessera::kernels::SortSegments<Exec, float, std::int32_t> const sort(exec, n, rows);
      for (int launch = 0; launch < 3; ++launch) sort(exec, keys, values, offsets, sorted, moved);
      exec.fence();
      wrong += compare("object", sorted, moved, on_host, false);
    }
  }

  Keys const four("four", 4);
  Offsets const two("two", 3);
  Kokkos::View<float**, Kokkos::LayoutRight, Exec> const matrix("matrix", 4, 3);
  tessera::kernels::SortSegments<Exec, float> const sort(exec, 4, 2);
  wrong += accepts("a strided column", [&] { sort(exec, Kokkos::subview(matrix, Kokkos::ALL, 1), two, four); });
  wrong += accepts("an offset too few", [&] { sort(exec, four, Offsets("offsets", 2), Keys("out", 4)); });
  wrong += accepts("a short result", [&] { sort(exec, four, two, Keys("out", 3)); });
  wrong += accepts("a result in the input's memory", [&] { sort(exec, four, two, four); });
  return wrong;
}
