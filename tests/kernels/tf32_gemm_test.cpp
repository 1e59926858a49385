// The matrix product with factors of one or two tf32 terms, of a or of its transpose, with emulated lanes: under a team
// that runs its threads in the worst order, with copies that arrive at the earliest and at the latest moment; and
// completely under Kokkos. tests/apps/broken_matmul_test.cpp tests two terms further.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <Kokkos_Core.hpp>

#include "adversarial_league.hpp"
#include "adversarial_team.hpp"
#include "emulated_copies.hpp"
#include "product_cases.hpp"

#include <tessera/collective/async_copy.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/largest_magnitude.hpp>
#include <tessera/kernels/tf32_gemm.hpp>

namespace tessera::test {
namespace {

using Early = EmulatedCopies<Arrival::at_once>;
using Late = EmulatedCopies<Arrival::at_wait>;
using kernels::Tf32Tile;

// Thread grids 2 x 1, 1 x 2 and 2 x 2. In the last tile, lanes copy several pieces of a row of the transpose, as a
// GPU's lanes copy single elements.
using Down = Tf32Tile<2, 1, 2, 4, 3, 1>;
using Across = Tf32Tile<1, 2, 1, 4, 2, 1>;
using Both = Tf32Tile<2, 2, 1, 4, 3, 1>;
using High = Tf32Tile<1, 1, 8, 4, 2, 1>;
// For units of 64 lanes.
using Wide = Tf32Tile<2, 2, 2, 4, 3, 1, 64>;
using WideHigh = Tf32Tile<1, 1, 8, 4, 2, 1, 64>;

// Runs the teams of the launch one after another.
template <class Tile, int Terms, int Width, class Copies, class Form>
void run_all_teams(Extents const& e, Product<float, Form>& product, Order order) {
  using Kernel = kernels::detail::Tf32Product<AdversarialSpace, lane::Emulated<Tile::Unit::lanes>, Tile, Terms, Width,
                                              Copies, Form>;
  collective::MatrixTiles const tiles{
      .rows = e.m, .cols = e.n, .tile_rows = Tile::rows, .tile_cols = Tile::cols, .band = 2};
  Kernel const kernel{product.a, product.b, product.c, e.k, tiles, product.form().store};
  run_league(kernel, league_of(tiles.count()), Tile::threads, order);
}

// Extents around the edges of tiles and slices: arbitrary ones, and ones with whole packs in the rows of all matrices.
std::vector<Extents> const odd_extents = {{1, 1, 1},    {1, 1, 0},    {3, 40, 0},   {1, 33, 9},    {35, 1, 17},
                                          {17, 15, 33}, {31, 36, 47}, {67, 35, 16}, {130, 33, 15}, {129, 70, 50}};
std::vector<Extents> const even_extents = {{4, 4, 1},    {4, 4, 0},    {36, 4, 17},   {4, 68, 9},
                                           {32, 32, 16}, {64, 64, 32}, {132, 36, 47}, {100, 132, 130}};

// Small whole numbers: the result must equal plain loops bit by bit.
template <class Tile, int Terms, int Width, class Copies = Late, class Form = kernels::TransposedA>
void expect_right() {
  for (Extents const& e : Width == 4 ? even_extents : odd_extents) {
    Product<float, Form> product(e);
    for (Order const order : all_orders) {
      product.renew();
      run_all_teams<Tile, Terms, Width, Copies>(e, product, order);
      product.expect_right(text_of(e) + name_of(order));
    }
  }
}

TEST(Tf32Product, OfWavefronts) {
  expect_right<Wide, 2, 4>();
  expect_right<WideHigh, 1, 1>();
  expect_right<Wide, 2, 1, Early>();
  expect_right<Wide, 2, 1, Late, kernels::PlainProduct>();
  expect_right<WideHigh, 1, 1, Late, kernels::PlainProduct>();
}

using TransposedIntoC = kernels::ProductForm<true, false, kernels::AsStored, kernels::SumAndC>;

TEST(Tf32Product, OfTransposedFactorInAnyOrder) {
  expect_right<Down, 1, 4>();
  expect_right<Across, 2, 4>();
  expect_right<Both, 2, 4>();
  expect_right<High, 2, 4>();
}
TEST(Tf32Product, OfTransposedFactorOfAnyExtents) {
  expect_right<Down, 2, 1>();
  expect_right<Across, 1, 1>();
  expect_right<High, 2, 1>();
}
TEST(Tf32Product, OfTransposedFactorCopiedAtOnce) {
  expect_right<Both, 1, 1, Early>();
  expect_right<Down, 2, 4, collective::HardwareCopies>();
}
TEST(Tf32Product, AddsTransposedFactorToC) { expect_right<Both, 2, 4, Late, TransposedIntoC>(); }

// Values with 24 bits, so that both terms of a factor matter. worst_error() returns the largest error of an element,
// relative to the sum of its terms' magnitudes.
void fill_odd(float* values, std::size_t count, std::size_t first) {
  for (std::size_t i = 0; i < count; ++i) {
    auto const bits = static_cast<float>(0x80'0001U + (i * 7 + first) * 7'654'321U % 0x7f'ffffU);
    values[i] = std::ldexp(i % 3 == 0 ? -bits : bits, -24);
  }
}
template <class Form>
[[nodiscard]] double worst_error(Extents const& e, Product<float, Form> const& product) {
  double worst = 0;
  for (std::size_t i = 0; i < e.m; ++i) {
    for (std::size_t j = 0; j < e.n; ++j) {
      double sum = 0;
      double magnitude = 0;
      for (std::size_t k = 0; k < e.k; ++k) {
        double const term = static_cast<double>(product.a[Form::a_transposed ? k * e.m + i : i * e.k + k]) *
                            static_cast<double>(product.b[k * e.n + j]);
        sum += term;
        magnitude += std::abs(term);
      }
      worst = std::max(worst, std::abs(static_cast<double>(product.c[i * e.n + j]) - sum) / magnitude);
    }
  }
  return worst;
}
template <int Terms, class Form, class Tile = Both>
[[nodiscard]] double error_of(Extents const& e) {
  Product<float, Form> product(e);
  fill_odd(product.a, e.m * e.k, 3);
  fill_odd(product.b, e.k * e.n, 1);
  run_all_teams<Tile, Terms, 4, Late>(e, product, Order::ascending);
  return worst_error(e, product);
}
// The error bound that a Tf32Gemm of two terms states.
double stated(Extents const& e) {
  kernels::Tf32Gemm<Kokkos::DefaultHostExecutionSpace, 2> const gemm({}, e.m, e.n, e.k);
  return gemm.error() + gemm.rounding_steps() * 0x1p-24;
}

TEST(Tf32Product, HasTheAccuracyThatItStates) {
  for (Extents const& e : even_extents) {
    if (e.k == 0) continue;
    EXPECT_LE((error_of<2, kernels::TransposedA>(e)), stated(e)) << text_of(e);
    EXPECT_LE((error_of<2, kernels::TransposedA, Wide>(e)), stated(e)) << text_of(e);
  }
  Extents const whole_packs{36, 36, 100};
  EXPECT_LE((error_of<2, kernels::PlainProduct>(whole_packs)), stated(whole_packs));
  EXPECT_LE((error_of<2, kernels::PlainProduct, Wide>(whole_packs)), stated(whole_packs));
}
TEST(BrokenTf32Product, LosesTheLowTerms) {
  Extents const e{36, 36, 100};
  EXPECT_GT((error_of<1, kernels::TransposedA>(e)), stated(e));
  EXPECT_GT((error_of<1, kernels::TransposedA, Wide>(e)), stated(e));
}

// Mistake: waits for one copy group too few.
struct WaitsTooLittle : Late {
  template <int N>
  KOKKOS_FUNCTION void wait() const {
    Late::wait<N + 1>();
  }
};
// Mistake: fills elements outside the matrices with ones instead of zeros.
struct IgnoresTheMask : Late {
  static constexpr float ones[4] = {1, 1, 1, 1};
  template <int Bytes>
  KOKKOS_FUNCTION void copy_async(void* to, void const* from, bool take) const {
    Late::copy_async<Bytes>(to, take ? from : ones, true);
  }
};
template <class Copies>
[[nodiscard]] std::size_t wrong_elements(Extents const& e) {
  Product<float, kernels::TransposedA> product(e);
  run_all_teams<Both, 2, 4, Copies>(e, product, Order::ascending);
  return product.wrong_elements();
}
TEST(BrokenTf32Product, WaitsTooLittle) { EXPECT_GT(wrong_elements<WaitsTooLittle>({36, 36, 200}), 0u); }
TEST(BrokenTf32Product, IgnoresTheMask) { EXPECT_GT(wrong_elements<IgnoresTheMask>({36, 36, 50}), 0u); }

using Host = Kokkos::DefaultHostExecutionSpace;

template <int Terms, class Form>
void expect_product(Extents const& e) {
  Product<float, Form> product(e);
  Host const exec;
  kernels::Tf32Gemm<Host, Terms, Form> const multiply(exec, e.m, e.n, e.k);
  for (int run = 0; run < 2; ++run) {
    product.renew();
    multiply(exec, by_rows(product.a, e.m, e.k, Form::a_transposed), by_rows(product.b, e.k, e.n),
             by_rows(product.c, e.m, e.n), product.form());
    exec.fence();
    product.expect_right(text_of(e));
  }
}
TEST(Tf32Gemm, OnHosts) {
  std::vector<Extents> all = odd_extents;
  all.insert(all.end(), even_extents.begin(), even_extents.end());
  // Rows of a are whole packs as stored, or only in the transposed matrix.
  all.insert(all.end(), {{0, 5, 3}, {5, 0, 3}, {0, 0, 0}, {129, 65, 300}, {33, 36, 20}, {36, 36, 21}});
  for (Extents const& e : all) {
    expect_product<1, kernels::TransposedA>(e);
    expect_product<2, kernels::TransposedA>(e);
    expect_product<2, kernels::PlainProduct>(e);
    expect_product<2, kernels::ProductForm<false, false, kernels::AsStored, kernels::SumAndBias<float>>>(e);
  }
}

TEST(Tf32Gemm, RefusesWhatItCannotRead) {
  Host const exec;
  std::vector<float> data(100), result(20);
  kernels::Tf32Gemm<Host, 2, kernels::TransposedA> const multiply(exec, 4, 5, 6);
  auto const a = by_rows(data.data(), 6, 4);
  auto const b = by_rows(data.data(), 6, 5);
  auto const c = by_rows(result.data(), 4, 5);
  EXPECT_NO_THROW(multiply(exec, a, b, c));
  EXPECT_THROW(multiply(exec, by_rows(data.data(), 4, 6), b, c), std::invalid_argument);
  EXPECT_THROW(multiply(exec, a, by_rows(data.data(), 5, 6), c), std::invalid_argument);
  EXPECT_THROW(multiply(exec, a, b, by_rows(result.data(), 5, 4)), std::invalid_argument);
  EXPECT_THROW(multiply(exec, a, b, by_rows(data.data(), 4, 5)), std::invalid_argument);  // in a's memory
}

// largest_magnitude shows whether the data suit the units.
TEST(LargestMagnitude, OfAllElements) {
  Host const exec;
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> data(1000, 1.0F);
  auto const largest = [&] { return kernels::largest_magnitude(exec, by_rows(data.data(), 25, 40)); };
  EXPECT_EQ(largest(), 1.0F);
  data[0] = -3;
  EXPECT_EQ(largest(), 3.0F);
  data[999] = -std::numeric_limits<float>::infinity();
  EXPECT_EQ(largest(), std::numeric_limits<float>::infinity());
  std::ranges::fill(data, nan);
  EXPECT_EQ(largest(), 0.0F);
  data[500] = -7;
  EXPECT_EQ(largest(), 7.0F);
  EXPECT_EQ(kernels::largest_magnitude(exec, by_rows(data.data(), 0, 40)), 0.0F);
  auto const matrix = by_rows(data.data(), 25, 40);
  EXPECT_THROW((void)kernels::largest_magnitude(exec, Kokkos::subview(matrix, Kokkos::ALL, 1)), std::invalid_argument);
}

}  // namespace
}  // namespace tessera::test
