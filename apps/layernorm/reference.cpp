/// \file
/// The serial oracle of layernorm: row by row in long double, by two sweeps.
///
/// Error bound. With g = (1 + u)^s - 1, s the variant's longest chain of roundings from a row's sum to an element of y:
///
///     |error of xhat| <= g X                                  (verify/normalised_rows.hpp)
///     |error of y|    <= g L,   L = |gamma| (X + |xhat|) + |beta|
///
/// A product that underflows loses a denormal: added to L, in units of u. Nothing can be asked of an element (scale
/// infinity) that may pass the dtype's range, whose row is not known, or that has an infinite gamma times a number whose
/// sign is not known. Of half and bfloat16 all that is float's, and y is rounded to the dtype once, when it is stored.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "problem.hpp"

#include <tessera/core/host_threads.hpp>
#include <tessera/verify/normalised_rows.hpp>
#include <tessera/verify/product_sums.hpp>

namespace tessera::layernorm {

namespace {

template <class T>
std::vector<ExpectedField> floating_reference(Layernorm::Input<T, Kokkos::HostSpace> const& input) {
  using verify::magnitude_of;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  using A = Arithmetic<T>;
  constexpr auto largest = static_cast<double>(std::numeric_limits<A>::max());
  std::size_t const rows = input.x.extent(0);
  std::size_t const hidden = input.x.extent(1);
  double const unit = unit_roundoff(dtype_of<A>);
  double const denormal = static_cast<double>(std::numeric_limits<A>::denorm_min()) / unit;
  double const longest = Layernorm::rounding_steps({{rows, hidden}, {hidden}, {hidden}}, input.parameters);
  double const growth = std::expm1(longest * unit);

  ExpectedField y{.name = "y",
                  .shape = {rows, hidden},
                  .value = std::vector<double>(rows * hidden),
                  .scale = std::vector<double>(rows * hidden)};
  // Rows have nothing to do with each other: some at a time are a serial loop, several of these run side by side.
  std::size_t const together = blocks_in(1 << 16, std::max<std::size_t>(1, hidden));
  auto const some_rows = [&](std::size_t, std::size_t begin, std::size_t end) {
    verify::NormalisedRowOracle row(hidden, input.parameters.eps, longest, A{});
    for (std::size_t r = begin; r < end; ++r) {
      row.take(&input.x(r, 0));
      for (std::size_t h = 0; h < hidden; ++h) {
        auto const gamma = static_cast<long double>(input.gamma(h));
        auto const beta = static_cast<long double>(input.beta(h));
        long double const value = gamma * row.xhat[h] + beta;
        auto const magnitude = magnitude_of(static_cast<double>(value));
        double const scale =
            magnitude_of(static_cast<double>(gamma)) * (row.scale[h] + magnitude_of(static_cast<double>(row.xhat[h]))) +
            magnitude_of(static_cast<double>(beta)) + denormal;
        bool const known = row.known && !(std::isinf(gamma) && !row.sign_is_known(h)) &&
                           (!std::isfinite(value) || magnitude + growth * scale <= largest);
        y.value[r * hidden + h] = static_cast<double>(value);
        y.scale[r * hidden + h] = known ? scale : infinity;
      }
    }
  };
  for_blocks(rows, together, some_rows);
  return list_of(std::move(y));
}

}  // namespace

template <class T>
std::vector<ExpectedField> Layernorm::reference(Input<T, Kokkos::HostSpace> const& input) {
  if constexpr (Floating<T>) {
    return floating_reference(input);
  } else {
    return {};  // refused by check()
  }
}

template std::vector<ExpectedField> Layernorm::reference(Input<float, Kokkos::HostSpace> const&);
template std::vector<ExpectedField> Layernorm::reference(Input<double, Kokkos::HostSpace> const&);
template std::vector<ExpectedField> Layernorm::reference(Input<std::int32_t, Kokkos::HostSpace> const&);
template std::vector<ExpectedField> Layernorm::reference(Input<Half, Kokkos::HostSpace> const&);
template std::vector<ExpectedField> Layernorm::reference(Input<BFloat16, Kokkos::HostSpace> const&);

}  // namespace tessera::layernorm
