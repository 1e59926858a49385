// out[i] is to be in[i - 1] + in[i] + in[i + 1], with zeros beside the array.

#include "bugs.hpp"

int main(int argc, char** argv) {
  bool const fixed = bugs::is_fixed(argc, argv);
  Kokkos::ScopeGuard const kokkos(argc, argv);
  int const n = 1000;
  int const window = fixed ? 3 : 2;  // planted: the loop ends before in[i + 1]
  bugs::Doubles const in = bugs::count_from(1, n), out("out", n);

  Kokkos::parallel_for(
      "short_window", Kokkos::RangePolicy<bugs::Exec>(0, n), KOKKOS_LAMBDA(int i) {
        double sum = 0;
        for (int k = 0; k < window; ++k) {
          int const j = i + k - 1;
          if (0 <= j && j < n) sum += in(j);
        }
        out(i) = sum;
      });

  return bugs::check(out, [n](int i) { return i + 1 < n ? 3.0 * i + 3 : 2.0 * i + 1; });
}
