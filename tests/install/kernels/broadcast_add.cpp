// A row plus a column on the user's own Views.

#include "program.hpp"

#include <cstdint>

#include <tessera/kernels/broadcast_add.hpp>

using Exec = Kokkos::DefaultExecutionSpace;
using Edge = Kokkos::View<std::int32_t*, Exec>;
using Matrix = Kokkos::View<std::int32_t**, Kokkos::LayoutRight, Exec>;

Edge counted(int n, int factor) {
  Edge const edge("edge", n);
  Kokkos::parallel_for("fill", Kokkos::RangePolicy<Exec>(0, n), KOKKOS_LAMBDA(int i) { edge(i) = i * factor; });
  return edge;
}

int check(Exec const& exec) {
  int wrong = 0;
  int const shapes[][2] = {{0, 3}, {1, 1}, {1, 5003}, {5003, 1}, {7, 5}, {300, 4099}};
  for (auto const& [rows, cols] : shapes) {
    Matrix const out("out", rows, cols);
    tessera::kernels::broadcast_add(exec, counted(cols, 1), counted(rows, 10000), out);
    auto const found = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, out);
    for (int r = 0; r < rows; ++r) {
      for (int c = 0; c < cols; ++c) wrong += differs("broadcast_add", r * cols + c, found(r, c), c + r * 10000);
    }
  }

  tessera::kernels::BroadcastAdd<Exec, std::int32_t> const add(exec, 4, 6);
  add(exec, counted(6, 1), counted(4, 1), Matrix("out", 4, 6));
  exec.fence();
  wrong += accepts("exchanged edges", [&] { add(exec, counted(4, 1), counted(6, 1), Matrix("out", 4, 6)); });
  wrong += accepts("another output", [&] { add(exec, counted(6, 1), counted(4, 1), Matrix("out", 6, 4)); });
  return wrong;
}
