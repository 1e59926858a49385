/// \file
/// The serial oracle of roofline: plain loops in double.
///
/// Error bounds. copied, launched and chains are exact: a chain of multiply-adds by one counts its iterations, and
/// 255 + iterations stays below 2^24. triad is a product and a sum, each rounded once or both at once: at most
/// ((1 + u)^2 - 1) * (|a| + |s b|); where s b is a number of the dtype, only the sum is rounded, and in one way (scale 0). Of half
/// and bfloat16 s b is a number of float: the sum is rounded to float, in one way, and that to the dtype. sum is a tree of additions, see dot: ((1 + u)^k - 1) * sum |a|, k the variant's; exact in any
/// order where verify/grid.hpp proves it (scale 0).

#include <cmath>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "problem.hpp"

#include <tessera/verify/exact_sum.hpp>
#include <tessera/verify/grid.hpp>
#include <tessera/verify/wide.hpp>

namespace tessera::roofline {

namespace {

ExpectedField field(char const* name, Shape const& shape) {
  return {.name = name,
          .shape = shape,
          .value = std::vector<double>(count_of(shape)),
          .scale = std::vector<double>(count_of(shape))};
}

}  // namespace

template <class T>
std::vector<ExpectedField> Roofline::reference(Input<T, Kokkos::HostSpace> const& input) {
  std::vector<Shape> const shapes = output_shapes({{input.a.extent(0)}, {input.b.extent(0)}}, input.parameters);
  ExpectedField copied = field("copied", shapes[0]);
  copied.scale.clear();
  ExpectedField triad = field("triad", shapes[1]);
  ExpectedField sum = field("sum", shapes[2]);
  ExpectedField chains = field("chains", shapes[3]);
  ExpectedField launched = field("launched", shapes[4]);

  std::size_t const n = input.a.extent(0);
  verify::ExactSum total;
  verify::SumProof proof;
  std::int64_t count = 0;
  for (std::size_t i = 0; i < n; ++i) {
    copied.value[i] = static_cast<double>(input.a(i));
    if constexpr (std::is_integral_v<T>) {
      auto const s = static_cast<std::int64_t>(input.parameters.s);
      triad.value[i] = verify::stored(input.a(i) + s * input.b(i));
      count = static_cast<std::int32_t>(static_cast<std::uint32_t>(count + input.a(i)));
    } else {
      double const a = static_cast<double>(input.a(i));
      double const product = static_cast<double>(static_cast<T>(input.parameters.s)) * static_cast<double>(input.b(i));
      triad.value[i] = a + product;
      double const magnitude = std::abs(a) + std::abs(product);
      bool const rounded_once = verify::is_exact_product(static_cast<T>(input.parameters.s), input.b(i));
      if (ShortFloat<T> && rounded_once) {
        triad.value[i] = static_cast<double>(static_cast<float>(a) + static_cast<float>(product));
      }
      bool const is_exact = rounded_once || !std::isfinite(a) || !std::isfinite(product);
      triad.scale[i] = is_exact ? 0 : verify::scale_of_sum<Arithmetic<T>>(triad.value[i], magnitude);
      total.add(a);
      proof.add(a);
      if (std::isfinite(a)) sum.scale[0] += std::abs(a);
    }
  }
  if constexpr (std::is_integral_v<T>) {
    sum.value[0] = static_cast<double>(count);
  } else {
    sum.value[0] = total.value();
    if (proof.holds<Arithmetic<T>>()) {
      sum.scale.clear();
      sum.rounded_sums = proof.rounds<T>(sum.value[0]);
    } else {
      sum.scale[0] = verify::scale_of_sum<Arithmetic<T>>(sum.value[0], sum.scale[0]);
    }
  }
  for (std::size_t i = 0; i < chains.value.size(); ++i) {
    chains.value[i] = static_cast<double>(i % 256) + static_cast<double>(input.parameters.iterations);
  }
  launched.value[0] = 1;
  return list_of(std::move(copied), std::move(triad), std::move(sum), std::move(chains), std::move(launched));
}

template std::vector<ExpectedField> Roofline::reference(Input<float, Kokkos::HostSpace> const&);
template std::vector<ExpectedField> Roofline::reference(Input<double, Kokkos::HostSpace> const&);
template std::vector<ExpectedField> Roofline::reference(Input<std::int32_t, Kokkos::HostSpace> const&);
template std::vector<ExpectedField> Roofline::reference(Input<Half, Kokkos::HostSpace> const&);
template std::vector<ExpectedField> Roofline::reference(Input<BFloat16, Kokkos::HostSpace> const&);

}  // namespace tessera::roofline
