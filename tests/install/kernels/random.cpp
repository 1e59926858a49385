// Random numbers in the user's own Views, and element by element in the user's own kernel.

#include "program.hpp"

#include <cstdint>
#include <utility>

#include <tessera/kernels/random.hpp>

using Exec = Kokkos::DefaultExecutionSpace;
using tessera::collective::Integers;
using tessera::collective::Normal;
using tessera::collective::Philox4x32;
using tessera::collective::RandomWords;
using tessera::collective::Uniform;

int check(Exec const& exec) {
  using tessera::kernels::fill_random;
  int wrong = 0;
  for (int n : {0, 1, 3, 4, 4097, 1000003}) {
    Kokkos::View<float*, Exec> const filled("filled", n);
    Kokkos::View<float*, Exec> const one_by_one("one_by_one", n);
    fill_random(exec, filled, 42);
    Kokkos::parallel_for(
        "one by one", Kokkos::RangePolicy<Exec>(exec, 0, n),
        KOKKOS_LAMBDA(int i) { one_by_one(i) = Uniform<float>{}.at(RandomWords<Philox4x32>(42, 0), i); });
    auto const a = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, filled);
    auto const b = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, one_by_one);
    exec.fence();
    for (int i = 0; i < n; ++i) wrong += differs("uniform", i, a(i), b(i));
    for (int i = 0; i < n; ++i) wrong += a(i) >= 0 && a(i) < 1 ? 0 : differs("not in [0, 1)", i, a(i), 0.5f);

    // A part that begins at element 1, unaligned to a pack.
    if (n < 2) continue;
    auto const part = Kokkos::subview(one_by_one, std::make_pair(1, n));
    tessera::kernels::FillRandom<Exec, float, Normal<float>> const fill(7, 3, {}, 1);
    tessera::kernels::FillRandom<Exec, float, Normal<float>> const whole(7, 3);
    fill(exec, part);
    whole(exec, filled);
    Kokkos::deep_copy(a, filled);
    Kokkos::deep_copy(b, one_by_one);
    for (int i = 1; i < n; ++i) wrong += differs("normal", i, b(i), a(i));
  }

  Kokkos::View<std::int32_t*, Exec> const dice("dice", 6000);
  fill_random(exec, dice, 42, Integers(1, 7));
  auto const thrown = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, dice);
  int counts[6] = {};
  for (int i = 0; i < 6000; ++i) {
    if (thrown(i) >= 1 && thrown(i) <= 6) ++counts[thrown(i) - 1];
  }
  for (int face = 0; face < 6; ++face) {
    if (counts[face] < 850 || counts[face] > 1150) wrong += differs("a face of the dice", face, counts[face], 1000);
  }

  Kokkos::View<float**, Kokkos::LayoutRight, Exec> const matrix("matrix", 4, 4);
  auto const column = Kokkos::subview(matrix, Kokkos::ALL, 1);
  return wrong + accepts("a strided View", [&] { fill_random(exec, column, 42); });
}
