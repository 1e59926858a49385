/// \file
/// Shapes of conv2d, and the work for them.

#include <algorithm>
#include <vector>

#include "problem.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::conv2d {

namespace {

/// Returns the number of pairs of an element and a tap, along one direction, that do not lie beyond the edge:
/// n + (n - 1) + ... with min(n, taps) terms.
double pairs(std::size_t n, std::size_t taps) {
  auto const terms = static_cast<double>(std::min(n, taps));
  return terms * static_cast<double>(n) - terms * (terms - 1) / 2;
}

}  // namespace

std::vector<Shape> Conv2d::output_shapes(std::vector<Shape> const& input, Parameters const&) {
  if (count_of(input[1]) == 0) {
    throw UserError("k " + to_string(input[1]) + " has no elements (in is " + to_string(input[0]) +
                    ", and out would be a sum of nothing); give k at least one row and one column");
  }
  return {input[0]};
}

Work Conv2d::work(std::vector<Shape> const& input, Parameters const&, DType dtype) {
  auto const elements = static_cast<double>(2 * count_of(input[0]) + count_of(input[1]));
  return {.bytes = elements * static_cast<double>(size_of(dtype)),
          .flops = 2 * pairs(input[0][0], input[1][0]) * pairs(input[0][1], input[1][1])};
}

double Conv2d::rounding_steps(std::vector<Shape> const& input, Parameters const&) {
  return static_cast<double>(std::min(input[0][0], input[1][0])) *
         static_cast<double>(std::min(input[0][1], input[1][1]));
}

}  // namespace tessera::conv2d
