#pragma once
/// \file
/// Compares a variant's output with the reference, element by element, against the bound that error analysis gives.
///
/// With u = unit_roundoff(dtype), an element with reference value v, scale s and offset o passes when
///
///     !(|actual - v| <= expm1(steps * u) * s + o + steps * denorm_min + ulp(v) / 2)   is false.
///
/// expm1(steps * u) * s bounds the product of `steps` roundings, (1 + u)^steps - 1, times the magnitudes that enter (N.
/// Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 3.1); a result that falls below the normal
/// range loses at most denorm_min a step instead; and half an ulp is there because v itself, which is wider than the
/// dtype, has no exact counterpart in it. The offset is the part of the error that no order of operations changes.
///
/// - Exact comparison (integers; or no offset, and scale empty or 0 or no rounding_steps): `actual` must equal v rounded
///   to the dtype; +0 equals -0.
/// - NaN needs NaN, an infinity needs the same infinity.
/// - Where v is so large that rounding may overflow within the bound, infinity is right as well as a finite value
///   within the bound.
/// - A scale or offset of infinity says that nothing is known: the element is counted as unchecked, whatever it holds.

#include <cstddef>
#include <limits>
#include <string>

#include <tessera/core/types.hpp>

namespace tessera {

struct Verdict {
  bool passed = false;
  std::size_t count = 0;      ///< elements compared, with the unchecked ones
  std::size_t wrong = 0;      ///< elements outside their bound
  std::size_t unchecked = 0;  ///< elements that the reference says nothing about
  std::size_t first_wrong = 0;
  double expected = 0;  ///< at first_wrong
  double actual = 0;    ///< at first_wrong
  double worst = 0;     ///< largest error in units of its bound: 0 if all are exact, infinity where the bound is 0
  std::size_t worst_index = 0;
  std::string message;  ///< empty when passed, else one line
};

/// For a row that writes a field to its end.
inline constexpr std::size_t all_elements = std::numeric_limits<std::size_t>::max();

/// Compares `actual` with the reference. A name, shape or size that differs is a failed verdict with a message.
/// `rounding_steps` is the longest chain of roundings that leads to an element in the variant. Of a field of which a row
/// writes only the first `written` elements these are compared, and those after them must hold `poison_value` still.
[[nodiscard]] Verdict verify(ExpectedField const& expected, HostField const& actual, double rounding_steps,
                             std::size_t written = all_elements);

/// Compares `actual` with values from a file, which were rounded to the dtype when they were stored: the bound grows by
/// one more half ulp. Only the bounds of `scale` are used. `written` as above; what follows is not looked at.
[[nodiscard]] Verdict verify_against_file(HostField const& file_expected, ExpectedField const& scale,
                                          HostField const& actual, double rounding_steps,
                                          std::size_t written = all_elements);

/// True if dtype, shape and every bit agree (so -0 differs from +0 and NaN equals the same NaN). Names may differ.
[[nodiscard]] bool same_bits(HostField const& a, HostField const& b);

}  // namespace tessera
