#pragma once
/// \file
/// The common part of Problems that map an input matrix `a` [rows, cols] to an output matrix.

#include <cstddef>
#include <cstdint>
#include <vector>

#include <tessera/core/matrix_shape.hpp>
#include <tessera/core/parameters.hpp>
#include <tessera/core/random.hpp>
#include <tessera/core/single_array.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>

namespace tessera {

/// Parameters of Problems whose variants may work in teams.
struct MatrixParameters {
  std::int64_t rows = 0;
  std::int64_t team = 0;

  [[nodiscard]] static MemberSpecs<MatrixParameters> specs() {
    return {{&MatrixParameters::rows, rows_parameter()}, {&MatrixParameters::team, team_parameter()}};
  }
};

/// Base class of these Problems, with a parameter `rows` of the generated input. The Problem itself defines
/// output_shapes, and its own Output if the output is not a matrix.
template <class ProblemParameters>
struct MatrixProblem {
  using Parameters = ProblemParameters;

  /// a [rows, cols].
  template <class T, class Memory>
  using Input = SingleInput<T const**, Memory, Parameters>;

  /// out, a matrix.
  template <class T, class Memory>
  using Output = SingleOutput<T**, Memory>;

  [[nodiscard]] static std::vector<Shape> input_shapes(std::size_t size, Parameters const& parameters) {
    return {matrix_shape(size, parameters.rows)};
  }

  template <class T>
  [[nodiscard]] static T element(Draw const& draw, Parameters const&) {
    return drawn<T>(draw);
  }
};

}  // namespace tessera
