// A correlation and a pooling on the user's own Views.

#include "program.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>

#include <tessera/kernels/conv1d.hpp>
#include <tessera/kernels/pooling.hpp>

using Exec = Kokkos::DefaultExecutionSpace;
using Elements = Kokkos::View<std::int32_t*, Exec>;

int check(Exec const& exec) {
  namespace kernels = tessera::kernels;
  int wrong = 0;
  for (std::size_t const n : {0, 1, 31, 4097, 200003}) {
    for (std::size_t const taps : {1, 4, 17, 1500}) {
      Elements const a("a", n);
      Elements const k("k", taps);
      Elements const out("out", n);
      auto const elements = Kokkos::create_mirror_view(a);
      auto const factors = Kokkos::create_mirror_view(k);
      for (std::size_t i = 0; i < n; ++i) elements(i) = static_cast<std::int32_t>(i * i % 1009) - 500;
      for (std::size_t j = 0; j < taps; ++j) factors(j) = static_cast<std::int32_t>(j * 3 % 11) - 5;
      Kokkos::deep_copy(a, elements);
      Kokkos::deep_copy(k, factors);
      Kokkos::View<std::int32_t const*, Exec> const constant = a;
      std::size_t const step = 1 + n / 1000;  // a plain loop over all elements takes too long

      auto const expect = [&](char const* what, auto const& wanted) {
        auto const found = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), out);
        for (std::size_t i = 0; i < n; i += i + 2 * taps < n ? step : 1) {
          if (differs(what, i, found(i), wanted(i)) != 0) return 1;
        }
        Kokkos::deep_copy(out, -1);
        return 0;
      };
      auto const correlation = [&](std::size_t i) {
        std::int32_t sum = 0;
        for (std::size_t j = 0; j < taps && i + j < n; ++j) sum += elements(i + j) * factors(j);
        return sum;
      };
      kernels::conv1d(exec, constant, k, out);
      wrong += expect("conv1d", correlation);
      kernels::RegisterWindow<Exec, std::int32_t> const conv(exec, n, taps, 8);
      conv(exec, a, k, out);
      wrong += expect("RegisterWindow", correlation);

      auto const windows = [&](std::size_t i, auto const& fold) {
        std::int32_t folded = elements(i);
        for (std::size_t back = 1; back < taps && back <= i; ++back) folded = fold(folded, elements(i - back));
        return folded;
      };
      kernels::window_sum(exec, taps, constant, out);
      wrong += expect("window_sum", [&](std::size_t i) { return windows(i, std::plus<>{}); });
      kernels::WindowFold<Exec, std::int32_t, tessera::collective::Max<std::int32_t>> const max(exec, n, taps);
      max(exec, a, out);
      wrong += expect("WindowFold", [&](std::size_t i) {
        return windows(i, [](std::int32_t x, std::int32_t y) { return std::max(x, y); });
      });
      kernels::window_max(exec, taps, constant, out);
      wrong += expect("window_max", [&](std::size_t i) {
        return windows(i, [](std::int32_t x, std::int32_t y) { return std::max(x, y); });
      });
    }
  }

  // Means of 0, 4, 8, ...: whole numbers for complete windows and for windows that begin before the array.
  Kokkos::View<double*, Exec> const steps("steps", 1000);
  Kokkos::View<double*, Exec> const means("means", 1000);
  Kokkos::parallel_for("steps", Kokkos::RangePolicy<Exec>(exec, 0, 1000), KOKKOS_LAMBDA(int i) { steps(i) = 4 * i; });
  kernels::window_mean(exec, 3, steps, means);
  auto const found = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), means);
  for (int i = 0; i < 1000; ++i) wrong += differs("window_mean", i, found(i), i < 2 ? 2.0 * i : 4.0 * (i - 1));

  Kokkos::View<std::int32_t**, Kokkos::LayoutRight, Exec> const matrix("matrix", 4, 3);
  auto const column = Kokkos::subview(matrix, Kokkos::ALL, 1);
  Elements const four("four", 4);
  Elements const five("five", 5);
  wrong += accepts("a strided column", [&] { kernels::conv1d(exec, column, four, four); });
  wrong += accepts("a longer result", [&] { kernels::conv1d(exec, four, five, five); });
  wrong += accepts("a strided column of windows", [&] { kernels::window_sum(exec, 2, column, four); });
  kernels::RegisterWindow<Exec, std::int32_t> const of_three_taps(exec, 5, 3);
  wrong += accepts("a kernel of other taps", [&] { of_three_taps(exec, five, four, five); });
  return wrong;
}
