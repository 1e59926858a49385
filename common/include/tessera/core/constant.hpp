#pragma once
/// \file
/// For a scalar parameter that becomes an element: whether int32 can hold it. That floating dtypes can is checked for all
/// real parameters (detail::check_reals in table/untyped.hpp).

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include <tessera/core/info.hpp>
#include <tessera/core/types.hpp>

namespace tessera {

/// Throws UserError if the dtype is int32 and `value` is no such integer: nothing converts silently.
inline void check_constant(std::string const& name, double value, DType dtype) {
  using Limits = std::numeric_limits<std::int32_t>;
  if (dtype == DType::int32 && !(value == std::floor(value) && value >= Limits::min() && value <= Limits::max())) {
    throw UserError(name + " = " + shortest_text(value) +
                    " does not fit (the run's dtype is int32); use an integer of 32 bits");
  }
}

}  // namespace tessera
