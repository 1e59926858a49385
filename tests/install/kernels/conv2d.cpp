// A two-dimensional convolution on the user's own Views.

#include "program.hpp"

#include <cstdint>

#include <tessera/kernels/conv2d.hpp>

using Exec = Kokkos::DefaultExecutionSpace;
using Matrix = Kokkos::View<std::int32_t**, Kokkos::LayoutRight, Exec>;

Matrix filled(int rows, int cols, int period) {
  Matrix const matrix("matrix", rows, cols);
  Kokkos::parallel_for(
      "fill", Kokkos::RangePolicy<Exec>(0, rows), KOKKOS_LAMBDA(int y) {
        for (int x = 0; x < cols; ++x) matrix(y, x) = (y * 7 + x * 3) % period - period / 2;
      });
  return matrix;
}

int check(Exec const& exec) {
  int wrong = 0;
  int const shapes[][2] = {{0, 5}, {1, 1}, {1, 1000}, {1000, 1}, {33, 259}, {70, 1024}};
  int const taps[][2] = {{1, 1}, {3, 3}, {2, 7}, {9, 4}};
  for (auto const& [rows, cols] : shapes) {
    for (auto const& [tap_rows, tap_cols] : taps) {
      Matrix const in = filled(rows, cols, 101);
      Matrix const k = filled(tap_rows, tap_cols, 13);
      Matrix const out("out", rows, cols);
      tessera::kernels::conv2d(exec, in, k, out);
      auto const a = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, in);
      auto const b = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, k);
      auto const found = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, out);
      for (int y = 0; y < rows; ++y) {
        for (int x = 0; x < cols; ++x) {
          std::int32_t sum = 0;
          for (int ky = 0; ky < tap_rows && y + ky < rows; ++ky) {
            for (int kx = 0; kx < tap_cols && x + kx < cols; ++kx) sum += a(y + ky, x + kx) * b(ky, kx);
          }
          wrong += differs("conv2d", y * cols + x, found(y, x), sum);
        }
      }
    }
  }

  Matrix const in = filled(20, 30, 101);
  Matrix const k = filled(3, 3, 13);
  Matrix const out("out", 20, 30);
  tessera::kernels::Conv2d<Exec, std::int32_t> const convolve(exec, 20, 30);
  convolve(exec, in, k, out);
  exec.fence();
  wrong += accepts("another input", [&] { convolve(exec, filled(20, 29, 101), k, Matrix("out", 20, 29)); });
  wrong += accepts("another output", [&] { convolve(exec, in, k, Matrix("out", 19, 30)); });
  auto const part = Kokkos::subview(filled(20, 40, 101), Kokkos::ALL, std::make_pair(0, 30));
  wrong += accepts("rows with gaps", [&] { convolve(exec, part, k, out); });
  return wrong;
}
