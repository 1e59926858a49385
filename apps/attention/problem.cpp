/// \file
/// Shapes and elements of attention.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "problem.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::attention {

std::vector<Shape> Attention::input_shapes(std::size_t size, Parameters const& parameters) {
  std::size_t const dim =
      parameters.dim > 0 ? static_cast<std::size_t>(parameters.dim) : std::min<std::size_t>(64, size);
  std::size_t const queries = parameters.queries > 0 ? static_cast<std::size_t>(parameters.queries) : 8;
  if (dim > size && size > 0) {
    throw UserError("--dim " + std::to_string(dim) + " is more than --size " + std::to_string(size) +
                    " (a key has dim elements); choose a smaller dim or a larger size");
  }
  std::size_t const keys = dim > 0 ? size / dim : 0;
  return {{size > 0 ? queries : 0, dim}, {keys, dim}, {keys, dim}};
}

std::vector<Shape> Attention::output_shapes(std::vector<Shape> const& input, Parameters const&) {
  Shape const& q = input[0];
  Shape const& k = input[1];
  Shape const& v = input[2];
  if (q[1] != k[1]) {
    throw UserError("q has shape " + to_string(q) + " and k " + to_string(k) +
                    " (a row of q is multiplied by a row of k); give both the same number of columns");
  }
  if (k != v) {
    throw UserError("k has shape " + to_string(k) + " and v " + to_string(v) +
                    " (every key has a value); give them the same shape");
  }
  return {q};
}

template <class T>
T Attention::element(Draw const& draw, Parameters const& parameters) {
  T const random = drawn<T>(draw);
  if (draw.data == DataKind::adversarial) return random;
  if (draw.data == DataKind::random) return draw.field == 1 ? random / 2 : random;
  // Keys have classes; each run of `classes` neighbours has one key of each class. An exact query selects one class.
  Shape const& q = draw.shapes->at(0);
  std::size_t const keys = draw.shapes->at(1)[0];
  std::size_t const dim = q[1];
  std::size_t const exact_queries = (q[0] + 1) / 2;
  std::size_t const classes = std::bit_floor(std::clamp<std::size_t>(std::min(exact_queries, dim / 2), 1, 4));
  // After one column per class come pairs of columns with equal keys, so that opposite elements of a query cancel.
  std::size_t const pairs = (dim - classes) / 2;
  std::size_t const row = draw.index / dim;
  std::size_t const col = draw.index % dim;
  bool const paired = col >= classes && col < classes + 2 * pairs;
  bool const second = paired && col >= classes + pairs;
  Draw first = draw;
  if (second) first.index -= pairs;
  if (draw.field == 0) {
    if (row % 2 != 0) return random;
    if (!paired) {
      double const weight = 256 / std::clamp(std::abs(parameters.scale), 0x1p-20, 1.0);
      bool const own = col == row / 2 % classes;
      return own && col < classes ? static_cast<T>(parameters.scale < 0 ? -weight : weight) : T(0);
    }
    T const value = whole_value<T>(first, 4) / 8;
    return second ? -value : value;
  }
  if (draw.field == 1) {
    if (col >= classes) return whole_value<T>(first, 4) / 16;
    std::uint64_t const turn = random_bits(draw.seed, 7, row / classes);
    return (row + turn) % classes == col ? T(0) : T(-0.5);
  }
  // Values are so small that a float holds their sum over a class of keys.
  std::uint64_t const most = (std::uint64_t{1} << 22) / std::bit_ceil(std::max<std::size_t>(1, keys / classes));
  std::uint64_t const values = std::clamp<std::uint64_t>(most, 4, 64);
  return static_cast<T>(1 + (random_bits(draw.seed, draw.field, draw.index) >> 32) % values) / 8;
}

template float Attention::element(Draw const&, Parameters const&);
template double Attention::element(Draw const&, Parameters const&);
template std::int32_t Attention::element(Draw const&, Parameters const&);

}  // namespace tessera::attention
