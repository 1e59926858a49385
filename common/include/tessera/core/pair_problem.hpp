#pragma once
/// \file
/// The common part of Problems with two input arrays `a` [n] and `b` [n] of the same length.

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <tessera/core/random.hpp>
#include <tessera/core/single_array.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>

namespace tessera {

/// Base class of these Problems. A Problem whose output is not an array of that length declares its own Output and
/// output_shapes.
template <class ProblemParameters>
struct PairProblem {
  using Parameters = ProblemParameters;

  /// a [n], b [n].
  template <class T, class Memory>
  struct Input {
    Array<T const*, Memory> a;
    Array<T const*, Memory> b;
    Parameters parameters;

    static constexpr std::array<std::string_view, 2> names{"a", "b"};
    static auto fields(auto& self) { return std::tie(self.a, self.b); }
  };

  /// out [n].
  template <class T, class Memory>
  using Output = SingleOutput<T*, Memory>;

  [[nodiscard]] static std::vector<Shape> input_shapes(std::size_t size, Parameters const&) { return {{size}, {size}}; }
  [[nodiscard]] static std::vector<Shape> output_shapes(std::vector<Shape> const& input, Parameters const&) {
    needs_equal_lengths(input, "each element of a goes with one of b");
    return {input[0]};
  }

  template <class T>
  [[nodiscard]] static T element(Draw const& draw, Parameters const&) {
    return drawn<T>(draw);
  }

 protected:
  /// Throws UserError, naming both shapes, if a and b differ in length. `why` is the reason that the message gives.
  static void needs_equal_lengths(std::vector<Shape> const& input, std::string const& why) {
    if (input[0] == input[1]) return;
    throw UserError("a has shape " + to_string(input[0]) + " and b " + to_string(input[1]) + " (" + why +
                    "); make them equally long");
  }
};

}  // namespace tessera
