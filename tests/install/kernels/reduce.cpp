// A sum and a scalar product on the user's own Views.

#include "program.hpp"

#include <cstdint>

#include <tessera/kernels/reduce.hpp>

using Exec = Kokkos::DefaultExecutionSpace;

int check(Exec const& exec) {
  int wrong = 0;
  for (int n : {0, 1, 31, 4097, 1000003}) {
    Kokkos::View<std::int32_t*, Exec> const a("a", n);
    Kokkos::View<std::int32_t*, Exec> const b("b", n);
    Kokkos::View<std::int32_t, Exec> const total("total");
    Kokkos::parallel_for(
        "fill", Kokkos::RangePolicy<Exec>(exec, 0, n), KOKKOS_LAMBDA(int i) {
          a(i) = i % 101 - 50;
          b(i) = i % 7;
        });
    std::int32_t sum = 0;
    std::int32_t product = 0;
    for (int i = 0; i < n; ++i) {
      sum += i % 101 - 50;
      product += (i % 101 - 50) * (i % 7);
    }
    std::int32_t found = 0;
    tessera::kernels::sum(exec, a, total);
    Kokkos::deep_copy(found, total);
    wrong += differs("sum", n, found, sum);
    tessera::kernels::dot(exec, a, b, total);
    Kokkos::deep_copy(found, total);
    wrong += differs("dot", n, found, product);
  }

  // A column of a row-major matrix has a stride, which must not be ignored.
  Kokkos::View<std::int32_t**, Kokkos::LayoutRight, Exec> const matrix("matrix", 4, 3);
  Kokkos::View<std::int32_t, Exec> const total("total");
  wrong +=
      accepts("a strided column", [&] { tessera::kernels::sum(exec, Kokkos::subview(matrix, Kokkos::ALL, 1), total); });
  return wrong;
}
