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

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "problem.hpp"

#include <tessera/core/host_threads.hpp>
#include <tessera/table/references.hpp>
#include <tessera/verify/exact_sum.hpp>
#include <tessera/verify/grid.hpp>
#include <tessera/verify/wide.hpp>

namespace tessera::dot {

namespace {

// The oracle's sums over a range of i.
template <class T>
struct Sums {
  verify::ExactSum sum;
  verify::SumProof proof;
  verify::ExactSum magnitude;  // exact, so that it does not depend on the parts
  double terms = 0;
  std::uint32_t wrapped = 0;

  void add(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      wrapped += static_cast<std::uint32_t>(a) * static_cast<std::uint32_t>(b);
    } else {
      proof.add_product(a, b);
      auto const wide_a = static_cast<double>(a);
      auto const wide_b = static_cast<double>(b);
      sum.add_product_of(a, b);
      if (std::isfinite(wide_a) && std::isfinite(wide_b)) magnitude.add(std::abs(wide_a * wide_b));
    }
    ++terms;
  }
  void merge(Sums const& other) {
    sum.merge(other.sum);
    proof.merge(other.proof);
    magnitude.merge(other.magnitude);
    terms += other.terms;
    wrapped += other.wrapped;
  }

  [[nodiscard]] std::vector<ExpectedField> expected() const {
    if constexpr (std::is_integral_v<T>) {
      return {{.name = "out",
               .shape = {},
               .value = {static_cast<double>(static_cast<std::int32_t>(wrapped))},
               .scale = {0.0}}};
    } else {
      using A = Arithmetic<T>;
      if (proof.template holds<A>()) {
        bool const rounded = proof.template rounds<T>(sum.value());
        return {{.name = "out",
                 .shape = {},
                 .value = {sum.value()},
                 .scale = {},
                 .rounded_sums = rounded,
                 .grid = proof.spacing()}};
      }
      double const lost = terms * static_cast<double>(std::numeric_limits<A>::denorm_min());
      double const scale = verify::scale_of_sum<A>(sum.value(), magnitude.value()) + lost / unit_roundoff(dtype_of<A>);
      return {{.name = "out", .shape = {}, .value = {sum.value()}, .scale = {scale}, .grid = proof.spacing()}};
    }
  }
};

template <class T>
Sums<T> sums_of(Dot::Input<T, Kokkos::HostSpace> const& input) {
  std::size_t const n = input.a.extent(0);
  std::vector<Sums<T>> parts(blocks_in(n, part_elements()));
  for_blocks(n, part_elements(), [&](std::size_t part, std::size_t begin, std::size_t end) {
    Sums<T> sums;
    for (std::size_t i = begin; i < end; ++i) sums.add(input.a(i), input.b(i));
    parts[part] = sums;
  });
  Sums<T> all;
  for (Sums<T> const& part : parts) all.merge(part);
  return all;
}

}  // namespace

template <class T>
std::vector<ExpectedField> Dot::reference(Input<T, Kokkos::HostSpace> const& input) {
  return sums_of(input).expected();
}

template <class T>
std::vector<ExpectedField> Dot::reference_of_part(Input<T, Kokkos::HostSpace> const& input,
                                                  std::vector<ranks::Block> const&, ranks::Part const& part) {
  auto const merged = [](Sums<T> sums, Sums<T> const& other) {
    sums.merge(other);
    return sums;
  };
  return part.ranks.fold(sums_of(input), merged).expected();
}

}  // namespace tessera::dot

template struct tessera::References<tessera::dot::Dot>;
