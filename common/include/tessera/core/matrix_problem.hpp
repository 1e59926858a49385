#pragma once
/// \file
/// From a matrix to a matrix: what Problems with an input `a` [rows, cols] have in common.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include <tessera/core/matrix_shape.hpp>
#include <tessera/core/random.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>

namespace tessera {

/// The base of such a Problem, with a parameter `rows` of the generated input. The Problem itself has output_shapes,
/// and, if its output is no matrix, an Output of its own.
template <class ProblemParameters>
struct MatrixProblem {
  using Parameters = ProblemParameters;

  /// a [rows, cols].
  template <class T, class Memory>
  struct Input {
    Array<T const**, Memory> a;
    Parameters parameters;

    static constexpr std::array<std::string_view, 1> names{"a"};
    static auto fields(auto& self) { return std::tie(self.a); }
  };

  /// out, a matrix.
  template <class T, class Memory>
  struct Output {
    Array<T**, Memory> out;

    static constexpr std::array<std::string_view, 1> names{"out"};
    static auto fields(auto& self) { return std::tie(self.out); }
  };

  [[nodiscard]] static std::vector<Shape> input_shapes(std::size_t size, Parameters const& parameters) {
    return {matrix_shape(size, parameters.rows)};
  }

  template <class T>
  [[nodiscard]] static T element(Draw const& draw, Parameters const&) {
    return drawn<T>(draw);
  }
};

}  // namespace tessera
