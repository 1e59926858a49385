#pragma once
/// \file
/// The common part of Problems that map an input array `in` [n] to an output array `out` [n] of the same length.

#include <array>
#include <cstddef>
#include <string_view>
#include <tuple>
#include <vector>

#include <tessera/core/random.hpp>
#include <tessera/core/single_array.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>

namespace tessera {

/// Base class of these Problems. A Problem whose input has another name declares its own Input.
template <class ProblemParameters>
struct ArrayProblem {
  using Parameters = ProblemParameters;

  /// in [n].
  template <class T, class Memory>
  struct Input {
    Array<T const*, Memory> in;
    Parameters parameters;

    static constexpr std::array<std::string_view, 1> names{"in"};
    static auto fields(auto& self) { return std::tie(self.in); }
  };

  /// out [n].
  template <class T, class Memory>
  using Output = SingleOutput<T*, Memory>;

  [[nodiscard]] static std::vector<Shape> input_shapes(std::size_t size, Parameters const&) { return {{size}}; }
  [[nodiscard]] static std::vector<Shape> output_shapes(std::vector<Shape> const& input, Parameters const&) {
    return {input[0]};
  }

  template <class T>
  [[nodiscard]] static T element(Draw const& draw, Parameters const&) {
    return drawn<T>(draw);
  }
};

}  // namespace tessera
