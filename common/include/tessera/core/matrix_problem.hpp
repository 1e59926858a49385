#pragma once
/// \file
/// The common part of Problems that map an input matrix `a` [rows, cols] to an output matrix.

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

/// Base class of these Problems, with a parameter `rows` of the generated input. The Problem itself defines
/// output_shapes, and its own Output if the output is not a matrix.
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
