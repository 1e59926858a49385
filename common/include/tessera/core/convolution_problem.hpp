#pragma once
/// \file
/// The common part of Problems whose outputs are sums of products of neighbours with taps: out[i] = sum_j in[i + j] *
/// k[j], for elements inside `in`.

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include <tessera/core/info.hpp>
#include <tessera/core/random.hpp>
#include <tessera/core/shared_by_rows.hpp>
#include <tessera/core/types.hpp>

namespace tessera {

/// Base class of these Problems. The first input field is the array, the second is `k` with as many dimensions; the
/// output has the shape of the first.
struct ConvolutionProblem : SharedByRows<Split::rows, Split::whole> {
  static constexpr std::array data = data_kinds;
  static constexpr int exact_reference_doubles = 1;

  /// Throws UserError if k has no elements.
  [[nodiscard]] static std::vector<Shape> output_shapes(std::vector<Shape> const& input, auto const&) {
    if (count_of(input[1]) == 0) {
      throw UserError("k has shape " + to_string(input[1]) + " and the array " + to_string(input[0]) +
                      " (out would be a sum of nothing); give k at least one element");
    }
    return {input[0]};
  }

  /// Exact: positive whole numbers, up to 16 in k.
  template <class T>
  [[nodiscard]] static T element(Draw const& draw, auto const&) {
    if (draw.data != DataKind::exact) return drawn<T>(draw);
    if (draw.field == 1) return static_cast<T>(Sparsity{1, 16}.dense(draw.seed, draw.field, 0, draw.index));
    return static_cast<T>(Sparsity::of(draw.terms, 16).value(draw.seed, draw.field, 0, draw.index));
  }

  /// A multiplication and an addition per product. Products beyond the edges do not count: along one direction there
  /// are n + (n - 1) + ... pairs of an element and a tap, with min(n, taps) terms.
  [[nodiscard]] static Work work(std::vector<Shape> const& input, auto const&, DType dtype) {
    auto const elements = static_cast<double>(2 * count_of(input[0]) + count_of(input[1]));
    double products = 1;
    for (std::size_t d = 0; d < input[0].size(); ++d) {
      auto const terms = static_cast<double>(std::min(input[0][d], input[1][d]));
      products *= terms * static_cast<double>(input[0][d]) - terms * (terms - 1) / 2;
    }
    return {.bytes = elements * static_cast<double>(size_of(dtype)), .flops = 2 * products};
  }
};

}  // namespace tessera
