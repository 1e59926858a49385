/// \file
/// The serial oracle of conv1d: one loop per output over the taps that meet an element, with products without rounding
/// and a sum in twice double precision.
///
/// If the products of all elements lie on one grid (the product of both inputs' grids) on which the dtype holds each
/// output's sum of magnitudes, every partial sum is exact in any order, fused or not (verify/grid.hpp): results must be
/// equal, and there is no scale.
///
/// Error bound otherwise. An output is a sum of m products, with m at most the length of k: each product is rounded
/// once, and the longest chain has m - 1 additions. With u the unit roundoff the error is at most ((1 + u)^m - 1) * sum
/// |a[i+j] * k[j]| (Higham, Accuracy and Stability of Numerical Algorithms, 3.1), with or without fused multiply-adds.
/// The scale is this sum of magnitudes. A product that underflows loses at most half the smallest denormal, which the
/// verifier allows for each of the m steps. If terms of both signs exceed the dtype's range, a partial result may
/// overflow in some orders only; the element is not checked (scale infinity, verify/wide.hpp).

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "problem.hpp"

#include <tessera/core/host_threads.hpp>
#include <tessera/table/references.hpp>
#include <tessera/verify/exact_sum.hpp>
#include <tessera/verify/grid.hpp>
#include <tessera/verify/wide.hpp>

namespace tessera::conv1d {

template <class T>
std::vector<ExpectedField> Conv1d::reference(Input<T, Kokkos::HostSpace> const& input) {
  std::size_t const n = input.a.extent(0);
  std::size_t const taps = input.k.extent(0);
  ExpectedField out{.name = "out", .shape = {n}, .value = std::vector<double>(n), .scale = {}};
  // Parts of the result are independent: each is a serial loop, and several run in parallel. The second sweep makes the
  // scales, if they are needed.
  constexpr std::size_t part = 1 << 16;
  std::vector<double> most(blocks_in(n, part));
  auto const sweep = [&] {
    for_blocks(n, part, [&](std::size_t p, std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        std::size_t const count = std::min(taps, n - i);
        if constexpr (std::is_integral_v<T>) {
          std::uint32_t sum = 0;
          for (std::size_t j = 0; j < count; ++j) {
            sum += static_cast<std::uint32_t>(input.a(i + j)) * static_cast<std::uint32_t>(input.k(j));
          }
          out.value[i] = static_cast<double>(static_cast<std::int32_t>(sum));
        } else {
          verify::ExactSum sum;
          double magnitude = 0;
          for (std::size_t j = 0; j < count; ++j) {
            auto const a = static_cast<double>(input.a(i + j));
            auto const k = static_cast<double>(input.k(j));
            sum.add_product_of(input.a(i + j), input.k(j));
            if (std::isfinite(a) && std::isfinite(k)) magnitude += std::abs(a * k);
          }
          most[p] = std::max(most[p], magnitude);
          out.value[i] = sum.value();
          if (out.scale.empty()) continue;
          out.scale[i] = verify::scale_of_sum<T>(sum.value(), magnitude);
        }
      }
    });
  };
  sweep();
  if (n == 0 || std::is_integral_v<T>) return list_of(std::move(out));
  if (!verify::exact_products<T>(input.a, input.k, *std::ranges::max_element(most))) {
    out.scale.resize(n);
    sweep();
  }
  return list_of(std::move(out));
}

}  // namespace tessera::conv1d

template struct tessera::References<tessera::conv1d::Conv1d>;
