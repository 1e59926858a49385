#pragma once
/// \file
/// The common part of Problems that add a constant to each element: out = a + c.

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <tessera/core/info.hpp>
#include <tessera/core/per_element.hpp>
#include <tessera/core/types.hpp>

namespace tessera {

/// Base class of these Problems, whose Parameters have the member `c`. One addition per element.
struct ConstantProblem : PerElement<2, 1> {
  static constexpr bool short_floats = true;
  static constexpr std::array data = data_kinds;
  static constexpr int reference_doubles = 1;

  /// Throws UserError if the dtype is int32 and c is not an int32 number. Nothing converts silently.
  /// detail::check_reals (table/untyped.hpp) makes the corresponding check for floating dtypes, for all real parameters.
  static void check(auto const& parameters, DType dtype) {
    using Limits = std::numeric_limits<std::int32_t>;
    double const c = parameters.c;
    if (dtype == DType::int32 && !(c == std::floor(c) && c >= Limits::min() && c <= Limits::max())) {
      throw UserError("c = " + shortest_text(c) +
                      " does not fit (the run's dtype is int32); use an integer of 32 bits");
    }
  }

  /// How several ranks share the input.
  [[nodiscard]] static std::vector<Split> input_split(auto const&) { return {Split::rows}; }
  [[nodiscard]] static std::vector<Split> output_split(auto const&) { return {Split::rows}; }
  static constexpr bool rows_apart = true;
};

}  // namespace tessera
