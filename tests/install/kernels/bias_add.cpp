// A row added to each row of a matrix, on Views of one's own, in place and apart.

#include "program.hpp"

#include <cstdint>

#include <tessera/kernels/bias_add.hpp>

using Exec = Kokkos::DefaultExecutionSpace;
using Row = Kokkos::View<std::int32_t*, Exec>;
using Matrix = Kokkos::View<std::int32_t**, Kokkos::LayoutRight, Exec>;

int check(Exec const& exec) {
  int wrong = 0;
  int const shapes[][2] = {{0, 3}, {3, 0}, {1, 1}, {1, 5003}, {5003, 1}, {7, 5}, {300, 4099}};
  for (auto const& shape : shapes) {
    int const rows = shape[0];
    int const cols = shape[1];
    Row const bias("bias", cols);
    Matrix const x("x", rows, cols);
    Matrix const y("y", rows, cols);
    Kokkos::parallel_for(
        "fill", Kokkos::RangePolicy<Exec>(0, cols), KOKKOS_LAMBDA(int c) {
          bias(c) = c;
          for (int r = 0; r < rows; ++r) x(r, c) = r * 10000;
        });
    tessera::kernels::bias_add(exec, x, bias, y);
    tessera::kernels::bias_add(exec, x, bias, x);
    auto const apart = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, y);
    auto const in_place = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, x);
    for (int r = 0; r < rows; ++r) {
      for (int c = 0; c < cols; ++c) {
        wrong += differs("bias_add", r * cols + c, apart(r, c), r * 10000 + c);
        wrong += differs("bias_add in place", r * cols + c, in_place(r, c), r * 10000 + c);
      }
    }
  }

  tessera::kernels::BiasAdd<Exec, std::int32_t> const add(exec, 4, 6);
  Matrix const x("x", 4, 6);
  add(exec, x, Row("bias", 6), x);
  exec.fence();
  wrong += accepts("a shorter bias", [&] { add(exec, x, Row("bias", 5), x); });
  wrong += accepts("another matrix", [&] { add(exec, Matrix("x", 6, 4), Row("bias", 6), x); });
  return wrong;
}
