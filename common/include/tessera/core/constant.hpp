#pragma once
/// \file
/// A scalar parameter that becomes an element: does the run's dtype have it?

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include <tessera/core/types.hpp>

namespace tessera {

/// Throws UserError if the dtype cannot hold `value`: nothing converts silently. A floating-point dtype may round it.
inline void check_constant(std::string const& name, double value, DType dtype) {
  using Limits = std::numeric_limits<std::int32_t>;
  if (dtype == DType::int32 && !(value == std::floor(value) && value >= Limits::min() && value <= Limits::max())) {
    throw UserError(name + " = " + std::to_string(value) +
                    " does not fit (the run's dtype is int32); use an integer of 32 bits");
  }
  if (dtype == DType::float32 && std::abs(value) > static_cast<double>(std::numeric_limits<float>::max())) {
    throw UserError(name + " = " + std::to_string(value) +
                    " does not fit (the run's dtype is float); use a smaller one, or double");
  }
}

}  // namespace tessera
