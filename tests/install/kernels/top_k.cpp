// The k largest elements of an array and of each row of a matrix, on the user's own Views.

#include "program.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include <tessera/kernels/top_k.hpp>

using Exec = Kokkos::DefaultExecutionSpace;
using Array = Kokkos::View<float*, Exec>;
using Indices = Kokkos::View<std::int64_t*, Exec>;
using Matrix = Kokkos::View<float**, Kokkos::LayoutRight, Exec>;
using IndexMatrix = Kokkos::View<std::int64_t**, Kokkos::LayoutRight, Exec>;

KOKKOS_INLINE_FUNCTION float element(int i) { return static_cast<float>(i * 7 % 1009) - 500.5F; }

// Returns 1 if a result of a row differs from that of a serial stable sort.
template <class Values, class Of>
int compare(char const* what, Values const& values, Of const& indices, int n, int first = 0) {
  auto const found = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), values);
  auto const from = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), indices);
  std::vector<int> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return element(first + b) < element(first + a); });
  for (std::size_t i = 0; i < found.extent(0); ++i) {
    if (differs(what, i, from(i), static_cast<std::int64_t>(order[i])) != 0) return 1;
    if (differs(what, i, found(i), element(first + order[i])) != 0) return 1;
  }
  return 0;
}

int check(Exec const& exec) {
  int wrong = 0;
  for (int n : {0, 1, 31, 4097, 1000003}) {
    Array const in("in", n);
    Kokkos::parallel_for("fill", Kokkos::RangePolicy<Exec>(exec, 0, n), KOKKOS_LAMBDA(int i) { in(i) = element(i); });
    for (int k : {0, 1, 10, 5000, n}) {
      if (k > n) continue;
      Array const values("values", k);
      Indices const indices("indices", k);
      tessera::kernels::top_k(exec, Kokkos::View<float const*, Exec>(in), values, indices);
      wrong += compare("top_k", values, indices, n);
      tessera::kernels::TopK<Exec, float> top(exec, 1, n, k);
      for (int launch = 0; launch < 3; ++launch) top(exec, in, values, indices);
      exec.fence();
      wrong += compare("three launches", values, indices, n);
    }
  }

  int const rows = 5;
  int const n = 1013;
  Matrix const matrix("matrix", rows, n);
  Kokkos::parallel_for(
      "fill", Kokkos::RangePolicy<Exec>(exec, 0, rows * n),
      KOKKOS_LAMBDA(int i) { matrix(i / n, i % n) = element(i / n * 100 + i % n); });
  Matrix const values("values", rows, 20);
  IndexMatrix const indices("indices", rows, 20);
  tessera::kernels::top_k(exec, matrix, values, indices);
  for (int row = 0; row < rows; ++row) {
    wrong += compare("rows", Kokkos::subview(values, row, Kokkos::ALL), Kokkos::subview(indices, row, Kokkos::ALL), n,
                     row * 100);
  }

  Array const four("four", 4);
  Indices const two("two", 2);
  auto const top = [&](auto const& in, auto const& best, auto const& from) {
    tessera::kernels::top_k(exec, in, best, from);
  };
  wrong += accepts("a strided column", [&] { top(Kokkos::subview(matrix, Kokkos::ALL, 1), Array("v", 2), two); });
  wrong += accepts("more than there are", [&] { top(four, Array("v", 5), Indices("i", 5)); });
  wrong += accepts("fewer indices than values", [&] { top(four, Array("v", 3), two); });
  wrong += accepts("a result in the input's memory", [&] { top(four, Array(four, Kokkos::make_pair(0, 2)), two); });
  wrong += accepts("an array for rows", [&] {
    tessera::kernels::TopK<Exec, float> of_rows(exec, 2, 2, 2);
    of_rows(exec, four, Array("v", 2), two);
  });
  return wrong;
}
