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
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "problem.hpp"

#include <tessera/core/host_threads.hpp>
#include <tessera/table/references.hpp>
#include <tessera/verify/exact_sum.hpp>
#include <tessera/verify/grid.hpp>
#include <tessera/verify/wide.hpp>

namespace tessera::axis_sum {

namespace {

// A sum of the oracle.
struct Sum {
  verify::ExactSum value;
  verify::ExactSum magnitude;
  verify::Grid grid;
  std::uint32_t wrapped = 0;

  void merge(Sum const& other) {
    value.merge(other.value);
    magnitude.merge(other.magnitude);
    grid.merge(other.grid);
    wrapped += other.wrapped;
  }
};

template <class T>
std::vector<Sum> sums_of(AxisSum::Input<T, Kokkos::HostSpace> const& input) {
  std::size_t const rows = input.a.extent(0);
  std::size_t const cols = input.a.extent(1);
  bool const along_rows = input.parameters.axis == 1;
  std::size_t const lines = along_rows ? rows : cols;
  if (rows == 0 || cols == 0) return std::vector<Sum>(lines);
  // Each piece of some lines is a serial loop; several run in parallel. The pieces of a line are added in their order.
  std::size_t const of_piece_rows = along_rows ? std::max<std::size_t>(1, part_elements() / cols) : part_elements();
  std::size_t const of_piece_cols = along_rows ? part_elements() : 64;  // whole cache lines
  std::size_t const down = blocks_in(rows, of_piece_rows);
  std::size_t const across = blocks_in(cols, of_piece_cols);
  std::size_t const pieces_of_line = along_rows ? across : down;
  std::vector<Sum> sums(lines * pieces_of_line);
  for_blocks(down * across, 1, [&](std::size_t piece, std::size_t, std::size_t) {
    std::size_t const y = piece / across;
    std::size_t const x = piece % across;
    auto const add = [](Sum& sum, T element) {
      if constexpr (std::is_integral_v<T>) {
        sum.wrapped += static_cast<std::uint32_t>(element);
      } else {
        auto const a = static_cast<double>(element);
        sum.value.add(a);
        sum.grid.add(a);
        if (std::isfinite(a)) sum.magnitude.add(std::abs(a));
      }
    };
    std::size_t const end_col = std::min(cols, (x + 1) * of_piece_cols);
    for (std::size_t r = y * of_piece_rows; r < std::min(rows, (y + 1) * of_piece_rows); ++r) {
      if (along_rows) {
        Sum sum;  // in registers
        for (std::size_t c = x * of_piece_cols; c < end_col; ++c) add(sum, input.a(r, c));
        sums[r * across + x] = sum;
      } else {
        for (std::size_t c = x * of_piece_cols; c < end_col; ++c) add(sums[y * cols + c], input.a(r, c));
      }
    }
  });
  if (pieces_of_line == 1) return sums;
  std::vector<Sum> all(lines);
  for (std::size_t line = 0; line < lines; ++line) {
    for (std::size_t piece = 0; piece < pieces_of_line; ++piece) {
      all[line].merge(along_rows ? sums[line * across + piece] : sums[piece * cols + line]);
    }
  }
  return all;
}

template <class T>
std::vector<ExpectedField> expected(std::vector<Sum> const& sums) {
  std::size_t const n = sums.size();
  ExpectedField out{.name = "out",
                    .shape = {n},
                    .value = std::vector<double>(n),
                    .scale = std::vector<double>(n),
                    .grid = std::numeric_limits<double>::infinity()};
  bool all_exact = true;
  for (std::size_t i = 0; i < n; ++i) {
    Sum const& sum = sums[i];
    if constexpr (std::is_integral_v<T>) {
      out.value[i] = static_cast<double>(static_cast<std::int32_t>(sum.wrapped));
    } else {
      double const value = sum.value.value();
      double const magnitude = sum.magnitude.value();
      bool const exact = sum.grid.template holds<Arithmetic<T>>(magnitude);
      out.value[i] = value;
      out.scale[i] = exact ? 0 : verify::scale_of_sum<Arithmetic<T>>(value, magnitude);
      out.grid = std::min(out.grid, sum.grid.spacing());
      all_exact = all_exact && exact;
      if (ShortFloat<T> && exact && !sum.grid.template holds<T>(std::abs(value))) out.rounded_sums = true;
    }
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
                                                      std::vector<ranks::Block> const&, ranks::Part const& part) {
  std::vector<Sum> const own = sums_of(input);
  if (input.parameters.axis == 1) return expected<T>(own);
  std::vector<Sum> all(own.size());
  for (std::vector<Sum> const& of_rank : part.ranks.all_gather(own)) {
    for (std::size_t i = 0; i < all.size(); ++i) all[i].merge(of_rank[i]);
  }
  return expected<T>(all);
}

}  // namespace tessera::axis_sum

template struct tessera::References<tessera::axis_sum::AxisSum>;
