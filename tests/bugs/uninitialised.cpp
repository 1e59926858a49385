// Each thread adds four elements to a sum in memory that nothing has set.

#include "bugs.hpp"

int main(int argc, char** argv) {
  bool const fixed = bugs::is_fixed(argc, argv);
  Kokkos::ScopeGuard const kokkos(argc, argv);
  int const n = 1000;
  bugs::Doubles const in = bugs::count_from(0, 4 * n);
  bugs::Doubles const sums(Kokkos::view_alloc("sums", Kokkos::WithoutInitializing), n);
  if (fixed) Kokkos::deep_copy(sums, 0.0);  // planted: without this line the sums begin with what memory held

  Kokkos::parallel_for(
      "uninitialised", Kokkos::RangePolicy<bugs::Exec>(0, n), KOKKOS_LAMBDA(int i) {
        for (int k = 0; k < 4; ++k) sums(i) += in(4 * i + k);
      });

  return bugs::check(sums, [](int i) { return 16.0 * i + 6; });
}
