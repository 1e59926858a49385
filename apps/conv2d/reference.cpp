/// \file
/// The serial oracle of conv2d: for every element a loop over the taps, products without rounding, a sum in twice
/// double precision. Terms beyond the bottom and right edge are left out.
///
/// Where the products of all elements lie on one grid (the product of both inputs' grids), and the sum of magnitudes of
/// each output within the dtype's precision of it, every partial sum is exact in any order, fused or not
/// (verify/grid.hpp): results must be equal, and there is no scale.
///
/// Error bound otherwise. As dot's: n products, each rounded once, and the additions that follow; with k the longest chain, the
/// error is at most ((1 + u)^k - 1) * sum |in * k| (Higham, Accuracy and Stability of Numerical Algorithms, 3.1). One
/// after the other they make a chain of n, with n at most min(H, Ky) * min(W, Kx): so do all variants. A product that
/// underflows loses at most half the smallest denormal: n of them are covered by the one that the verifier allows for
/// each of the n steps. Where terms of both signs exceed the dtype's range, a partial result may overflow in one order
/// and not in another: nothing can be asked (scale infinity, verify/wide.hpp).

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "problem.hpp"

#include <tessera/core/host_threads.hpp>
#include <tessera/verify/exact_sum.hpp>
#include <tessera/verify/grid.hpp>
#include <tessera/verify/wide.hpp>

namespace tessera::conv2d {

namespace {

struct Term {
  double value;
  double scale;
  double magnitude = 0;
};

// One element of the output.
template <class In>
Term sum_at(In const& in, In const& k, std::size_t y, std::size_t x) {
  using T = typename In::non_const_value_type;
  std::size_t const rows = std::min(k.extent(0), in.extent(0) - y);
  std::size_t const cols = std::min(k.extent(1), in.extent(1) - x);
  if constexpr (std::is_integral_v<T>) {
    std::uint32_t sum = 0;
    for (std::size_t ky = 0; ky < rows; ++ky) {
      for (std::size_t kx = 0; kx < cols; ++kx) {
        sum += static_cast<std::uint32_t>(in(y + ky, x + kx)) * static_cast<std::uint32_t>(k(ky, kx));
      }
    }
    return {static_cast<double>(static_cast<std::int32_t>(sum)), 0.0};
  } else {
    verify::ExactSum sum;
    double magnitude = 0;
    for (std::size_t ky = 0; ky < rows; ++ky) {
      for (std::size_t kx = 0; kx < cols; ++kx) {
        auto const a = static_cast<double>(in(y + ky, x + kx));
        auto const b = static_cast<double>(k(ky, kx));
        sum.add_product_of(in(y + ky, x + kx), k(ky, kx));
        if (std::isfinite(a) && std::isfinite(b)) magnitude += std::abs(a * b);
      }
    }
    return {sum.value(), verify::scale_of_sum<T>(sum.value(), magnitude), magnitude};
  }
}

}  // namespace

template <class T>
std::vector<ExpectedField> Conv2d::reference(Input<T, Kokkos::HostSpace> const& input) {
  std::size_t const rows = input.in.extent(0);
  std::size_t const cols = input.in.extent(1);
  ExpectedField out{.name = "out", .shape = {rows, cols}, .value = std::vector<double>(rows * cols), .scale = {}};
  // Rows have nothing to do with each other: each is a serial loop, several run side by side. There is a scale in the
  // second sweep, for those that need one.
  std::vector<double> most(rows);
  auto const sweep = [&] {
    for_blocks(rows, 1, [&](std::size_t y, std::size_t, std::size_t) {
      for (std::size_t x = 0; x < cols; ++x) {
        Term const term = sum_at(input.in, input.k, y, x);
        out.value[y * cols + x] = term.value;
        if (!out.scale.empty()) out.scale[y * cols + x] = term.scale;
        most[y] = std::max(most[y], term.magnitude);
      }
    });
  };
  sweep();
  if (rows == 0 || std::is_integral_v<T>) return list_of(std::move(out));
  if (!verify::exact_products<T>(input.in, input.k, *std::ranges::max_element(most))) {
    out.scale.resize(rows * cols);
    sweep();
  }
  return list_of(std::move(out));
}

template std::vector<ExpectedField> Conv2d::reference(Input<float, Kokkos::HostSpace> const&);
template std::vector<ExpectedField> Conv2d::reference(Input<double, Kokkos::HostSpace> const&);
template std::vector<ExpectedField> Conv2d::reference(Input<std::int32_t, Kokkos::HostSpace> const&);

}  // namespace tessera::conv2d
