#pragma once
/// \file
/// The serial oracle of convolutions: for every element a loop over the taps, with products without rounding and a sum
/// in twice double precision, or in double if the grid below proves that no such sum is rounded: it is then the same
/// number. Neighbours in a row go through the taps together.
///
/// If the products of all elements lie on one grid (the product of both inputs' grids) on which the dtype holds each
/// output's sum of magnitudes, every partial sum is exact in any order, fused or not (verify/grid.hpp): results must be
/// equal, and there is no scale.
///
/// Error bound otherwise. An output is a sum of m products: each is rounded once, and the longest chain has m - 1
/// additions. With u the unit roundoff the error is at most ((1 + u)^m - 1) * sum |in * k| (Higham, Accuracy and
/// Stability of Numerical Algorithms, 3.1), with or without fused multiply-adds. The scale is this sum of magnitudes. A
/// product that underflows loses at most half the smallest denormal, which the verifier allows for each of the m steps.
/// If terms of both signs exceed the dtype's range, a partial result may overflow in some orders only; the element is
/// not checked (scale infinity, verify/wide.hpp).

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <type_traits>
#include <vector>

#include <tessera/core/host_threads.hpp>
#include <tessera/core/types.hpp>
#include <tessera/verify/exact_sum.hpp>
#include <tessera/verify/grid.hpp>
#include <tessera/verify/wide.hpp>

namespace tessera::verify {

namespace detail {

// Neighbours in a row of the output that are computed together: their sums stay in the nearest cache.
inline constexpr std::size_t neighbours = 512;

/// Sums of integers wrap.
struct WrappingSums {
  std::array<std::uint32_t, neighbours> sum{};

  void add(std::int32_t const* a, std::int32_t b, std::size_t count) {
    for (std::size_t x = 0; x < count; ++x) sum[x] += static_cast<std::uint32_t>(a[x]) * static_cast<std::uint32_t>(b);
  }
  [[nodiscard]] double value(std::size_t x) const { return static_cast<double>(static_cast<std::int32_t>(sum[x])); }
};

/// Sums of floats that no addition rounds in double, and the sums of their magnitudes.
template <class T>
struct PlainSums {
  std::array<double, neighbours> sums{};
  std::array<double, neighbours> magnitudes{};

  void add(T const* a, T b, std::size_t count) {
    auto const wide_b = static_cast<double>(b);
    for (std::size_t x = 0; x < count; ++x) {
      double const product = static_cast<double>(a[x]) * wide_b;
      sums[x] += product;
      magnitudes[x] += std::abs(product);
    }
  }
  [[nodiscard]] double value(std::size_t x) const { return sums[x]; }
};

/// Sums of floats, with the sums of the magnitudes of finite factors' products.
template <class T>
struct WideSums {
  ExactSums<neighbours> sums;
  std::array<double, neighbours> magnitudes{};

  // Adds one tap to all sums: neighbours do not wait for each other.
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
};

/// Returns the largest magnitude of an array in host memory; 0 if it is empty.
template <class T>
[[nodiscard]] double largest_magnitude(T const* values, std::size_t count) {
  std::vector<double> largest(blocks_in(count, part_elements()));
  for_blocks(count, part_elements(), [&](std::size_t block, std::size_t begin, std::size_t end) {
    std::uint64_t of_block = 0;  // by its bits, which are in the same order
    for (std::size_t i = begin; i < end; ++i) {
      of_block = std::max(of_block, std::bit_cast<std::uint64_t>(std::abs(static_cast<double>(values[i]))));
    }
    largest[block] = std::bit_cast<double>(of_block);
  });
  return std::ranges::max(largest.empty() ? std::vector{0.0} : largest);
}

}  // namespace detail

/// Returns the field `out` [rows, cols]: out[y, x] = sum of in[y + ky, x + kx] * k[ky, kx], without terms beyond the
/// bottom and right edge.
///
/// \param in,k matrices in host memory, by rows
template <class T, class Matrix>
[[nodiscard]] ExpectedField convolution(Matrix const& in, Matrix const& k) {
  std::size_t const rows = in.extent(0);
  std::size_t const cols = in.extent(1);
  ExpectedField out = zero_field("out", {rows, cols});
  // Stretches of rows are independent: each is a serial loop, and several run in parallel. The second sweep makes the
  // scales, if they are needed.
  std::size_t const across = blocks_in(cols, detail::neighbours);
  std::vector<double> most(rows * across);
  auto const sweep = [&]<class Sums>(std::type_identity<Sums>) {
    for_blocks(most.size(), 1, [&](std::size_t stretch, std::size_t, std::size_t) {
      std::size_t const y = stretch / across;
      std::size_t const begin = stretch % across * detail::neighbours;
      std::size_t const end = std::min(begin + detail::neighbours, cols);
      Sums sums;
      for (std::size_t ky = 0; ky < k.extent(0) && y + ky < rows; ++ky) {
        for (std::size_t kx = 0; kx < k.extent(1) && begin + kx < cols; ++kx) {
          sums.add(&in(y + ky, begin + kx), k(ky, kx), std::min(end, cols - kx) - begin);
        }
      }
      double* const values = &out.value[y * cols];
      for (std::size_t x = begin; x < end; ++x) values[x] = sums.value(x - begin);
      if constexpr (!std::is_integral_v<T>) {
        auto const& magnitudes = sums.magnitudes;
        most[stretch] =
            std::reduce(magnitudes.begin(), magnitudes.end(), 0.0, [](double a, double b) { return std::max(a, b); });
        for (std::size_t x = begin; x < end && !out.scale.empty(); ++x) {
          out.scale[y * cols + x] = scale_of_sum<T>(values[x], magnitudes[x - begin]);
        }
      }
    });
  };
  if constexpr (std::is_integral_v<T>) {
    sweep(std::type_identity<detail::WrappingSums>());
  } else {
    Grid const grid = grid_of(in.data(), in.size()).times(grid_of(k.data(), k.size()));
    double of_taps = 0;
    for (std::size_t i = 0; i < k.size(); ++i) of_taps += std::abs(static_cast<double>(k.data()[i]));
    bool const plain = sizeof(T) <= sizeof(float) &&
                       grid.template holds<double>(2 * of_taps * detail::largest_magnitude(in.data(), in.size()));
    auto const sweep_floats = [&] {
      if (plain) {
        sweep(std::type_identity<detail::PlainSums<T>>());
      } else {
        sweep(std::type_identity<detail::WideSums<T>>());
      }
    };
    sweep_floats();
    if (!most.empty() && !grid.template holds<T>(*std::ranges::max_element(most))) {
      out.scale.resize(rows * cols);
      sweep_floats();
    }
  }
  return out;
}

}  // namespace tessera::verify
