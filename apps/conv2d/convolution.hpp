#pragma once
/// \file
/// What every variant computes, on pointers and extents.

#include <Kokkos_Macros.hpp>

#include <algorithm>
#include <cstddef>

#include "problem.hpp"

#include <tessera/collective/accumulator.hpp>

namespace tessera::conv2d {

/// The convolution with what cannot matter left out: taps that reach past the input from its first element on. A single
/// column is taken for the single row that it is in memory, so that what is fast along rows is fast for it.
///
/// Elements are accumulators: integers are unsigned and wrap.
template <class Sum>
struct Convolution {
  Sum const* in;
  Sum const* k;
  Sum* out;
  std::size_t rows;  // of in and out
  std::size_t cols;
  std::size_t tap_rows;  // at most rows
  std::size_t tap_cols;  // at most cols
  std::size_t tap_row_stride;
  std::size_t tap_col_stride;

  [[nodiscard]] KOKKOS_FUNCTION Sum tap(std::size_t ky, std::size_t kx) const {
    return k[ky * tap_row_stride + kx * tap_col_stride];
  }
};

template <class T, class Memory>
[[nodiscard]] Convolution<collective::Accumulator<T>> convolution(Conv2d::Input<T, Memory> const& input,
                                                                  Conv2d::Output<T, Memory> const& output = {}) {
  using Sum = collective::Accumulator<T>;
  std::size_t const rows = input.in.extent(0);
  std::size_t const cols = input.in.extent(1);
  Convolution<Sum> result{.in = reinterpret_cast<Sum const*>(input.in.data()),
                          .k = reinterpret_cast<Sum const*>(input.k.data()),
                          .out = reinterpret_cast<Sum*>(output.out.data()),
                          .rows = rows,
                          .cols = cols,
                          .tap_rows = std::min(rows, input.k.extent(0)),
                          .tap_cols = std::min(cols, input.k.extent(1)),
                          .tap_row_stride = input.k.extent(1),
                          .tap_col_stride = 1};
  if (cols == 1) {
    std::swap(result.rows, result.cols);
    std::swap(result.tap_rows, result.tap_cols);
    std::swap(result.tap_row_stride, result.tap_col_stride);
  }
  return result;
}

}  // namespace tessera::conv2d
