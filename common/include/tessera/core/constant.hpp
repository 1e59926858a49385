#pragma once
/// \file
/// For a scalar parameter that becomes an element: whether the run's dtype can hold it.

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
  double const most = dtype == DType::float32    ? static_cast<double>(std::numeric_limits<float>::max())
                      : dtype == DType::float16  ? static_cast<double>(std::numeric_limits<Half>::max())
                      : dtype == DType::bfloat16 ? static_cast<double>(std::numeric_limits<BFloat16>::max())
                                                 : std::numeric_limits<double>::infinity();
  if (std::abs(value) > most) {
    throw UserError(name + " = " + std::to_string(value) + " does not fit (the run's dtype is " +
                    std::string(name_of(dtype)) + "); use a smaller one, or " +
                    (dtype == DType::float16 ? "another dtype" : "double"));
  }
}

}  // namespace tessera
