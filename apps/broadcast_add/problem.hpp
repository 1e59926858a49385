#pragma once
/// \file
/// broadcast_add: out[r, c] = a[c] + b[r].

#include <array>
#include <cstddef>
#include <vector>

#include <tessera/collective/operators.hpp>
#include <tessera/core/info.hpp>
#include <tessera/core/matrix_problem.hpp>
#include <tessera/core/pair_problem.hpp>
#include <tessera/core/shared_by_rows.hpp>
#include <tessera/core/single_array.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>

namespace tessera::broadcast_add {

/// Fields a [cols], b [rows], out [rows, cols].
struct BroadcastAdd : PairProblem<MatrixParameters>, SharedByRows<Split::whole, Split::rows> {
  template <class T, class Memory>
  using Output = SingleOutput<T**, Memory>;

  static constexpr AppInfo info{.name = "broadcast_add",
                                .summary = "out[row, col] = a[col] + b[row]",
                                .traffic = {.pattern = Traffic::Pattern::nothing, .field = 1}};
  static constexpr bool short_floats = true;

  static constexpr std::array data = data_kinds;
  static constexpr int reference_doubles = 1;

  /// `size` is the number of elements of the output; a and b are its edges.
  [[nodiscard]] static std::vector<Shape> input_shapes(std::size_t size, Parameters const& parameters) {
    Shape const out = matrix_shape(size, parameters.rows);
    return {{out[1]}, {out[0]}};
  }
  /// Accepts any extents of a and b.
  [[nodiscard]] static std::vector<Shape> output_shapes(std::vector<Shape> const& input, Parameters const&) {
    return {{input[1][0], input[0][0]}};
  }

  [[nodiscard]] static Work work(std::vector<Shape> const& input, Parameters const&, DType dtype) {
    double const cols = static_cast<double>(input[0][0]);
    double const rows = static_cast<double>(input[1][0]);
    return {.bytes = (rows * cols + rows + cols) * static_cast<double>(size_of(dtype)), .flops = rows * cols};
  }

  /// One addition.
  [[nodiscard]] static double rounding_steps(std::vector<Shape> const&, Parameters const&) { return 1; }

  static constexpr bool rows_apart = true;

  template <class T>
  [[nodiscard]] static std::vector<ExpectedField> reference(Input<T, Kokkos::HostSpace> const& input);
};

/// Adds a pair of elements, in every variant; integers wrap.
template <class T>
using Add = collective::Sum<T>;

}  // namespace tessera::broadcast_add
