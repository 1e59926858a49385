#pragma once
/// \file
/// Computes from --size the extents of normalised rows and a linear layer on them, for all mini-apps on x [rows,
/// hidden] and w [outputs, hidden].

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include <tessera/core/info.hpp>
#include <tessera/core/matrix_shape.hpp>
#include <tessera/core/parameters.hpp>
#include <tessera/core/random.hpp>
#include <tessera/core/types.hpp>

namespace tessera {

/// Extents of a layer: x [rows, hidden], w [outputs, hidden].
struct LinearLayer {
  std::int64_t rows = 0;
  std::int64_t hidden = 0;
  std::int64_t outputs = 0;
  double eps = 1e-5;
  std::int64_t team = 0;

  [[nodiscard]] static MemberSpecs<LinearLayer> specs() {
    std::string const from_size = "; 0: from --size = rows * hidden * outputs multiply-adds";
    return {{&LinearLayer::rows, rows_parameter("rows of the generated x" + from_size)},
            {&LinearLayer::hidden,
             extent_parameter("hidden",
                              "columns of the generated x and w, over which each row of x is normalised" + from_size)},
            {&LinearLayer::outputs, extent_parameter("outputs", "rows of the generated w" + from_size)},
            {&LinearLayer::eps, eps_parameter()},
            {&LinearLayer::team, team_parameter()}};
  }

  /// Throws UserError if eps is not positive.
  void check() const {
    if (!(eps > 0 && std::isfinite(eps))) {
      throw UserError(
          "--eps " + shortest_text(eps) +
          " is not above zero (it keeps 1 / sqrt(0 + eps) finite); give a small positive number, such as 1e-5");
    }
  }

  /// Returns the extents for a size. The size is first divided by the given extents; the other extents share the
  /// quotient. hidden is the largest power of two that is not above its root (the cube root if no extent is given),
  /// outputs the root of the remaining quotient, and rows the remainder. If the size is 0, rows is 0.
  ///
  /// Example: 2^11 -> 16 rows, 8 hidden, 16 outputs; 2^36 -> 4096 of each.
  [[nodiscard]] LinearLayer of_size(std::size_t size) const {
    OpenExtents open = open_extents(std::max<std::size_t>(1, size), {rows, hidden, outputs});
    LinearLayer layer = *this;
    auto const choose = [&](std::int64_t& extent, bool power) {
      if (extent != 0) return;
      std::size_t const root = root_of(open.product, open.count);
      std::size_t const chosen = power ? std::bit_floor(root) : root;
      extent = static_cast<std::int64_t>(chosen);
      open.product /= chosen;
      --open.count;
    };
    choose(layer.hidden, open.count > 1);
    choose(layer.outputs, false);
    choose(layer.rows, false);
    if (size == 0) layer.rows = 0;
    return layer;
  }

  [[nodiscard]] Shape x_shape() const { return {static_cast<std::size_t>(rows), static_cast<std::size_t>(hidden)}; }
  [[nodiscard]] Shape w_shape() const { return {static_cast<std::size_t>(outputs), static_cast<std::size_t>(hidden)}; }
  [[nodiscard]] Shape y_shape() const { return {static_cast<std::size_t>(rows), static_cast<std::size_t>(outputs)}; }
};

/// Throws UserError for integers, and if eps is not a normal number of the arithmetic type.
inline void needs_dtype(LinearLayer const& layer, DType dtype) {
  if (dtype == DType::int32) {
    throw UserError("dtype int32 (normalised rows are not integers); choose float or double");
  }
  if (arithmetic_of(dtype) == DType::float32 && layer.eps < static_cast<double>(std::numeric_limits<float>::min())) {
    throw UserError(
        "--eps " + shortest_text(layer.eps) +
        " is below a float's normal range (it keeps 1 / sqrt(0 + eps) finite); give a larger number, such as 1e-5, or "
        "choose double");
  }
}

/// Throws UserError, naming the shapes, if the shape `found` of the field `name` is not `wanted`. In the message,
/// `others` (fields with their shapes) and `why` explain where `wanted` comes from.
inline void needs_shape(std::string const& name, Shape const& found, Shape const& wanted, std::string const& others,
                        std::string const& why) {
  if (found == wanted) return;
  throw UserError(name + " has shape " + to_string(found) + " and " + others + " (" + why + "); give " + name +
                  " the shape " + to_string(wanted));
}

/// Throws UserError if rows of x have no elements, or if the extents of w, gamma or beta do not match the extents of x.
inline void needs_layer(Shape const& x, Shape const& gamma, Shape const& beta, Shape const& w) {
  if (x[1] == 0) {
    throw UserError("x has shape " + to_string(x) +
                    " (a row without elements has no mean); give x at least one column");
  }
  if (w[1] != x[1]) {
    throw UserError("x has shape " + to_string(x) + " and w " + to_string(w) +
                    " (a row of x is multiplied by a row of w); give w as many columns as x has");
  }
  needs_shape("gamma", gamma, {x[1]}, "x " + to_string(x), "one for each column of x");
  needs_shape("beta", beta, {x[1]}, "x " + to_string(x), "one for each column of x");
}

/// Base class of Problems whose first fields are x and gamma.
struct LinearLayerProblem {
  /// Extents of the generated input, eps, team.
  using Parameters = LinearLayer;
  /// Throws UserError for integers, and if the dtype cannot hold eps.
  static void check(Parameters const& parameters, DType dtype) { needs_dtype(parameters, dtype); }

  /// There are no exact data, because normalising a row takes roots and quotients.
  static constexpr std::array data{DataKind::random, DataKind::adversarial};

  /// Returns an element: rows with a mean of 2, gamma near 1, and a bias or gradients of 9 bits that are never 0.
  template <class T>
  [[nodiscard]] static T element(Draw const& draw, auto const&) {
    T const value = drawn<T>(draw);
    if (draw.data != DataKind::random) return value;
    if (draw.field == 0) return T(2) + value;
    // The bias or the gradients: sums over rows are exact. Signs are random: a number and its opposite are equally
    // likely.
    if (draw.field == 4) return (2 * whole_value<T>(draw, 8) + 1) / T(256);
    if (draw.field == 1) return T(1) + value / T(2);
    return value;
  }
};

}  // namespace tessera
