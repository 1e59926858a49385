// The kernel reads a View that was declared and never allocated: its pointer is null.

#include "bugs.hpp"

int main(int argc, char** argv) {
  bool const fixed = bugs::is_fixed(argc, argv);
  Kokkos::ScopeGuard const kokkos(argc, argv);
  int const n = 1000;
  bugs::Doubles const in = bugs::count_from(0, n), out("out", n);
  bugs::Doubles weights;
  if (fixed) weights = bugs::count_from(1, n);  // planted: without this line `weights` has no memory

  Kokkos::parallel_for(
      "null_view", Kokkos::RangePolicy<bugs::Exec>(0, n), KOKKOS_LAMBDA(int i) { out(i) = weights(i) * in(i); });

  return bugs::check(out, [](int i) { return (1.0 + i) * i; });
}
