// Each element adds its right neighbour, with weight 0 for the last one, which has none.

#include "bugs.hpp"

int main(int argc, char** argv) {
  bool const fixed = bugs::is_fixed(argc, argv);
  Kokkos::ScopeGuard const kokkos(argc, argv);
  int const n = 1000;
  bugs::Doubles const in = bugs::count_from(0, n), out("out", n), weights("weights", n);
  Kokkos::deep_copy(Kokkos::subview(weights, Kokkos::pair(0, n - 1)), 1.0);
  int const last = fixed ? n - 1 : n;  // planted: a neighbour of weight 0 is read all the same

  Kokkos::parallel_for(
      "past_the_end", Kokkos::RangePolicy<bugs::Exec>(0, n), KOKKOS_LAMBDA(int i) {
        int const neighbour = i + 1 <= last ? i + 1 : last;
        out(i) = in(i) + weights(i) * in(neighbour);
      });

  return bugs::check(out, [n](int i) { return i + 1 < n ? 2.0 * i + 1 : i; });
}
