#pragma once
// Matrix products with known results, for tests of product kernels. All matrices end at guard pages.

#include <cstddef>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <Kokkos_Core.hpp>

#include <tessera/collective/pack.hpp>
#include <tessera/kernels/product_form.hpp>

#include "guarded_array.hpp"

namespace tessera::test {

struct Extents {
  std::size_t m;
  std::size_t n;
  std::size_t k;
};

[[nodiscard]] inline std::string text_of(Extents const& e) {
  return std::to_string(e.m) + " x " + std::to_string(e.n) + " x " + std::to_string(e.k);
}

// Small integers: every sum is exact in every type.
template <class T>
[[nodiscard]] T small(std::size_t i, std::size_t step) {
  return static_cast<T>(i * step % 13) - static_cast<T>(std::numeric_limits<T>::is_signed ? 5 : 0);
}

// A load operation for a: the new value depends on the old one, the row and k. One row becomes infinite.
template <class T>
struct TimesRowPlusK {
  static constexpr bool changes = true;
  struct Row {
    T factor;
  };
  T const* factors;  // [m]
  T const* of_k;     // [k]

  KOKKOS_FUNCTION Row row(std::size_t r) const { return {factors[r]}; }
  template <int W>
  KOKKOS_FUNCTION void change(Row const& row, std::size_t k, collective::Pack<T, W>& values) const {
    for (int e = 0; e < W; ++e) values[e] = values[e] * row.factor + row.factor + of_k[k + e];
  }
  template <int W>
  [[nodiscard]] bool is_aligned() const {
    return true;
  }
};

using kernels::AddedProduct;
using kernels::PlainProduct;
using kernels::ProductForm;
using kernels::TransposedA;
using kernels::TransposedB;
using TransposedBoth = ProductForm<true, true>;
template <class T>
using Biased = ProductForm<false, true, kernels::AsStored, kernels::SumAndBias<T>>;
template <class T>
using Changed = ProductForm<false, true, TimesRowPlusK<T>, kernels::SumAndBias<T>>;

template <class T, class Form = PlainProduct>
class Product {
 public:
  explicit Product(Extents const& e)
      : extents_(e),
        a_(e.m * e.k + 1),
        b_(e.k * e.n + 1),
        c_(e.m * e.n + 1),
        factors_(e.m + 1),
        of_k_(e.k + 1),
        bias_(e.n + 1) {
    a = a_.last(e.m * e.k);
    b = b_.last(e.k * e.n);
    factors = factors_.last(e.m);
    of_k = of_k_.last(e.k);
    bias = bias_.last(e.n);
    for (std::size_t i = 0; i < e.m * e.k; ++i) a[i] = small<T>(i, 7);
    // b has one sign if a row of a becomes infinite, so that its sums are infinite and not NaN.
    for (std::size_t i = 0; i < e.k * e.n; ++i) b[i] = Form::Load::changes ? static_cast<T>(1 + i % 4) : small<T>(i, 5);
    for (std::size_t i = 0; i < e.m; ++i) factors[i] = static_cast<T>(1 + i % 3);
    if (std::is_floating_point_v<T> && e.m > 2) {
      factors[e.m / 2] = std::numeric_limits<T>::infinity();
      for (std::size_t k = 0; k < e.k; ++k) a[Form::a_transposed ? k * e.m + e.m / 2 : e.m / 2 * e.k + k] = T(1);
    }
    for (std::size_t i = 0; i < e.k; ++i) of_k[i] = static_cast<T>(1 + i % 5);
    for (std::size_t i = 0; i < e.n; ++i) bias[i] = static_cast<T>(100 + i);
    renew();
  }

  void renew() {
    c = c_.last(extents_.m * extents_.n);
    for (std::size_t i = 0; i < extents_.m * extents_.n; ++i) c[i] = held;
  }

  [[nodiscard]] Form form() const {
    Form form;
    if constexpr (Form::Load::changes) form.load = {factors, of_k};
    if constexpr (Form::Store::changes) form.store = {bias};
    return form;
  }

  void expect_right(std::string const& what) const {
    EXPECT_EQ(wrong_elements(), 0u) << what;
    EXPECT_TRUE(c_.untouched()) << what;
  }

  [[nodiscard]] std::size_t wrong_elements() const {
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < extents_.m; ++i) {
      for (std::size_t j = 0; j < extents_.n; ++j) {
        T sum = Form::Store::adds ? held : T(0);
        for (std::size_t k = 0; k < extents_.k; ++k) {
          T left = a[Form::a_transposed ? k * extents_.m + i : i * extents_.k + k];
          if constexpr (Form::Load::changes) left = left * factors[i] + factors[i] + of_k[k];
          sum += left * b[Form::b_transposed ? j * extents_.k + k : k * extents_.n + j];
        }
        if constexpr (Form::Store::changes) sum += bias[j];
        if (c[i * extents_.n + j] != sum) ++wrong;
      }
    }
    return wrong;
  }

  static constexpr T held = static_cast<T>(-77);  // initial value of c

  T* a;
  T* b;
  T* c;
  T* factors;
  T* of_k;
  T* bias;

 private:
  Extents extents_;
  GuardedArray<T> a_;
  GuardedArray<T> b_;
  GuardedArray<T> c_;
  GuardedArray<T> factors_;
  GuardedArray<T> of_k_;
  GuardedArray<T> bias_;
};

// Extents around the edges of blocks and steps; with Width above 1, k and n are multiples of Width.
inline std::vector<Extents> const any_extents = {
    {1, 1, 1},    {1, 1, 0},    {3, 200, 0},   {1, 150, 9},   {150, 1, 17},   {5, 7, 8},     {64, 64, 16},
    {65, 63, 15}, {63, 65, 33}, {128, 128, 8}, {127, 129, 7}, {129, 127, 25}, {131, 67, 16}, {257, 131, 31}};
inline std::vector<Extents> const packs_extents = {{1, 4, 4},     {1, 4, 0},     {3, 200, 0},    {1, 132, 12},
                                                   {150, 4, 20},  {64, 64, 16},  {65, 60, 12},   {63, 68, 36},
                                                   {128, 128, 8}, {127, 132, 4}, {129, 124, 28}, {257, 260, 44}};

/// Returns a View of a row-major matrix, or of its transpose.
template <class T>
[[nodiscard]] auto by_rows(T* data, std::size_t rows, std::size_t cols, bool transposed = false) {
  using Matrix = Kokkos::View<T**, Kokkos::LayoutRight, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  return transposed ? Matrix(data, cols, rows) : Matrix(data, rows, cols);
}

}  // namespace tessera::test
