// The kernel reads memory of the host by a raw pointer. A host does so rightly; a GPU has no such address.

#include <vector>

#include "bugs.hpp"

int main(int argc, char** argv) {
  bool const fixed = bugs::is_fixed(argc, argv);
  Kokkos::ScopeGuard const kokkos(argc, argv);
  int const n = 1000;
  bugs::Doubles const in = bugs::count_from(0, n), out("out", n), copy = bugs::count_from(1, n);
  std::vector<double> table(n);
  for (int i = 0; i < n; ++i) table[static_cast<std::size_t>(i)] = 1.0 + i;
  double const* const weights = fixed ? copy.data() : table.data();  // planted: a View knows its memory space

  Kokkos::parallel_for(
      "host_pointer", Kokkos::RangePolicy<bugs::Exec>(0, n), KOKKOS_LAMBDA(int i) { out(i) = weights[i] * in(i); });

  return bugs::check(out, [](int i) { return (1.0 + i) * i; });
}
