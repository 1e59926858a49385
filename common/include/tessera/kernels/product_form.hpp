#pragma once
/// \file
/// Variants of Gemm (kernels/gemm.hpp) besides c = a b: operands that are stored transposed, elements of a that change
/// when they are loaded, sums that change when they are stored.

#include <Kokkos_Core.hpp>

#include <cstddef>

#include <tessera/kernels/detail/launch/views.hpp>

namespace tessera::kernels {

/// Elements of the left operand as memory holds them.
///
/// Another type, with `changes = true`, changes them. For a row r of a it has
/// - `Row row(r) const`: the data that it keeps for that row while k runs;
/// - `template <int W> void change(Row const&, k, collective::Pack<T, W>&) const`: computes the new values of a[r, k]
///   .. a[r, k + W - 1];
/// - `template <int W> bool is_aligned() const`: whether its own arrays can be read W elements at a time.
/// It is not called for elements past the end of k: these stay zero and add nothing.
struct AsStored {
  static constexpr bool changes = false;
  struct Row {};
  template <int W>
  [[nodiscard]] bool is_aligned() const {
    return true;
  }
};

/// The result is only the sum.
struct SumAlone {
  static constexpr bool changes = false;
  static constexpr bool adds = false;
};

/// The result is the old value of c plus the sum: for a product whose k is processed slice by slice.
struct SumAndC {
  static constexpr bool changes = false;
  static constexpr bool adds = true;
};

/// The result is sum + bias[col]. Made from a View by sum_and_bias().
template <class T>
struct SumAndBias {
  static constexpr bool changes = true;
  static constexpr bool adds = false;
  T const* bias;

  [[nodiscard]] KOKKOS_FUNCTION T of_column(std::size_t col) const { return bias[col]; }
  [[nodiscard]] KOKKOS_FUNCTION static T finished(T sum, T of_column) { return sum + of_column; }
};

/// Returns the SumAndBias for a View. Throws std::invalid_argument if it has another length or a stride.
///
/// \tparam Exec the space in which the product runs; it must be able to access the bias
/// \param bias [cols], contiguous
/// \param cols columns of the result (a product cannot check the length of its bias)
template <ExecutionSpace Exec, class V>
  requires Readable<V, Exec, typename V::non_const_value_type, 1>
[[nodiscard]] SumAndBias<typename V::non_const_value_type> sum_and_bias(Exec const& /*exec*/, V const& bias,
                                                                        std::size_t cols) {
  return {contiguous(bias, cols)};
}

/// A store that also takes an element of another array, stored as c: `of_element(i)` for the element i of c, row-major.
/// It is added to the finished sum.
template <class Store>
concept TakesElements = requires(Store const& store, std::size_t i) { store.of_element(i); };

/// Returns x Phi(x), the Gaussian error linear unit, with the error function (no approximation by tanh).
///
/// Source: D. Hendrycks, K. Gimpel, Gaussian error linear units (2016).
template <class T>
[[nodiscard]] KOKKOS_INLINE_FUNCTION T gelu(T x) {
  constexpr T root_half = T(0.70710678118654752440L);
  return T(0.5) * x * (T(1) + Kokkos::erf(x * root_half));
}

/// Returns the derivative of gelu, Phi(x) + x phi(x), with the normal distribution's integral and density.
template <class T>
[[nodiscard]] KOKKOS_INLINE_FUNCTION T gelu_derivative(T x) {
  constexpr T root_half = T(0.70710678118654752440L);
  constexpr T most_density = T(0.39894228040143267794L);  // 1 / sqrt(2 pi)
  return T(0.5) * (T(1) + Kokkos::erf(x * root_half)) + x * most_density * Kokkos::exp(T(-0.5) * x * x);
}

/// The result is gelu(sum + bias[col]).
template <class T>
struct GeluOfSumAndBias : SumAndBias<T> {
  [[nodiscard]] KOKKOS_FUNCTION static T finished(T sum, T of_column) { return gelu(sum + of_column); }
};

/// Returns the GeluOfSumAndBias for a View. Throws std::invalid_argument as sum_and_bias does.
///
/// \param bias [cols], contiguous
/// \param cols columns of the result
template <ExecutionSpace Exec, class V>
[[nodiscard]] GeluOfSumAndBias<typename V::non_const_value_type> gelu_of_sum_and_bias(Exec const& exec, V const& bias,
                                                                                      std::size_t cols) {
  return {sum_and_bias(exec, bias, cols)};
}

/// The result is sum + bias[col] + residual[row, col]. `residual` must not overlap c.
template <class T>
struct SumBiasAndResidual : SumAndBias<T> {
  T const* residual;

  [[nodiscard]] KOKKOS_FUNCTION T of_element(std::size_t i) const { return residual[i]; }
};

/// Returns the SumBiasAndResidual for Views. Throws std::invalid_argument as sum_and_bias does.
///
/// \param bias [cols], contiguous
/// \param residual [rows, cols], row-major
template <ExecutionSpace Exec, class V, class R>
  requires Readable<R, Exec, typename V::non_const_value_type, 2>
[[nodiscard]] SumBiasAndResidual<typename V::non_const_value_type> sum_bias_and_residual(Exec const& exec,
                                                                                         V const& bias,
                                                                                         R const& residual) {
  return {sum_and_bias(exec, bias, residual.extent(1)), row_major(residual, residual.extent(0), residual.extent(1))};
}

/// The operands of a product: a is stored as [m, k] or, transposed, as [k, m]; b as [k, n] or, transposed, as [n, k].
template <bool ATransposed = false, bool BTransposed = false, class LoadOfA = AsStored, class StoreOfC = SumAlone>
struct ProductForm {
  static_assert(!(ATransposed && LoadOfA::changes), "Tessera: only rows that lie contiguous are changed on the way");
  static constexpr bool a_transposed = ATransposed;
  static constexpr bool b_transposed = BTransposed;
  using Load = LoadOfA;
  using Store = StoreOfC;

  Load load{};
  Store store{};
};

/// c = a b; then the same with a transposed operand in memory.
using PlainProduct = ProductForm<>;
using TransposedA = ProductForm<true, false>;
using TransposedB = ProductForm<false, true>;
/// c += a b.
using AddedProduct = ProductForm<false, false, AsStored, SumAndC>;

}  // namespace tessera::kernels
