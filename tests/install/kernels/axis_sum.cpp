// Sums of rows and of columns on the user's own Views.

#include "program.hpp"

#include <cstdint>
#include <vector>

#include <tessera/kernels/sum_columns.hpp>
#include <tessera/kernels/sum_rows.hpp>

using Exec = Kokkos::DefaultExecutionSpace;
using Matrix = Kokkos::View<std::int32_t**, Kokkos::LayoutRight, Exec>;
using Vector = Kokkos::View<std::int32_t*, Exec>;

int compare(char const* what, Vector const& found, std::vector<std::int32_t> const& expected) {
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, found);
  int wrong = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) wrong += differs(what, i, host(i), expected[i]);
  return wrong;
}

int check(Exec const& exec) {
  using namespace tessera::kernels;
  int wrong = 0;
  for (auto const [rows, cols] : {std::pair{0, 3},
                                  {3, 0},
                                  {1, 1},
                                  {7, 5},
                                  {1001, 3},
                                  {101, 33},
                                  {40, 4100},
                                  {2, 300007},
                                  {5003, 12},
                                  {300007, 2}}) {
    Matrix const in("in", rows, cols);
    auto const host = Kokkos::create_mirror_view(in);
    std::vector<std::int32_t> of_rows(rows);
    std::vector<std::int32_t> of_columns(cols);
    for (int r = 0; r < rows; ++r) {
      for (int c = 0; c < cols; ++c) {
        host(r, c) = (r * 37 + c * 11) % 101 - 50;
        of_rows[r] += host(r, c);
        of_columns[c] += host(r, c);
      }
    }
    Kokkos::deep_copy(in, host);
    Vector const by_row("by_row", rows);
    Vector const by_column("by_column", cols);
    sum_rows(exec, in, by_row);
    wrong += compare("sum_rows", by_row, of_rows);
    sum_columns(exec, Kokkos::View<std::int32_t const**, Kokkos::LayoutRight, Exec>(in), by_column);
    wrong += compare("sum_columns", by_column, of_columns);

    SumRows<Exec, std::int32_t> const sum(exec, rows, cols);
    SumColumns<Exec, std::int32_t> const columns(exec, rows, cols);
    for (int again = 0; again < 3; ++again) {
      sum(exec, in, by_row);
      columns(exec, in, by_column);
    }
    exec.fence();
    wrong += compare("SumRows, again", by_row, of_rows);
    wrong += compare("SumColumns, again", by_column, of_columns);
  }

  // Must be refused: some columns of a wider matrix, which have gaps between the rows, and wrong extents.
  Matrix const wide("wide", 4, 8);
  Vector const four("four", 4);
  auto const part = Kokkos::subview(wide, Kokkos::ALL, std::pair(0, 4));
  wrong += accepts("a part of a wider matrix", [&] { sum_rows(exec, part, four); });
  wrong += accepts("a part of a wider matrix, by columns", [&] { sum_columns(exec, part, four); });
  wrong += accepts("too few sums", [&] { sum_columns(exec, wide, four); });
  wrong += accepts("a strided result", [&] { sum_rows(exec, wide, Kokkos::subview(wide, Kokkos::ALL, 1)); });
  return wrong;
}
