// Adds a row to each row of a matrix, on the user's own Views, in place and out of place.

#include "program.hpp"

#include <cstdint>
#include <utility>

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
  wrong +=
      accepts("a bias with a stride", [&] { add(exec, x, Kokkos::subview(Matrix("wide", 6, 2), Kokkos::ALL, 0), x); });
  wrong += accepts("rows with gaps", [&] {
    add(exec, x, Row("bias", 6), Kokkos::subview(Matrix("wide", 4, 8), Kokkos::ALL, std::pair{0, 6}));
  });

  // The result is not aligned to a pack.
  int const cols = 1000;
  Row const memory("memory", 3 * cols + 1);
  Kokkos::View<std::int32_t**, Kokkos::LayoutRight, Exec, Kokkos::MemoryUnmanaged> const off(memory.data() + 1, 3,
                                                                                             cols);
  Row const ones("bias", cols);
  Kokkos::deep_copy(ones, 1);
  tessera::kernels::bias_add(exec, Matrix("zeros", 3, cols), ones, off);
  auto const found = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, memory);
  for (int i = 0; i <= 3 * cols; ++i) wrong += differs("bias_add beside a boundary", i, found(i), i == 0 ? 0 : 1);
  return wrong;
}
