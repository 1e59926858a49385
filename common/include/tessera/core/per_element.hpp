#pragma once
/// \file
/// The least work of formulas that use one element of each array, out[i] = f(a[i], b[i], ...), or its neighbours.

#include <array>
#include <vector>

#include <tessera/core/info.hpp>
#include <tessera/core/types.hpp>

namespace tessera {

/// Base class of a Problem with `Arrays` arrays of the same size (inputs and outputs counted together) and a formula of
/// `Operations` operations, each of which rounds. Every array is moved once.
///
/// Example: out[i] = a[i] + b[i] is PerElement<3, 1>.
template <int Arrays, int Operations>
struct PerElement {
  [[nodiscard]] static Work work(std::vector<Shape> const& input, auto const&, DType dtype) {
    double const n = static_cast<double>(count_of(input[0]));
    return {.bytes = Arrays * n * static_cast<double>(size_of(dtype)), .flops = Operations * n};
  }

  [[nodiscard]] static double rounding_steps(std::vector<Shape> const&, auto const&) { return Operations; }
};

/// Base class of a Problem with such a formula and one output. Several ranks share every array by rows.
template <int Arrays, int Operations>
struct ElementwiseProblem : PerElement<Arrays, Operations> {
  static constexpr bool short_floats = true;
  static constexpr std::array data = data_kinds;
  static constexpr int reference_doubles = 1;
  static constexpr bool rows_apart = true;

  [[nodiscard]] static std::vector<Split> input_split(auto const&) {
    return std::vector<Split>(Arrays - 1, Split::rows);
  }
  [[nodiscard]] static std::vector<Split> output_split(auto const&) { return {Split::rows}; }
};

}  // namespace tessera
