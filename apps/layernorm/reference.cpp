/// \file
/// The serial oracle of layernorm: row by row, by two sweeps (verify/normalised_rows.hpp).
///
/// Error bound. With g = (1 + u)^s - 1, s the variant's longest chain of roundings from a row's sum to an element of y:
///
///     |error of xhat| <= g X                                  (verify/normalised_rows.hpp)
///     |error of y|    <= g L,   L = |gamma| (X + |xhat|) + |beta|
///
/// A product that underflows loses a denormal: added to L, in units of u. Nothing can be asked of an element (scale
/// infinity) that may pass the dtype's range, whose row is not known, or that has an infinite gamma times a number
/// whose sign is not known. Of half and bfloat16 all that is float's, and y is rounded to the dtype once, when it is
/// stored.
///
/// check() refuses integers; the reference accepts them because every dtype of a build needs a reference.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "problem.hpp"

#include <tessera/core/host_threads.hpp>
#include <tessera/table/references.hpp>
#include <tessera/verify/normalised_rows.hpp>
#include <tessera/verify/product_sums.hpp>

namespace tessera::layernorm {

template <class T>
std::vector<ExpectedField> Layernorm::reference(Input<T, Kokkos::HostSpace> const& input) {
  using verify::magnitude_of;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  using A = Arithmetic<T>;
  using Wide = typename verify::NormalisedRowOracle<T>::Wide;
  constexpr auto largest = static_cast<double>(std::numeric_limits<A>::max());
  std::size_t const rows = input.x.extent(0);
  std::size_t const hidden = input.x.extent(1);
  double const unit = unit_roundoff(dtype_of<A>);
  double const denormal = static_cast<double>(std::numeric_limits<A>::denorm_min()) / unit;
  double const longest = rounding_steps({{rows, hidden}, {hidden}, {hidden}}, input.parameters);
  double const growth = std::expm1(longest * unit);

  ExpectedField y = zero_field("y", {rows, hidden}, true);
  std::vector<double> gamma(hidden);
  std::vector<double> beta(hidden);
  std::vector<std::size_t> infinite_gammas;
  for (std::size_t h = 0; h < hidden; ++h) {
    gamma[h] = static_cast<double>(input.gamma(h));
    beta[h] = static_cast<double>(input.beta(h));
    if (std::isinf(gamma[h])) infinite_gammas.push_back(h);
  }
  // Rows have nothing to do with each other: some at a time are a serial loop, several of these run side by side.
  std::size_t const together = blocks_in(1 << 16, std::max<std::size_t>(1, hidden));
  auto const some_rows = [&](std::size_t, std::size_t begin, std::size_t end) {
    verify::NormalisedRowOracle<T> row(hidden, input.parameters.eps, longest);
    std::vector<double> xhats(hidden);
    std::vector<char> finite(hidden);
    for (std::size_t r = begin; r < end; ++r) {
      row.take(&input.x(r, 0));
      double* const values = y.value.data() + r * hidden;
      double* const scales = y.scale.data() + r * hidden;
      for (std::size_t h = 0; h < hidden; ++h) {
        Wide const xhat = row.xhat(h);
        Wide const value = static_cast<Wide>(gamma[h]) * xhat + static_cast<Wide>(beta[h]);
        xhats[h] = static_cast<double>(xhat);
        values[h] = static_cast<double>(value);
        finite[h] = std::isfinite(value);
      }
      // Apart from that, since no long double slows it down.
      for (std::size_t h = 0; h < hidden; ++h) {
        double const scale = magnitude_of(gamma[h]) * (row.scale(h, xhats[h]) + magnitude_of(xhats[h])) +
                             magnitude_of(beta[h]) + denormal;
        bool const known = row.known && (finite[h] == 0 || magnitude_of(values[h]) + growth * scale <= largest);
        scales[h] = known ? scale : infinity;
      }
      for (std::size_t const h : infinite_gammas) {
        if (!row.sign_is_known(h, xhats[h])) scales[h] = infinity;
      }
    }
  };
  for_blocks(rows, together, some_rows);
  return list_of(std::move(y));
}

}  // namespace tessera::layernorm

template struct tessera::References<tessera::layernorm::Layernorm>;
