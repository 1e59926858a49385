#pragma once
/// \file
/// The reference of formulas that use one element of each array, with one operation.

#include <cstddef>
#include <utility>
#include <vector>

#include <tessera/core/types.hpp>
#include <tessera/verify/wide.hpp>

namespace tessera::verify {

/// Returns the field `out` of the shape of `a`: out[i] = f(a[i], others[i] ...), for arrays in C order.
///
/// f gets and returns numbers of the wide type. It is one addition, which IEEE 754 rounds in exactly one way: nothing
/// may differ, and there is no scale. A float sum equals the sum in double rounded to float (2 * 24 + 2 bits suffice:
/// Figueroa, When is double rounding innocuous?, 1995); a double sum is the sum itself.
template <class F, class A, class... Others>
[[nodiscard]] std::vector<ExpectedField> elementwise(F const& f, A const& a, Others const&... others) {
  ExpectedField out{.name = "out", .shape = {}, .value = std::vector<double>(a.size()), .scale = {}};
  for (std::size_t d = 0; d < A::rank(); ++d) out.shape.push_back(a.extent(d));
  for (std::size_t i = 0; i < a.size(); ++i) out.value[i] = stored(f(wide(a.data()[i]), wide(others.data()[i])...));
  return list_of(std::move(out));
}

}  // namespace tessera::verify
