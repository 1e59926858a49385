/// \file
/// The serial oracle of matmul: loops over blocks of columns and of k, rows, k, columns, in double.
///
/// Where the products of all elements lie on one grid (the product of both inputs' grids), and the sum of magnitudes of
/// each element within the dtype's precision of it, every partial sum is exact in any order, fused or not
/// (verify/grid.hpp): results must be equal, and there is no scale.
///
/// Error bound otherwise. A variant makes K products and K - 1 additions for an element, fused or not, in some order: with s the
/// longest chain of roundings and u the unit roundoff its error is at most ((1 + u)^s - 1) * sum_k |a_ik b_kj| (Higham,
/// Accuracy and Stability of Numerical Algorithms, 3.5). So the scale is that sum; s is the variant's. Of float the
/// products are exact in double and their sum's error is 2^-29 of the bound; of double, products and sums are taken in
/// twice the precision (Dekker's product, Knuth's sum). A product that underflows loses at most half the smallest
/// denormal: the verifier allows one a step, and the others are covered by adding K of them to the scale, in units of
/// u. Where the sum of magnitudes exceeds the dtype's range, a partial result may overflow in one order and not in
/// another: nothing can be asked (scale infinity). Terms with a NaN or an infinity have no magnitude: the element is
/// then not finite, and what it must be does not depend on the order.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "problem.hpp"

#include <tessera/verify/grid.hpp>

namespace tessera::matmul {

namespace {

// A block of b of this many k and columns stays in the cache while all rows of a pass by.
constexpr std::size_t block_depth = 128;
constexpr std::size_t block_width = 256;

double magnitude_of(double value) { return std::isfinite(value) ? std::abs(value) : 0.0; }

// What is lost when a * b is rounded to `product`; 0 where that cannot be said.
double lost_in_product(double a, double b, double product) {
#ifdef FP_FAST_FMA
  double const lost = std::fma(a, b, -product);
#else
  auto const high = [](double x) {
    double const wide = 134217729.0 * x;  // 2^27 + 1
    return wide - (wide - x);
  };
  double const a_high = high(a);
  double const b_high = high(b);
  double const a_low = a - a_high;
  double const b_low = b - b_high;
  double const lost = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low;
#endif
  return std::abs(lost) <= std::numeric_limits<double>::max() ? lost : 0.0;
}

// One row of the result, as far as it has been summed.
struct Row {
  double* value;
  double* scale;
  double* low;  // of double: what `value` has lost
};

// Adds a * b[j] for each j.
template <class T>
void add_products(double a, double const* b, double const* magnitude, std::size_t count, Row const& row) {
  double* const value = row.value;
  double* const scale = row.scale;
  double* const low = row.low;
  double const a_magnitude = magnitude_of(a);
  for (std::size_t j = 0; j < count; ++j) {
    double const product = a * b[j];
    if constexpr (std::is_same_v<T, double>) {
      double const sum = value[j] + product;
      double const part = sum - value[j];
      low[j] += ((value[j] - (sum - part)) + (product - part)) + lost_in_product(a, b[j], product);
      value[j] = sum;
    } else {
      value[j] += product;
    }
    scale[j] += a_magnitude * magnitude[j];
  }
}

template <class T>
ExpectedField floating_product(T const* a, T const* b, std::size_t m, std::size_t n, std::size_t k) {
  constexpr bool twice = std::is_same_v<T, double>;
  ExpectedField c{
      .name = "c", .shape = {m, n}, .value = std::vector<double>(m * n), .scale = std::vector<double>(m * n)};
  std::vector<double> low(twice ? m * n : 0);
  std::vector<double> block(block_depth * block_width);
  std::vector<double> magnitude(block_depth * block_width);
  for (std::size_t j0 = 0; j0 < n; j0 += block_width) {
    std::size_t const width = std::min(block_width, n - j0);
    for (std::size_t k0 = 0; k0 < k; k0 += block_depth) {
      std::size_t const depth = std::min(block_depth, k - k0);
      for (std::size_t kk = 0; kk < depth; ++kk) {
        for (std::size_t j = 0; j < width; ++j) {
          auto const value = static_cast<double>(b[(k0 + kk) * n + j0 + j]);
          block[kk * block_width + j] = value;
          magnitude[kk * block_width + j] = magnitude_of(value);
        }
      }
      for (std::size_t i = 0; i < m; ++i) {
        std::size_t const first = i * n + j0;
        Row const row{&c.value[first], &c.scale[first], twice ? &low[first] : nullptr};
        for (std::size_t kk = 0; kk < depth; ++kk) {
          add_products<T>(static_cast<double>(a[i * k + k0 + kk]), &block[kk * block_width],
                          &magnitude[kk * block_width], width, row);
        }
      }
    }
  }
  double const lost = static_cast<double>(k) * static_cast<double>(std::numeric_limits<T>::denorm_min());
  double const most = m * n == 0 ? 0 : *std::max_element(c.scale.begin(), c.scale.end());
  for (std::size_t i = 0; i < m * n; ++i) {
    if (twice && std::isfinite(c.value[i])) c.value[i] += low[i];
    bool const may_overflow = !(c.scale[i] <= static_cast<double>(std::numeric_limits<T>::max()));
    c.scale[i] =
        may_overflow ? std::numeric_limits<double>::infinity() : c.scale[i] + lost / unit_roundoff(dtype_of<T>);
  }
  if (verify::grid_of(a, m * k).times(verify::grid_of(b, k * n)).template holds<T>(most)) c.scale.clear();
  return c;
}

ExpectedField integer_product(std::int32_t const* a, std::int32_t const* b, std::size_t m, std::size_t n,
                              std::size_t k) {
  ExpectedField c{.name = "c", .shape = {m, n}, .value = std::vector<double>(m * n), .scale = {}};
  std::vector<std::uint32_t> row(n);
  for (std::size_t i = 0; i < m; ++i) {
    std::fill(row.begin(), row.end(), 0u);
    for (std::size_t kk = 0; kk < k; ++kk) {
      auto const factor = static_cast<std::uint32_t>(a[i * k + kk]);
      for (std::size_t j = 0; j < n; ++j) row[j] += factor * static_cast<std::uint32_t>(b[kk * n + j]);
    }
    for (std::size_t j = 0; j < n; ++j) c.value[i * n + j] = static_cast<double>(static_cast<std::int32_t>(row[j]));
  }
  return c;
}

}  // namespace

template <class T>
std::vector<ExpectedField> Matmul::reference(Input<T, Kokkos::HostSpace> const& input) {
  std::size_t const m = input.a.extent(0);
  std::size_t const n = input.b.extent(1);
  std::size_t const k = input.a.extent(1);
  if constexpr (std::is_integral_v<T>) {
    return list_of(integer_product(input.a.data(), input.b.data(), m, n, k));
  } else {
    return list_of(floating_product(input.a.data(), input.b.data(), m, n, k));
  }
}

template std::vector<ExpectedField> Matmul::reference(Input<float, Kokkos::HostSpace> const&);
template std::vector<ExpectedField> Matmul::reference(Input<double, Kokkos::HostSpace> const&);
template std::vector<ExpectedField> Matmul::reference(Input<std::int32_t, Kokkos::HostSpace> const&);

}  // namespace tessera::matmul
