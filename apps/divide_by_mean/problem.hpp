#pragma once
/// \file
/// divide_by_mean: out[r, c] = a[r, c] / mean of row r.

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <tessera/collective/in_range.hpp>
#include <tessera/core/balanced.hpp>
#include <tessera/core/info.hpp>
#include <tessera/core/matrix_problem.hpp>
#include <tessera/core/per_element.hpp>
#include <tessera/core/types.hpp>

namespace tessera::divide_by_mean {

/// One addition and one division per element.
struct DivideByMean : MatrixProblem<MatrixParameters>, PerElement<2, 2> {
  static constexpr AppInfo info{.name = "divide_by_mean", .summary = "out[r, c] = a[r, c] / mean of row r"};

  static constexpr std::array data = data_kinds;
  static constexpr int reference_doubles = 3;
  static constexpr bool own_parts = true;

  /// Exact: positive whole numbers, whose sums are exact. Random: around 2, because a mean near 0 has lost its digits.
  template <class T>
  [[nodiscard]] static T element(Draw const& draw, Parameters const&) {
    if (draw.data == DataKind::random) return T(2) + drawn<T>(draw);
    if (draw.data == DataKind::adversarial) return drawn<T>(draw);
    std::size_t const cols = draw.shapes->at(0)[1];
    return exact_term<T>(draw, draw.index / cols, draw.index % cols);
  }

  [[nodiscard]] static std::vector<Shape> output_shapes(std::vector<Shape> const& input, Parameters const&) {
    return {input[0]};
  }

  [[nodiscard]] static std::uint64_t terms(std::vector<Shape> const& input, Parameters const&) { return input[0][1]; }

  /// Counts a row's sum in the worst order, the number of columns as a number of the dtype, and two divisions.
  [[nodiscard]] static double rounding_steps(std::vector<Shape> const& input, Parameters const&) {
    return static_cast<double>(input[0][1]) + 3;
  }

  template <class T>
  [[nodiscard]] static std::vector<ExpectedField> reference(Input<T, Kokkos::HostSpace> const& input);

  template <class T>
  [[nodiscard]] static ExpectedField reference_of_rows(Input<T, Kokkos::HostSpace> const& input,
                                                       std::vector<std::size_t> const& rows);
};

/// The mean of a row, multiplied by a power of two. `scale` is 1, or less than 1 if the sum would overflow.
template <class T>
struct Mean {
  T value;
  T scale;
};

/// Returns the element divided by the mean.
template <class T>
[[nodiscard]] KOKKOS_INLINE_FUNCTION T quotient(T element, Mean<T> const& mean) {
  return element * mean.scale / mean.value;
}

}  // namespace tessera::divide_by_mean
