#pragma once
/// \file
/// broadcast_add: out[r, c] = a[c] + b[r].

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include <tessera/collective/operators.hpp>
#include <tessera/core/info.hpp>
#include <tessera/core/matrix_shape.hpp>
#include <tessera/core/parameters.hpp>
#include <tessera/core/random.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>

namespace tessera::broadcast_add {

struct BroadcastAdd {
  static constexpr AppInfo info{.name = "broadcast_add",
                                .summary = "out[row, col] = a[col] + b[row]",
                                .traffic = {.pattern = Traffic::Pattern::nothing, .field = 1}};
  static constexpr bool short_floats = true;

  struct Parameters {
    std::int64_t rows = 0;
    std::int64_t team = 0;

    [[nodiscard]] static MemberSpecs<Parameters> specs() {
      return {{&Parameters::rows, rows_parameter()}, {&Parameters::team, team_parameter()}};
    }
  };

  static constexpr std::array data = data_kinds;
  static constexpr int reference_doubles = 1;

  /// a [cols], b [rows].
  template <class T, class Memory>
  struct Input {
    Array<T const*, Memory> a;
    Array<T const*, Memory> b;
    Parameters parameters;

    static constexpr std::array<std::string_view, 2> names{"a", "b"};
    static auto fields(auto& self) { return std::tie(self.a, self.b); }
  };

  /// out [rows, cols].
  template <class T, class Memory>
  struct Output {
    Array<T**, Memory> out;

    static constexpr std::array<std::string_view, 1> names{"out"};
    static auto fields(auto& self) { return std::tie(self.out); }
  };

  /// `size` is the number of elements of the output; a and b are its edges.
  [[nodiscard]] static std::vector<Shape> input_shapes(std::size_t size, Parameters const& parameters) {
    Shape const out = matrix_shape(size, parameters.rows);
    return {{out[1]}, {out[0]}};
  }
  /// Accepts any extents of a and b.
  [[nodiscard]] static std::vector<Shape> output_shapes(std::vector<Shape> const& input, Parameters const&) {
    return {{input[1][0], input[0][0]}};
  }

  template <class T>
  [[nodiscard]] static T element(Draw const& draw, Parameters const&) {
    return drawn<T>(draw);
  }

  [[nodiscard]] static Work work(std::vector<Shape> const& input, Parameters const&, DType dtype) {
    double const cols = static_cast<double>(input[0][0]);
    double const rows = static_cast<double>(input[1][0]);
    return {.bytes = (rows * cols + rows + cols) * static_cast<double>(size_of(dtype)), .flops = rows * cols};
  }

  /// One addition.
  [[nodiscard]] static double rounding_steps(std::vector<Shape> const&, Parameters const&) { return 1; }

  /// How several ranks share the input.
  [[nodiscard]] static std::vector<Split> input_split(Parameters const&) { return {Split::whole, Split::rows}; }
  [[nodiscard]] static std::vector<Split> output_split(Parameters const&) { return {Split::rows}; }
  static constexpr bool rows_apart = true;

  template <class T>
  [[nodiscard]] static std::vector<ExpectedField> reference(Input<T, Kokkos::HostSpace> const& input);
};

/// Adds a pair of elements, in every variant; integers wrap.
template <class T>
using Add = collective::Sum<T>;

}  // namespace tessera::broadcast_add
