#pragma once
/// \file
/// transpose: out[c, r] = a[r, c].

#include <vector>

#include <tessera/core/info.hpp>
#include <tessera/core/matrix_problem.hpp>
#include <tessera/core/per_element.hpp>
#include <tessera/core/shared_by_rows.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>
#include <tessera/ranks/part.hpp>

namespace tessera::transpose {

/// Elements are moved; nothing is computed.
struct Transpose : MatrixProblem<MatrixParameters>, PerElement<2, 0>, SharedByRows<Split::rows> {
  static constexpr AppInfo info{.name = "transpose",
                                .summary = "out[col, row] = a[row, col]",
                                .traffic = {.pattern = Traffic::Pattern::all_to_all, .launches = 3}};
  static constexpr bool short_floats = true;

  static constexpr std::array data = data_kinds;
  static constexpr int reference_doubles = 1;
  static constexpr bool own_parts = true;

  /// out [cols, rows].
  [[nodiscard]] static std::vector<Shape> output_shapes(std::vector<Shape> const& input, Parameters const&) {
    return {{input[0][1], input[0][0]}};
  }

  /// Rows of the output are columns of the input.
  [[nodiscard]] static std::vector<ranks::Box> needs(std::vector<Shape> const& input,
                                                     std::vector<ranks::Box> const& output) {
    return {{{0, input[0][0]}, output[0].rows}};
  }

  template <class T>
  [[nodiscard]] static std::vector<ExpectedField> reference(Input<T, Kokkos::HostSpace> const& input);
};

}  // namespace tessera::transpose
