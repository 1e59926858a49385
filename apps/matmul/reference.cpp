/// \file
/// The serial oracle of matmul: verify/product_sums.hpp's loops over blocks of rows, columns and k, in double.
///
/// If the products of all elements lie on one grid (the product of both inputs' grids) on which the dtype holds each
/// element's sum of magnitudes, every partial sum is exact in any order, fused or not (verify/grid.hpp): results must
/// be equal. A scale is kept for rows that round the factors to fewer bits.
///
/// Error bound otherwise. A variant makes K products and K - 1 additions per element, fused or not, in some order. With
/// s the longest chain of roundings and u the unit roundoff, the error is at most ((1 + u)^s - 1) * sum_k |a_ik b_kj|
/// (Higham, Accuracy and Stability of Numerical Algorithms, 3.5). The scale is this sum of magnitudes; the variant
/// reports s. Products of floats are exact in double, and their sum's error is 2^-29 of the bound; for double, products
/// and sums have twice the precision (Dekker's product, Knuth's sum). A product that underflows loses at most half the
/// smallest denormal: the verifier allows one denormal per step, and K denormals added to the scale, in units of u,
/// cover the others. If the sum of magnitudes exceeds the dtype's range, a partial result may overflow in some orders
/// only; the element is not checked (scale infinity). Terms with a NaN or an infinity have no magnitude: the element is
/// then not finite, and its value does not depend on the order.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "problem.hpp"

#include <tessera/core/host_threads.hpp>
#include <tessera/table/references.hpp>
#include <tessera/verify/grid.hpp>
#include <tessera/verify/product_sums.hpp>

namespace tessera::matmul {

namespace {

template <class T>
ExpectedField floating_product(T const* a, T const* b, std::size_t m, std::size_t n, std::size_t k) {
  ExpectedField c = zero_field("c", {m, n}, true);
  double const lost =
      static_cast<double>(k) * static_cast<double>(std::numeric_limits<T>::denorm_min()) / unit_roundoff(dtype_of<T>);
  // Some rows of a and some of b at a time, because the factors in double are twice or four times as large as the
  // inputs. Rows are independent: each block of rows is a serial loop, and several run in parallel.
  constexpr std::size_t block_rows = 256;
  constexpr std::size_t block_depth = 512;
  std::vector<double> most_of_block(blocks_in(m, block_rows));
  for_blocks(n > 0 ? m : 0, block_rows, [&](std::size_t block, std::size_t first, std::size_t end) {
    std::size_t const rows = end - first;
    verify::ProductSums sums(rows, n, std::is_same_v<T, double>);
    for (std::size_t k0 = 0; k0 < k; k0 += block_depth) {
      std::size_t const depth = std::min(block_depth, k - k0);
      sums.add(verify::factor_of(a + first * k + k0, rows, depth, k), verify::factor_of(b + k0 * n, depth, n, n),
               depth);
    }
    for (std::size_t i = 0; i < rows * n; ++i) {
      double const scale = sums.scale(i);
      bool const may_overflow = !(scale <= static_cast<double>(std::numeric_limits<T>::max()));
      most_of_block[block] = std::max(most_of_block[block], scale);
      c.value[first * n + i] = sums.value(i);
      c.scale[first * n + i] = may_overflow ? std::numeric_limits<double>::infinity() : scale + lost;
    }
  });
  double const most = most_of_block.empty() ? 0 : *std::ranges::max_element(most_of_block);
  c.exact = verify::grid_of(a, m * k).times(verify::grid_of(b, k * n)).template holds<T>(most);
  // No row rounds factors to fewer bits than bfloat16, so inputs of at most this many bits need no scale.
  constexpr int fewest_bits = 8;
  if (c.exact && verify::fit_into_bits(a, m * k, fewest_bits) && verify::fit_into_bits(b, k * n, fewest_bits)) {
    c.scale = {};
  }
  return c;
}

[[maybe_unused]] ExpectedField integer_product(std::int32_t const* a, std::int32_t const* b, std::size_t m,
                                               std::size_t n, std::size_t k) {
  ExpectedField c = zero_field("c", {m, n});
  // Each row is a serial loop; several run in parallel.
  for_blocks(n > 0 ? m : 0, 1, [&](std::size_t i, std::size_t, std::size_t) {
    std::vector<std::uint32_t> row(n);
    for (std::size_t kk = 0; kk < k; ++kk) {
      auto const factor = static_cast<std::uint32_t>(a[i * k + kk]);
      for (std::size_t j = 0; j < n; ++j) row[j] += factor * static_cast<std::uint32_t>(b[kk * n + j]);
    }
    for (std::size_t j = 0; j < n; ++j) c.value[i * n + j] = static_cast<double>(static_cast<std::int32_t>(row[j]));
  });
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

}  // namespace tessera::matmul

template struct tessera::References<tessera::matmul::Matmul>;
