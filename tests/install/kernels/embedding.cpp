// Looks up rows of a table by index, on the user's own Views.

#include "program.hpp"

#include <cstdint>
#include <utility>

#include <tessera/kernels/embedding.hpp>

using Exec = Kokkos::DefaultExecutionSpace;
using Indices = Kokkos::View<std::int32_t*, Exec>;
using Rows = Kokkos::View<float**, Kokkos::LayoutRight, Exec>;

// Some indices lie before or behind a table of 57 rows.
KOKKOS_INLINE_FUNCTION std::int32_t index_of(int i) { return i * 37 % 61 - 2; }

int check(Exec const& exec) {
  int wrong = 0;
  for (int width : {1, 3, 4, 132}) {
    Rows const table("table", 57, width);
    Kokkos::parallel_for(
        "fill", Kokkos::RangePolicy<Exec>(exec, 0, 57), KOKKOS_LAMBDA(int row) {
          for (int col = 0; col < width; ++col) table(row, col) = static_cast<float>(row * 1000 + col);
        });
    for (int n : {0, 1, 7, 4097}) {
      Indices const indices("indices", n);
      Rows const out("out", n, width);
      Kokkos::parallel_for(
          "fill", Kokkos::RangePolicy<Exec>(exec, 0, n), KOKKOS_LAMBDA(int i) { indices(i) = index_of(i); });
      Kokkos::deep_copy(exec, out, -1);
      tessera::kernels::embedding(exec, indices, table, out);
      auto const found = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, out);
      for (int i = 0; i < n; ++i) {
        int const row = index_of(i);
        for (int col = 0; col < width; ++col) {
          float const expected = row < 0 || row >= 57 ? 0 : static_cast<float>(row * 1000 + col);
          wrong += differs("embedding", i, found(i, col), expected);
        }
      }
    }
  }

  Rows const table("table", 5, 8);
  Indices const indices("indices", 3);
  tessera::kernels::Embedding<Exec, float> const look_up(exec, 3, table);
  Rows const out("out", 3, 8);
  look_up(exec, indices, table, out);
  exec.fence();
  // Fewer indices than the kernel was created for: no row behind them may be written.
  Kokkos::deep_copy(exec, table, 1);
  Kokkos::deep_copy(exec, out, -1);
  std::pair<int, int> const two(0, 2);
  look_up(exec, Kokkos::subview(indices, two), table, Kokkos::subview(out, two, Kokkos::ALL));
  auto const found = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, out);
  for (int i = 0; i < 3; ++i) wrong += differs("fewer indices", i, found(i, 7), i < 2 ? 1.0F : -1.0F);
  wrong += accepts("another width", [&] { look_up(exec, indices, table, Rows("narrow", 3, 4)); });
  wrong += accepts("more indices", [&] { look_up(exec, Indices("more", 4), table, Rows("more rows", 4, 8)); });
  wrong += accepts("fewer indices than rows", [&] { look_up(exec, Indices("fewer", 2), table, out); });
  auto const half = Kokkos::subview(Rows("wide", 5, 16), Kokkos::ALL, std::make_pair(0, 8));
  wrong += accepts("rows with gaps", [&] { look_up(exec, indices, half, out); });
  return wrong;
}
