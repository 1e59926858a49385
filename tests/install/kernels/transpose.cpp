// Transposes a matrix on the user's own Views, with the kernel's own tuning and with another.

#include "program.hpp"

#include <cstdint>
#include <utility>

#include <tessera/kernels/transpose.hpp>

using Exec = Kokkos::DefaultExecutionSpace;
using Matrix = Kokkos::View<std::int32_t**, Kokkos::LayoutRight, Exec>;

/// The tuning of a GPU with smaller tiles.
struct SmallTiles {
  static constexpr int blocks_down = 4;
  static constexpr int blocks_across = 4;
  static constexpr int blocks_in_flight = 2;
  static constexpr int band = 3;
  static constexpr bool by_lanes = true;
};

int differs_anywhere(char const* what, Matrix const& out) {
  auto const found = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), out);
  int wrong = 0;
  for (int c = 0; c < out.extent_int(0); ++c) {
    for (int r = 0; r < out.extent_int(1); ++r) {
      if (found(c, r) != r * 10007 + c) wrong = differs(what, found.extent(1) * c + r, found(c, r), r * 10007 + c);
    }
  }
  return wrong;
}

int check(Exec const& exec) {
  namespace kernels = tessera::kernels;
  int wrong = 0;
  for (auto const& [rows, cols] :
       {std::pair{0, 0}, {0, 3}, {3, 0}, {1, 1}, {1, 999}, {999, 1}, {31, 33}, {64, 128}, {257, 100}, {1024, 768}}) {
    Matrix const in("in", rows, cols);
    Matrix const out("out", cols, rows);
    for (int r = 0; r < rows; ++r) {
      Kokkos::parallel_for(
          "fill", Kokkos::RangePolicy<Exec>(exec, 0, cols), KOKKOS_LAMBDA(int c) { in(r, c) = r * 10007 + c; });
    }
    kernels::transpose(exec, in, out);
    wrong += differs_anywhere("transpose", out);

    Kokkos::deep_copy(exec, out, -1);
    kernels::Transpose<Exec, std::int32_t, SmallTiles> const in_small_tiles(exec, rows, cols);
    in_small_tiles(exec, Kokkos::View<std::int32_t const**, Kokkos::LayoutRight, Exec>(in), out);
    exec.fence();
    wrong += differs_anywhere("transpose in small tiles", out);
  }

  // Must be refused: a part of a matrix, which has gaps between its rows, and wrong extents.
  Matrix const matrix("matrix", 6, 6);
  Matrix const out("out", 4, 5);
  auto const part = Kokkos::subview(matrix, std::pair{0, 5}, std::pair{0, 4});
  wrong += accepts("rows with gaps", [&] { kernels::transpose(exec, part, out); });
  wrong += accepts("an output of the input's extents", [&] { kernels::transpose(exec, out, out); });
  return wrong;
}
