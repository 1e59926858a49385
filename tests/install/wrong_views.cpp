// Must not compile: a column-major matrix, and results in const elements. run.cmake checks the messages.

#include <Kokkos_Core.hpp>

#include <tessera/kernels/softmax.hpp>
#include <tessera/kernels/transpose.hpp>

using Exec = Kokkos::DefaultExecutionSpace;

void wrong(Exec const& exec) {
  Kokkos::View<float**, Kokkos::LayoutLeft, Exec> const by_columns("by columns", 3, 4);
  Kokkos::View<float**, Kokkos::LayoutRight, Exec> const by_rows("by rows", 3, 4);
  Kokkos::View<float**, Kokkos::LayoutRight, Exec> const turned("turned", 4, 3);
  tessera::kernels::softmax(exec, by_columns, by_rows);
  tessera::kernels::transpose(exec, by_rows, Kokkos::View<float const**, Kokkos::LayoutRight, Exec>(turned));
}
