/// \file
/// The serial oracle of dot: a loop over a part of the elements, with products without rounding and a sum in twice
/// double precision. Several parts run in parallel, and their sums are added in their order.
///
/// If all products lie on one grid on which the dtype holds the sum of their magnitudes, every partial sum is exact in
/// any order, fused or not (verify/grid.hpp): results must be equal, scale 0.
///
/// Error bound otherwise. Each product is rounded once, then summed in a tree of additions. With k - 1 the longest
/// chain of additions and u the unit roundoff, the error is at most ((1 + u)^k - 1) * sum |a[i] * b[i]| (Higham,
/// Accuracy and Stability of Numerical Algorithms, 3.1), with or without fused multiply-adds. The scale is this sum of
/// magnitudes; the variant reports k. A product that underflows loses at most half the smallest denormal: the verifier
/// allows one denormal per step, and n denormals added to the scale, in units of u, cover the other n - k products. If
/// terms of both signs exceed the dtype's range, a partial result may overflow in some orders only; the result is not
/// checked (scale infinity, verify/wide.hpp). half and bfloat16 are computed in float and rounded once, when the sum is
/// stored.

#include <limits>

#include "problem.hpp"

#include <tessera/table/references.hpp>
#include <tessera/verify/sum_oracle.hpp>

namespace tessera::dot {

namespace {

template <class T>
verify::SumOracle<T> sum_of(Dot::Input<T, Kokkos::HostSpace> const& input) {
  return verify::sum_by_parts<T>(
      input.a.extent(0), [&](verify::SumOracle<T>& sum, std::size_t i) { sum.add_product(input.a(i), input.b(i)); });
}

template <class T>
std::vector<ExpectedField> expected(verify::SumOracle<T> const& sum, std::size_t terms) {
  constexpr auto denormal = static_cast<double>(std::numeric_limits<Arithmetic<T>>::denorm_min());
  return list_of(sum.field("out", static_cast<double>(terms) * denormal));
}

}  // namespace

template <class T>
std::vector<ExpectedField> Dot::reference(Input<T, Kokkos::HostSpace> const& input) {
  return expected(sum_of(input), input.a.extent(0));
}

template <class T>
std::vector<ExpectedField> Dot::reference_of_part(Input<T, Kokkos::HostSpace> const& input, ranks::Part const& part) {
  auto const merged = [](verify::SumOracle<T> sum, verify::SumOracle<T> const& other) {
    sum.merge(other);
    return sum;
  };
  return expected(part.ranks.fold(sum_of(input), merged), part.input[0][0]);
}

}  // namespace tessera::dot

template struct tessera::References<tessera::dot::Dot>;
