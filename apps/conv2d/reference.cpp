/// \file
/// The serial oracle of conv2d: for every element a loop over the taps, products without rounding, a sum in twice
/// double precision. Terms beyond the bottom and right edge are left out. Neighbours in a row go through the taps
/// together.
///
/// Where the products of all elements lie on one grid (the product of both inputs' grids), and the sum of magnitudes of
/// each output within the dtype's precision of it, every partial sum is exact in any order, fused or not
/// (verify/grid.hpp): results must be equal, and there is no scale.
///
/// Error bound otherwise. As dot's: n products, each rounded once, and the additions that follow; with k the longest
/// chain, the error is at most ((1 + u)^k - 1) * sum |in * k| (Higham, Accuracy and Stability of Numerical Algorithms,
/// 3.1). One after the other they make a chain of n, with n at most min(H, Ky) * min(W, Kx): so do all variants. A
/// product that underflows loses at most half the smallest denormal: n of them are covered by the one that the verifier
/// allows for each of the n steps. Where terms of both signs exceed the dtype's range, a partial result may overflow in
/// one order and not in another: nothing can be asked (scale infinity, verify/wide.hpp).

#include <algorithm>
#include <array>
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

namespace tessera::conv2d {

namespace {

// So many neighbours in a row of the output at a time: what is known of them stays in the nearest cache.
constexpr std::size_t neighbours = 512;

// Sums of integers wrap.
struct WrappingSums {
  std::array<std::uint32_t, neighbours> sum{};

  void add(std::int32_t const* a, std::int32_t b, std::size_t count) {
    for (std::size_t x = 0; x < count; ++x) sum[x] += static_cast<std::uint32_t>(a[x]) * static_cast<std::uint32_t>(b);
  }
  [[nodiscard]] double value(std::size_t x) const { return static_cast<double>(static_cast<std::int32_t>(sum[x])); }
  [[nodiscard]] static double magnitude(std::size_t) { return 0; }
};

// Of floats, with the sums of the magnitudes of finite factors' products.
template <class T>
struct WideSums {
  verify::ExactSums<neighbours> sums;
  std::array<double, neighbours> magnitudes{};

  // One tap of all of them: no tap of one waits for that of its neighbour.
  void add(T const* a, T b, std::size_t count) {
    constexpr double largest = std::numeric_limits<double>::max();
    auto const wide_b = static_cast<double>(b);
    bool const counts = std::isfinite(wide_b);
    for (std::size_t x = 0; x < count; ++x) {
      auto const wide_a = static_cast<double>(a[x]);
      sums.add_product_of(x, a[x], b);
      double const magnitude = std::abs(wide_a * wide_b);
      magnitudes[x] += counts && std::abs(wide_a) <= largest ? magnitude : 0.0;
    }
  }
  [[nodiscard]] double value(std::size_t x) const { return sums.value(x); }
  [[nodiscard]] double magnitude(std::size_t x) const { return magnitudes[x]; }
};

template <class T>
using Sums = std::conditional_t<std::is_integral_v<T>, WrappingSums, WideSums<T>>;

// Elements [begin, end) of row y of the output, tap by tap.
template <class T, class In>
Sums<T> sums_of(In const& in, In const& k, std::size_t y, std::size_t begin, std::size_t end) {
  std::size_t const rows = std::min(k.extent(0), in.extent(0) - y);
  std::size_t const cols = std::min(k.extent(1), in.extent(1) - begin);
  Sums<T> sums;
  for (std::size_t ky = 0; ky < rows; ++ky) {
    for (std::size_t kx = 0; kx < cols; ++kx) {
      sums.add(&in(y + ky, begin + kx), k(ky, kx), std::min(end, in.extent(1) - kx) - begin);
    }
  }
  return sums;
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
      std::array<double, neighbours> largest{};
      for (std::size_t begin = 0; begin < cols; begin += neighbours) {
        std::size_t const count = std::min(neighbours, cols - begin);
        Sums<T> const sums = sums_of<T>(input.in, input.k, y, begin, begin + count);
        std::size_t const at = y * cols + begin;
        for (std::size_t x = 0; x < count; ++x) out.value[at + x] = sums.value(x);
        for (std::size_t x = 0; x < count; ++x) largest[x] = std::max(largest[x], sums.magnitude(x));
        if constexpr (!std::is_integral_v<T>) {
          for (std::size_t x = 0; x < count && !out.scale.empty(); ++x) {
            out.scale[at + x] = verify::scale_of_sum<T>(sums.value(x), sums.magnitude(x));
          }
        }
      }
      most[y] = *std::ranges::max_element(largest);
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

}  // namespace tessera::conv2d

template struct tessera::References<tessera::conv2d::Conv2d>;
