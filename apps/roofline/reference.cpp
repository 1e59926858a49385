/// \file
/// The serial oracle of roofline: plain loops in double; the sum in twice double precision.
///
/// Error bounds. copied, written, launched and chains are exact: a chain of multiply-adds by one counts its iterations,
/// and 255 + iterations stays below 2^24. triad is a product and a sum, each rounded once or both at once: at most
/// ((1 + u)^2 - 1) * (|a| + |s b|); where s b is a number of the dtype, only the sum is rounded, and in one way (scale
/// 0). Of half and bfloat16 s b is a number of float: the sum is rounded to float, in one way, and that to the dtype.
/// sum is a tree of additions, see dot: ((1 + u)^k - 1) * sum |a|, k the variant's; exact in any order where
/// verify/grid.hpp proves it (scale 0).

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "problem.hpp"

#include <tessera/core/host_threads.hpp>
#include <tessera/table/references.hpp>
#include <tessera/verify/grid.hpp>
#include <tessera/verify/joined.hpp>
#include <tessera/verify/sum_oracle.hpp>
#include <tessera/verify/wide.hpp>

namespace tessera::roofline {

namespace {

// Elements have nothing to do with each other: so many at a time are a serial loop, several run side by side.
constexpr std::size_t part = 1 << 16;

// Elements [begin, end) of triad.
template <class T>
ExpectedField triad_of(Roofline::Input<T, Kokkos::HostSpace> const& input, std::size_t begin, std::size_t end) {
  ExpectedField triad{.name = "triad",
                      .shape = {end - begin},
                      .value = std::vector<double>(end - begin),
                      .scale = std::vector<double>(end - begin)};
  for (std::size_t i = begin; i < end; ++i) {
    double& value = triad.value[i - begin];
    if constexpr (std::is_integral_v<T>) {
      auto const s = static_cast<std::int64_t>(input.parameters.s);
      value = verify::stored(input.a(i) + s * input.b(i));
    } else {
      double const a = static_cast<double>(input.a(i));
      double const product = static_cast<double>(static_cast<T>(input.parameters.s)) * static_cast<double>(input.b(i));
      value = a + product;
      double const magnitude = std::abs(a) + std::abs(product);
      bool const rounded_once = verify::is_exact_product(static_cast<T>(input.parameters.s), input.b(i));
      if (ShortFloat<T> && rounded_once)
        value = static_cast<double>(static_cast<float>(a) + static_cast<float>(product));
      bool const is_exact = rounded_once || !std::isfinite(a) || !std::isfinite(product);
      triad.scale[i - begin] = is_exact ? 0 : verify::scale_of_sum<Arithmetic<T>>(value, magnitude);
    }
  }
  return triad;
}

}  // namespace

template <class T>
std::vector<ExpectedField> Roofline::reference(Input<T, Kokkos::HostSpace> const& input) {
  std::vector<Shape> const shapes = output_shapes({{input.a.extent(0)}, {input.b.extent(0)}}, input.parameters);
  std::size_t const n = input.a.extent(0);
  MovedElements<T> copied("copied", shapes[0]);
  for_blocks(n, part, [&](std::size_t, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) copied.set(i, input.a(i));
  });
  std::vector<ExpectedField> triad =
      joined_reference({{"triad", dtype_of<T>, shapes[1], nullptr}}, part_elements(),
                       [&](ranks::Block rows) { return list_of(triad_of<T>(input, rows.begin, rows.end)); });
  auto const sum =
      verify::sum_by_parts<T>(n, [&](verify::SumOracle<T>& of_part, std::size_t i) { of_part.add(input.a(i)); });
  ExpectedField chains{
      .name = "chains", .shape = shapes[3], .value = std::vector<double>(count_of(shapes[3])), .scale = {}};
  for (std::size_t i = 0; i < chains.value.size(); ++i) {
    chains.value[i] = static_cast<double>(i % 256) + static_cast<double>(input.parameters.iterations);
  }
  ExpectedField launched{.name = "launched", .shape = shapes[4], .value = {1}, .scale = {}};
  MovedElements<T> written("written", shapes[5]);
  for_blocks(n, part, [&](std::size_t, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) written.set(i, static_cast<T>(static_cast<float>(i % 256)));
  });
  return list_of(copied.take(), std::move(triad.front()), sum.field("sum"), std::move(chains), std::move(launched),
                 written.take());
}

}  // namespace tessera::roofline

template struct tessera::References<tessera::roofline::Roofline>;
