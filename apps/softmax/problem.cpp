/// \file
/// Elements of softmax and their chain of roundings.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "problem.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::softmax {

double Softmax::rounding_steps(std::vector<Shape> const& input, Parameters const& parameters) {
  switch (parameters.axis) {
    case Axis::rows: return static_cast<double>(input[0][1]);
    case Axis::cols: return static_cast<double>(input[0][0]);
    case Axis::all: break;
  }
  return static_cast<double>(count_of(input[0]));
}

template <class T>
T Softmax::element(Draw const& draw, Parameters const& parameters) {
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
  double const low = std::log(static_cast<double>(draw.terms)) + (std::numeric_limits<T>::digits + 25) * std::log(2.0);
  return static_cast<T>(-std::ceil(low)) - T(4) * (T(1) + random_value<T>(draw.seed, draw.field, draw.index));
}

template float Softmax::element(Draw const&, Parameters const&);
template double Softmax::element(Draw const&, Parameters const&);
template std::int32_t Softmax::element(Draw const&, Parameters const&);

}  // namespace tessera::softmax
