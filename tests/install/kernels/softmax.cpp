// The softmax of rows and of columns on the user's own Views.

#include "program.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <tessera/kernels/column_softmax.hpp>
#include <tessera/kernels/held_column_softmax.hpp>
#include <tessera/kernels/softmax.hpp>
#include <tessera/kernels/split_softmax.hpp>

using Exec = Kokkos::DefaultExecutionSpace;
using Matrix = Kokkos::View<double**, Kokkos::LayoutRight, Exec>;

double element(int r, int c) { return (r * 37 + c * 11) % 101 * 0.3 - 10; }

// Plain loops over each row or each column.
int compare(char const* what, Matrix const& out, bool by_rows) {
  auto const found = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, out);
  int const groups = static_cast<int>(out.extent(by_rows ? 0 : 1));
  int const n = static_cast<int>(out.extent(by_rows ? 1 : 0));
  int wrong = 0;
  for (int g = 0; g < groups; ++g) {
    auto const x = [&](int i) { return by_rows ? element(g, i) : element(i, g); };
    double max = -INFINITY;
    for (int i = 0; i < n; ++i) max = std::max(max, x(i));
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += std::exp(x(i) - max);
    for (int i = 0; i < n; ++i) {
      double const value = by_rows ? found(g, i) : found(i, g);
      double const expected = std::exp(x(i) - max) / sum;
      if (!(std::abs(value - expected) <= 1e-12 * expected)) wrong += differs(what, i, value, expected);
    }
  }
  return wrong;
}

int check(Exec const& exec) {
  using namespace tessera::kernels;
  int wrong = 0;
  for (auto const [rows, cols] :
       {std::pair{0, 3}, {3, 0}, {1, 1}, {7, 5}, {33, 100}, {1, 40001}, {2, 40001}, {1003, 12}}) {
    Matrix const in("in", rows, cols);
    Matrix const out("out", rows, cols);
    auto const host = Kokkos::create_mirror_view(in);
    for (int r = 0; r < rows; ++r) {
      for (int c = 0; c < cols; ++c) host(r, c) = element(r, c);
    }
    Kokkos::deep_copy(in, host);
    softmax(exec, in, out);
    wrong += compare("softmax", out, true);
    softmax_columns(exec, Kokkos::View<double const**, Kokkos::LayoutRight, Exec>(in), out);
    wrong += compare("softmax_columns", out, false);
    SplitRowSoftmax<Exec, double> const split(exec, rows, cols);
    split(exec, in, out);
    exec.fence();
    wrong += compare("SplitRowSoftmax", out, true);
    if (rows <= 40) {
      HeldColumnSoftmax<Exec, double> held(exec, std::min(rows, 7), cols);
      auto const some = Kokkos::subview(in, std::pair(0, std::min(rows, 7)), Kokkos::ALL);
      auto const result = Kokkos::subview(out, std::pair(0, std::min(rows, 7)), Kokkos::ALL);
      held(exec, some, result);
      exec.fence();
      wrong += compare("HeldColumnSoftmax", result, false);
    }
    RowSoftmax<Exec, double> const kernel(exec, rows, cols);
    kernel(exec, in, in);  // in place
    exec.fence();
    wrong += compare("RowSoftmax", in, true);
  }

  // Must be refused: some columns of a wider matrix, which have gaps between the rows, and wrong extents.
  Matrix const wide("wide", 4, 8);
  auto const part = Kokkos::subview(wide, Kokkos::ALL, std::pair(0, 4));
  wrong += accepts("a part of a wider matrix", [&] { softmax(exec, part, part); });
  wrong += accepts("a part of a wider matrix, by columns", [&] { softmax_columns(exec, part, part); });
  RowSoftmax<Exec, double> const of_other_shape(exec, 8, 4);
  wrong += accepts("a matrix of another shape", [&] { of_other_shape(exec, wide, wide); });
  return wrong;
}
