/// \file
/// The serial oracle of axis_sum: a loop over the elements of a piece, with every sum in twice double precision.
///
/// If all elements of a row or column lie on one grid on which the dtype holds the sum of their magnitudes, every
/// partial sum is exact in any order (verify/grid.hpp): results must be equal, scale 0.
///
/// Error bound otherwise. The elements of a row or column are added in some tree of additions. With k the longest chain
/// of additions and u the unit roundoff, the error is at most ((1 + u)^k - 1) * sum |a| (Higham, Accuracy and Stability
/// of Numerical Algorithms, 4.2). The scale is sum |a|; the variant reports k. Underflow loses nothing: a sum of two
/// numbers below the normal range is exact. If terms of both signs exceed the dtype's range, a partial sum may overflow
/// in some orders only; the element is not checked (scale infinity, verify/wide.hpp). A library's products with ones
/// are exact, and pass on NaN and infinities. half and bfloat16 are summed in float and rounded once, when they are
/// stored.

#include <algorithm>
#include <limits>
#include <utility>

#include "problem.hpp"

#include <tessera/core/host_threads.hpp>
#include <tessera/table/references.hpp>
#include <tessera/verify/sum_oracle.hpp>

namespace tessera::axis_sum {

namespace {

template <class T>
using Sums = std::vector<verify::SumOracle<T>>;

template <class T>
Sums<T> sums_of(AxisSum::Input<T, Kokkos::HostSpace> const& input) {
  std::size_t const rows = input.a.extent(0);
  std::size_t const cols = input.a.extent(1);
  bool const along_rows = input.parameters.axis == 1;
  std::size_t const lines = along_rows ? rows : cols;
  if (rows == 0 || cols == 0) return Sums<T>(lines);
  // Each piece of some lines is a serial loop; several run in parallel. The pieces of a line are added in their order.
  std::size_t const of_piece_rows = along_rows ? std::max<std::size_t>(1, part_elements() / cols) : part_elements();
  std::size_t const of_piece_cols = along_rows ? part_elements() : 64;  // whole cache lines
  std::size_t const down = blocks_in(rows, of_piece_rows);
  std::size_t const across = blocks_in(cols, of_piece_cols);
  std::size_t const pieces_of_line = along_rows ? across : down;
  Sums<T> sums(lines * pieces_of_line);
  for_blocks(down * across, 1, [&](std::size_t piece, std::size_t, std::size_t) {
    std::size_t const y = piece / across;
    std::size_t const x = piece % across;
    std::size_t const end_col = std::min(cols, (x + 1) * of_piece_cols);
    for (std::size_t r = y * of_piece_rows; r < std::min(rows, (y + 1) * of_piece_rows); ++r) {
      if (along_rows) {
        verify::SumOracle<T> sum;  // in registers
        for (std::size_t c = x * of_piece_cols; c < end_col; ++c) sum.add(input.a(r, c));
        sums[r * across + x] = sum;
      } else {
        for (std::size_t c = x * of_piece_cols; c < end_col; ++c) sums[y * cols + c].add(input.a(r, c));
      }
    }
  });
  if (pieces_of_line == 1) return sums;
  Sums<T> all(lines);
  for (std::size_t line = 0; line < lines; ++line) {
    for (std::size_t piece = 0; piece < pieces_of_line; ++piece) {
      all[line].merge(along_rows ? sums[line * across + piece] : sums[piece * cols + line]);
    }
  }
  return all;
}

template <class T>
std::vector<ExpectedField> expected(Sums<T> const& sums) {
  std::size_t const n = sums.size();
  ExpectedField out{.name = "out",
                    .shape = {n},
                    .value = std::vector<double>(n),
                    .scale = std::vector<double>(n),
                    .grid = std::numeric_limits<double>::infinity()};
  bool all_exact = true;
  for (std::size_t i = 0; i < n; ++i) {
    verify::SumOracle<T> const& sum = sums[i];
    bool const exact = sum.is_exact();
    out.value[i] = sum.value();
    out.scale[i] = exact ? 0 : sum.scale();
    out.grid = std::min(out.grid, sum.spacing());
    all_exact = all_exact && exact;
    if (exact && sum.rounds()) out.rounded_sums = true;
  }
  if (all_exact) out.scale.clear();
  return list_of(std::move(out));
}

}  // namespace

template <class T>
std::vector<ExpectedField> AxisSum::reference(Input<T, Kokkos::HostSpace> const& input) {
  return expected<T>(sums_of(input));
}

// Sums of rows need only this rank; sums of columns are added over all ranks.
template <class T>
std::vector<ExpectedField> AxisSum::reference_of_part(Input<T, Kokkos::HostSpace> const& input,
                                                      ranks::Part const& part) {
  Sums<T> const own = sums_of(input);
  if (input.parameters.axis == 1) return expected<T>(own);
  Sums<T> all(own.size());
  for (Sums<T> const& of_rank : part.ranks.all_gather(own)) {
    for (std::size_t i = 0; i < all.size(); ++i) all[i].merge(of_rank[i]);
  }
  return expected<T>(all);
}

}  // namespace tessera::axis_sum

template struct tessera::References<tessera::axis_sum::AxisSum>;
