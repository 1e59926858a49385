// Histograms of floats and of integers on the user's own Views.

#include "program.hpp"

#include <cstdint>
#include <vector>

#include <tessera/kernels/histogram.hpp>

using Exec = Kokkos::DefaultExecutionSpace;

template <class T>
KOKKOS_INLINE_FUNCTION T element(std::size_t i) {
  return static_cast<T>(i * 7 % 1201) - 100;
}

template <class T>
int check(Exec const& exec, std::size_t n, int bins) {
  Kokkos::View<T*, Exec> const in("in", n);
  Kokkos::parallel_for(
      "fill", Kokkos::RangePolicy<Exec>(exec, 0, n), KOKKOS_LAMBDA(std::size_t i) { in(i) = element<T>(i); });
  // Over [0, 1000) with bins at whole numbers.
  std::vector<std::int64_t> expected(bins + 1);
  for (std::size_t i = 0; i < n; ++i) {
    T const x = element<T>(i);
    ++expected[x < 0 || x >= 1000 ? bins : static_cast<int>(x) / (1000 / bins)];
  }

  int wrong = 0;
  Kokkos::View<std::int64_t*, Exec> const counts("counts", bins);
  Kokkos::View<std::int64_t, Exec> const outside("outside");
  auto const compare = [&](char const* what) {
    auto const found = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), counts);
    std::int64_t none = 0;
    Kokkos::deep_copy(none, outside);
    for (int bin = 0; bin < bins; ++bin) wrong += differs(what, bin, found(bin), expected[bin]);
    wrong += differs(what, bins, none, expected[bins]);
  };
  tessera::kernels::histogram(exec, Kokkos::View<T const*, Exec>(in), 0, 1000, counts, outside);
  compare("histogram");
  // Enqueued more than once: each call must begin with zero counts.
  tessera::kernels::ScratchHistogram<Exec, T> const in_scratch(exec, n, {0, 1000, bins});
  for (int launch = 0; launch < 2; ++launch) in_scratch(exec, in, counts, outside);
  exec.fence();
  compare("in scratch");
  tessera::kernels::LaneHistogram<Exec, T> const of_lanes(exec, n, {0, 1000, bins}, 1000);
  of_lanes(exec, in, counts, outside);
  exec.fence();
  compare("of lanes");
  return wrong;
}

int check(Exec const& exec) {
  int wrong = 0;
  for (std::size_t n : {0, 1, 31, 4097, 1000003}) {
    for (int bins : {1, 5, 500}) wrong += check<float>(exec, n, bins) + check<std::int32_t>(exec, n, bins);
  }

  Kokkos::View<float**, Kokkos::LayoutRight, Exec> const matrix("matrix", 4, 3);
  Kokkos::View<float*, Exec> const four("four", 4);
  Kokkos::View<std::int64_t*, Exec> const counts("counts", 8);
  Kokkos::View<std::int64_t, Exec> const outside("outside");
  wrong += accepts("a strided column", [&] {
    tessera::kernels::histogram(exec, Kokkos::subview(matrix, Kokkos::ALL, 1), 0, 1, counts, outside);
  });
  wrong += accepts("no range", [&] { tessera::kernels::histogram(exec, four, 1, 1, counts, outside); });
  wrong += accepts("counts of other bins", [&] {
    tessera::kernels::ScratchHistogram<Exec, float>(exec, 4, {0, 1, 7})(exec, four, counts, outside);
  });
  return wrong;
}
