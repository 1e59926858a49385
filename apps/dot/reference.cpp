/// \file
/// The serial oracle of dot: one loop, products without rounding, a sum in twice double precision.
///
/// Where all products lie on one grid, and the sum of their magnitudes within the dtype's precision of it, every partial
/// sum is exact in any order, fused or not (verify/grid.hpp): the result must be equal, scale 0.
///
/// Error bound otherwise. Each product is rounded once, then summed in a tree of additions: with k - 1 the longest chain of
/// additions and u the unit roundoff, the error is at most ((1 + u)^k - 1) * sum |a[i] * b[i]| (Higham, Accuracy and
/// Stability of Numerical Algorithms, 3.1), whether or not multiplications and additions are fused. So the scale is
/// that sum; k is the variant's. A product that underflows loses at most half the smallest denormal: the verifier
/// allows one a step, and the n - k others are covered by adding n of them to the scale, in units of u. Where the sum
/// of magnitudes exceeds the dtype's range, a partial result may overflow in one order and not in another: nothing can
/// be asked (scale infinity).

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "problem.hpp"

#include <tessera/verify/exact_sum.hpp>
#include <tessera/verify/grid.hpp>

namespace tessera::dot {

template <class T>
std::vector<ExpectedField> Dot::reference(Input<T, Kokkos::HostSpace> const& input) {
  std::size_t const n = input.a.extent(0);
  if constexpr (std::is_integral_v<T>) {
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < n; ++i)
      sum += static_cast<std::uint32_t>(input.a(i)) * static_cast<std::uint32_t>(input.b(i));
    return {
        {.name = "out", .shape = {}, .value = {static_cast<double>(static_cast<std::int32_t>(sum))}, .scale = {0.0}}};
  } else {
    verify::ExactSum sum;
    verify::SumProof proof;
    double magnitude = 0;
    for (std::size_t i = 0; i < n; ++i) {
      proof.add_product(input.a(i), input.b(i));
      auto const a = static_cast<double>(input.a(i));
      auto const b = static_cast<double>(input.b(i));
      sum.add_product(a, b);
      if (std::isfinite(a) && std::isfinite(b)) magnitude += std::abs(a * b);
    }
    if (proof.holds<T>()) return {{.name = "out", .shape = {}, .value = {sum.value()}, .scale = {}}};
    double const lost = static_cast<double>(n) * static_cast<double>(std::numeric_limits<T>::denorm_min());
    double const scale = magnitude + lost / unit_roundoff(dtype_of<T>);
    bool const may_overflow = !(magnitude <= static_cast<double>(std::numeric_limits<T>::max()));
    return {{.name = "out",
             .shape = {},
             .value = {sum.value()},
             .scale = {may_overflow ? std::numeric_limits<double>::infinity() : scale}}};
  }
}

template std::vector<ExpectedField> Dot::reference(Input<float, Kokkos::HostSpace> const&);
template std::vector<ExpectedField> Dot::reference(Input<double, Kokkos::HostSpace> const&);
template std::vector<ExpectedField> Dot::reference(Input<std::int32_t, Kokkos::HostSpace> const&);

}  // namespace tessera::dot
