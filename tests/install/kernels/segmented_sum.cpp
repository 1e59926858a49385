// Sums of segments on the user's own Views.

#include "program.hpp"

#include <cstdint>
#include <vector>

#include <tessera/kernels/segmented_sum.hpp>

using Exec = Kokkos::DefaultExecutionSpace;
using Values = Kokkos::View<std::int32_t*, Exec>;
using Offsets = Kokkos::View<std::int64_t*, Exec>;

int check(Exec const& exec) {
  int wrong = 0;
  for (int n : {0, 1, 31, 4097, 1000003}) {
    Values const in("in", n);
    Kokkos::parallel_for("fill", Kokkos::RangePolicy<Exec>(exec, 0, n), KOKKOS_LAMBDA(int i) { in(i) = i % 101 - 50; });
    for (int rows : {1, 7, 5000}) {
      // Segment r ends at n (r + 1)^2 / rows^2; the second half of them at n.
      Offsets const offsets("offsets", rows + 1);
      auto const ends = Kokkos::create_mirror_view(offsets);
      for (std::int64_t r = 0; r <= rows; ++r) ends(r) = 2 * r > rows ? n : n * r * r / rows / rows;
      ends(rows) = n;
      Kokkos::deep_copy(offsets, ends);
      std::vector<std::int32_t> sums(rows);
      for (int r = 0; r < rows; ++r) {
        for (std::int64_t i = ends(r); i < ends(r + 1); ++i) sums[r] += static_cast<std::int32_t>(i % 101) - 50;
      }
      Values const out("out", rows);
      tessera::kernels::SegmentedSum<Exec, std::int32_t> const sum(exec, n, rows);
      for (bool const once : {true, false}) {
        Kokkos::deep_copy(out, -1);
        if (once) {
          tessera::kernels::segmented_sum(exec, in, offsets, out);
        } else {
          for (int launch = 0; launch < 3; ++launch) sum(exec, in, offsets, out);
          exec.fence();
        }
        auto const found = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), out);
        for (int r = 0; r < rows; ++r) wrong += differs(once ? "once" : "object", r, found(r), sums[r]);
      }
    }
  }

  Kokkos::View<std::int32_t**, Kokkos::LayoutRight, Exec> const matrix("matrix", 4, 3);
  Offsets const offsets("offsets", 3);
  wrong += accepts("a strided column", [&] {
    tessera::kernels::segmented_sum(exec, Kokkos::subview(matrix, Kokkos::ALL, 1), offsets, Values("out", 2));
  });
  wrong += accepts("an offset too few",
                   [&] { tessera::kernels::segmented_sum(exec, Values("in", 4), offsets, Values("out", 3)); });
  Values const both("both", 4);
  wrong +=
      accepts("the input as result", [&] { tessera::kernels::segmented_sum(exec, both, Offsets("offsets", 5), both); });
  return wrong;
}
