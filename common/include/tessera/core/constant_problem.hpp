#pragma once
/// \file
/// The common part of Problems that add a constant to each element: out = a + c.

#include <cmath>
#include <cstdint>
#include <limits>

#include <tessera/core/info.hpp>
#include <tessera/core/per_element.hpp>
#include <tessera/core/types.hpp>

namespace tessera {

/// Base class of these Problems, whose Parameters have the member `c`. One addition per element.
struct ConstantProblem : ElementwiseProblem<2, 1> {
  /// Throws UserError if the dtype is int32 and c is not an int32 number. Nothing converts silently.
  /// detail::check_reals (table/untyped.hpp) makes the same check for floating dtypes, for all real parameters.
  static void check(auto const& parameters, DType dtype) {
    using Limits = std::numeric_limits<std::int32_t>;
    double const c = parameters.c;
    if (dtype == DType::int32 && !(c == std::floor(c) && c >= Limits::min() && c <= Limits::max())) {
      throw UserError("c = " + shortest_text(c) +
                      " does not fit (the run's dtype is int32); use an integer of 32 bits");
    }
  }
};

}  // namespace tessera
