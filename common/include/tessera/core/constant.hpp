#pragma once
/// \file
/// Checks whether int32 can hold a scalar parameter that becomes an element. detail::check_reals (table/untyped.hpp)
/// makes the corresponding check for floating dtypes, for all real parameters.

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include <tessera/core/info.hpp>
#include <tessera/core/types.hpp>

namespace tessera {

/// Throws UserError if the dtype is int32 and `value` is not an int32 number. Nothing converts silently.
inline void check_constant(std::string const& name, double value, DType dtype) {
  using Limits = std::numeric_limits<std::int32_t>;
  if (dtype == DType::int32 && !(value == std::floor(value) && value >= Limits::min() && value <= Limits::max())) {
    throw UserError(name + " = " + shortest_text(value) +
                    " does not fit (the run's dtype is int32); use an integer of 32 bits");
  }
}

}  // namespace tessera
