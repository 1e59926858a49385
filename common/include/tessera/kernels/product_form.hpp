#pragma once
/// \file
/// What Gemm (kernels/gemm.hpp) may do besides c = a b: operands that lie transposed in memory, elements of a that change
/// as they are loaded, sums that change as they are stored.

#include <Kokkos_Core.hpp>

#include <cstddef>

#include <tessera/kernels/views.hpp>

namespace tessera::kernels {

/// Elements of the left operand as memory holds them.
///
/// Another type, with `changes = true`, changes them. For a row r of a it has
/// - `Row row(r) const`: what it keeps of that row while k runs;
/// - `template <int W> void change(Row const&, k, collective::Pack<T, W>&) const`: the new values of a[r, k] .. a[r, k + W - 1];
/// - `template <int W> bool is_aligned() const`: whether its own arrays can be read W elements at a time.
/// It is not called for elements past the end of k: those stay zero and add nothing.
struct AsStored {
  static constexpr bool changes = false;
  struct Row {};
  template <int W>
  [[nodiscard]] bool is_aligned() const {
    return true;
  }
};

/// The result is the sum alone.
struct SumAlone {
  static constexpr bool changes = false;
  static constexpr bool adds = false;
};

/// The result is what c holds, plus the sum: for a product whose k comes slice by slice.
struct SumAndC {
  static constexpr bool changes = false;
  static constexpr bool adds = true;
};

/// The result is sum + bias[col]. sum_and_bias() makes it from a View.
template <class T>
struct SumAndBias {
  static constexpr bool changes = true;
  static constexpr bool adds = false;
  T const* bias;

  [[nodiscard]] KOKKOS_FUNCTION T of_column(std::size_t col) const { return bias[col]; }
  [[nodiscard]] KOKKOS_FUNCTION static T finished(T sum, T of_column) { return sum + of_column; }
};

/// \param exec where the product runs; it reaches the bias
/// \param bias [cols], consecutive elements, cols the columns of the result (a product cannot ask its bias for them). Throws
/// std::invalid_argument if it has another length or a stride.
template <ExecutionSpace Exec, class V>
  requires Readable<V, Exec, typename V::non_const_value_type, 1>
[[nodiscard]] SumAndBias<typename V::non_const_value_type> sum_and_bias(Exec const& exec, V const& bias,
                                                                        std::size_t cols) {
  (void)exec;
  return {contiguous(bias, cols)};
}

/// A product's operands: a is stored as [m, k] or, transposed, as [k, m]; b as [k, n] or, transposed, as [n, k].
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

/// c = a b, and nothing else; then the same where memory holds an operand's transpose.
using PlainProduct = ProductForm<>;
using TransposedA = ProductForm<true, false>;
using TransposedB = ProductForm<false, true>;
/// c += a b.
using AddedProduct = ProductForm<false, false, AsStored, SumAndC>;

/// How k is split into parts, of which a team sums one: `count` parts of `size`. The last may be shorter.
struct KParts {
  std::size_t k;
  std::size_t size;
  int count = 1;

  [[nodiscard]] KOKKOS_FUNCTION std::size_t begin(int part) const { return static_cast<std::size_t>(part) * size; }
  [[nodiscard]] KOKKOS_FUNCTION std::size_t end(int part) const {
    std::size_t const whole = begin(part) + size;
    return whole < k ? whole : k;
  }
};

}  // namespace tessera::kernels
