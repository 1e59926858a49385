#pragma once
/// \file
/// softmax: y = exp(x - max) / sum exp(x - max), over all elements of a matrix, over each row or over each column.

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <tessera/core/info.hpp>
#include <tessera/core/matrix_shape.hpp>
#include <tessera/core/parameters.hpp>
#include <tessera/core/random.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>
#include <tessera/ranks/part.hpp>

namespace tessera::softmax {

/// The groups whose results add up to 1: all elements, each row, or each column.
enum class Axis : std::uint8_t { all, rows, cols };

struct Softmax {
  static constexpr AppInfo info{.name = "softmax",
                                .summary = "y = exp(x - max) / sum exp(x - max)",
                                .traffic = {.pattern = Traffic::Pattern::merged, .launches = 2, .word_bytes = 8}};

  struct Parameters {
    Axis axis = Axis::all;
    std::int64_t rows = 0;
    std::int64_t team = 0;

    [[nodiscard]] static MemberSpecs<Parameters> specs() {
      return {{&Parameters::axis,
               {.name = "axis", .help = "what sums up to 1: all elements, each row (rows) or each column (cols)"},
               {{"all", Axis::all}, {"rows", Axis::rows}, {"cols", Axis::cols}}},
              {&Parameters::rows,
               rows_parameter(
                   "rows of the generated matrix, which has --size / rows columns; 0: 1 with --axis all, else about "
                   "square")},
              {&Parameters::team, team_parameter()}};
    }
  };

  /// x [rows, cols]; a vector [n] in a file is one row.
  template <class T, class Memory>
  struct Input {
    Array<T const**, Memory> x;
    Parameters parameters;

    static constexpr bool vector_as_row = true;
    static constexpr std::array<std::string_view, 1> names{"x"};
    static auto fields(auto& self) { return std::tie(self.x); }
  };

  /// y [rows, cols].
  template <class T, class Memory>
  struct Output {
    Array<T**, Memory> y;

    static constexpr bool vector_as_row = true;
    static constexpr std::array<std::string_view, 1> names{"y"};
    static auto fields(auto& self) { return std::tie(self.y); }
  };

  [[nodiscard]] static std::vector<Shape> input_shapes(std::size_t size, Parameters const& parameters) {
    bool const one_row = parameters.axis == Axis::all && parameters.rows == 0;
    return {matrix_shape(size, one_row ? 1 : parameters.rows)};
  }
  [[nodiscard]] static std::vector<Shape> output_shapes(std::vector<Shape> const& input, Parameters const&) {
    return {input[0]};
  }

  static constexpr std::array data = data_kinds;
  static constexpr int reference_doubles = 3;
  static constexpr int exact_reference_doubles = 2;
  static constexpr bool own_parts = true;

  /// Random: in [-8, 8), because e^-16 is far below a rounding error of 1, and far above the smallest number. Exact: in
  /// each block of a group one element is 0, and the other elements are so low that rounding absorbs all their
  /// exponentials when they are added to a single 1 (the reference proves it). A sum is then the number of zeros, in
  /// any order.
  template <class T>
  [[nodiscard]] static T element(Draw const& draw, Parameters const& parameters) {
    if (draw.data == DataKind::random) return T(8) * drawn<T>(draw);
    if (draw.data == DataKind::adversarial) return drawn<T>(draw);
    std::size_t const cols = draw.shapes->at(0)[1];
    std::uint64_t line = 0;
    std::uint64_t position = draw.index;
    if (parameters.axis != Axis::all) {
      line = draw.index / cols;
      position = draw.index % cols;
      if (parameters.axis == Axis::cols) std::swap(line, position);
    }
    // One element of 4, or fewer, so that a float can count the zeros.
    Sparsity const zeros{std::max<std::uint64_t>(4, std::bit_ceil(draw.terms) >> 23), 1};
    if (zeros.counts(draw.seed, draw.field, line, position)) return T(0);
    // A 1 absorbs a total of 2^-digits; another 2^-24 leaves room for the errors of this total.
    double const low =
        std::log(static_cast<double>(draw.terms)) + (std::numeric_limits<T>::digits + 25) * std::log(2.0);
    return static_cast<T>(-std::ceil(low)) - T(4) * (T(1) + random_value<T>(draw.seed, draw.field, draw.index));
  }

  /// Returns the number of terms of a sum: the elements of a group.
  [[nodiscard]] static std::uint64_t terms(std::vector<Shape> const& input, Parameters const& parameters) {
    Shape const& x = input[0];
    return parameters.axis == Axis::all ? count_of(x) : x[parameters.axis == Axis::rows ? 1 : 0];
  }

  /// Per element: a comparison, a subtraction, an exponential (counted as one operation), an addition and a product.
  [[nodiscard]] static Work work(std::vector<Shape> const& input, Parameters const&, DType dtype) {
    double const n = static_cast<double>(count_of(input[0]));
    return {.bytes = 2 * n * static_cast<double>(size_of(dtype)), .flops = 5 * n};
  }

  /// Assumes the worst order: a group's exponentials are added one after the other.
  [[nodiscard]] static double rounding_steps(std::vector<Shape> const& input, Parameters const& parameters) {
    return static_cast<double>(terms(input, parameters));
  }

  /// How several ranks share the input.
  [[nodiscard]] static std::vector<Split> input_split(Parameters const&) { return {Split::rows}; }
  [[nodiscard]] static std::vector<Split> output_split(Parameters const&) { return {Split::rows}; }

  template <class T>
  [[nodiscard]] static std::vector<ExpectedField> reference_of_part(Input<T, Kokkos::HostSpace> const& input,
                                                                    ranks::Part const& part);

  template <class T>
  [[nodiscard]] static std::vector<ExpectedField> reference(Input<T, Kokkos::HostSpace> const& input);
};

/// Returns the matrix whose rows or columns are the groups; with axis `all` it has one row.
template <class V>
[[nodiscard]] auto groups_of(V const& matrix, Softmax::Parameters const& parameters) {
  bool const one = parameters.axis == Axis::all;
  return Kokkos::View<typename V::data_type, typename V::array_layout, typename V::memory_space,
                      Kokkos::MemoryTraits<Kokkos::Unmanaged>>(matrix.data(), one ? 1 : matrix.extent(0),
                                                               one ? matrix.size() : matrix.extent(1));
}

/// Throws Skip if the variant is not for the groups of this case: for any but `axes`.
inline void needs_axis(Softmax::Parameters const& parameters, std::initializer_list<Axis> axes,
                       std::string_view variant) {
  std::string names;
  for (Axis const axis : axes) {
    if (axis == parameters.axis) return;
    names += (names.empty() ? "" : " and ") + std::string(axis == Axis::all    ? "all"
                                                          : axis == Axis::rows ? "rows"
                                                                               : "cols");
  }
  throw Skip(std::string(variant) + " is for --axis " + names);
}

}  // namespace tessera::softmax
