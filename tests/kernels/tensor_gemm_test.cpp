// The matrix product on matrix units, with emulated lanes: under a team that runs its threads in the worst order, with
// copies that arrive at the earliest and at the latest moment; and completely under Kokkos. Factors are small whole
// numbers that both 16-bit types represent exactly, so results equal those of plain loops bit by bit.

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <Kokkos_Core.hpp>

#include "adversarial_league.hpp"
#include "adversarial_team.hpp"
#include "emulated_copies.hpp"
#include "guarded_array.hpp"
#include "product_cases.hpp"

#include <tessera/collective/async_copy.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/tensor_gemm.hpp>

namespace tessera::test {
namespace {

using Early = EmulatedCopies<Arrival::at_once>;
using Late = EmulatedCopies<Arrival::at_wait>;
using kernels::TensorTile;

// Thread grids 2 x 1, 1 x 2 and 2 x 2, with one, two and three slices per stage.
using Down = TensorTile<2, 1, 1, 2, 3, 2, 1>;
using Across = TensorTile<1, 2, 2, 1, 2, 1, 1>;
using Both = TensorTile<2, 2, 1, 1, 4, 3, 1>;
// For units of 64 lanes.
using WideDown = TensorTile<2, 1, 2, 1, 2, 2, 1, 64>;
using WideBoth = TensorTile<2, 2, 1, 2, 3, 1, 1, 64>;

// Runs both launches, one call and one team after another. Returns the number of wrong elements. The workspace ends at
// a guard page.
template <class Factor, class Tile, class Form, class Copies>
[[nodiscard]] std::size_t wrong_elements(Extents const& e, Product<float, Form>& product, Order order) {
  using Lanes = lane::Emulated<Tile::width>;
  using FactorWords = kernels::detail::FactorWords<Tile::width>;
  using Kernel = kernels::detail::PackedProduct<AdversarialSpace, Lanes, Factor, Tile, Copies, typename Form::Store>;
  std::size_t const down = tiles_of(e.m, Tile::rows) * (Tile::rows / 16);
  std::size_t const across = tiles_of(e.n, Tile::cols) * (Tile::cols / 16);
  std::size_t const stages = tiles_of(e.k, Tile::depth);
  std::size_t const slices = stages * Tile::slices;
  GuardedArray<FactorWords> of_a(down * slices * Lanes::width + 1);
  GuardedArray<FactorWords> of_b(across * slices * Lanes::width + 1);
  FactorWords* const packed_a = of_a.last(down * slices * Lanes::width);
  FactorWords* const packed_b = of_b.last(across * slices * Lanes::width);
  if (slices > 0) {
    kernels::detail::PackLeft<Factor, Form, Tile::width> const left{
        {product.a, e.m, e.k, e.k % 4 == 0, product.form().load}, down, slices, collective::Divider(slices), packed_a};
    kernels::detail::PackRight<Factor, Form, Tile::width> const right{
        product.b, e.k, e.n, across, collective::Divider(across), e.n % 2 == 0, packed_b};
    for (std::size_t i = 0; i < down * slices * Lanes::width; ++i) left(i);
    for (std::size_t i = 0; i < across * slices * Lanes::width; ++i) right(i);
  }
  collective::MatrixTiles const tiles{
      .rows = e.m, .cols = e.n, .tile_rows = Tile::rows, .tile_cols = Tile::cols, .band = 2};
  Kernel const kernel{packed_a,
                      packed_b,
                      product.c,
                      down,
                      across,
                      static_cast<int>(stages),
                      tiles,
                      product.form().store,
                      e.n % 4 == 0 && collective::is_aligned_for_packs<4>(product.c)};
  run_league(kernel, league_of(tiles.count()), Tile::threads, order);
  EXPECT_TRUE(of_a.untouched() && of_b.untouched());
  return product.wrong_elements();
}

// Extents around the edges of blocks, tiles and stages.
std::vector<Extents> const extents = {{1, 1, 1},    {1, 1, 0},    {3, 40, 0},   {1, 33, 9},
                                      {35, 1, 17},  {5, 7, 8},    {16, 16, 16}, {17, 15, 33},
                                      {32, 32, 32}, {31, 36, 47}, {33, 68, 49}, {66, 70, 130}};

template <class Factor, class Tile, class Copies = Late, class Form = kernels::PlainProduct>
void expect_right() {
  for (Extents const& e : extents) {
    Product<float, Form> product(e);
    for (Order const order : all_orders) {
      product.renew();
      EXPECT_EQ((wrong_elements<Factor, Tile, Form, Copies>(e, product, order)), 0u) << text_of(e) + name_of(order);
      product.expect_right(text_of(e));
    }
  }
}

TEST(PackedProduct, InAnyOrder) {
  expect_right<BFloat16, Down>();
  expect_right<Half, Across>();
  expect_right<BFloat16, Both>();
}
TEST(PackedProduct, OfWavefronts) {
  expect_right<BFloat16, WideDown>();
  expect_right<Half, WideBoth, Early>();
  expect_right<Half, WideDown, Late, TransposedBoth>();
  expect_right<BFloat16, WideBoth, Late, Changed<float>>();
  expect_right<Half, WideDown, Late, kernels::AddedProduct>();
}
TEST(PackedProduct, CopiesAtOnce) {
  expect_right<Half, Down, Early>();
  expect_right<BFloat16, Both, collective::HardwareCopies>();
}
TEST(PackedProduct, OfTransposedOperands) {
  expect_right<Half, Down, Late, kernels::TransposedA>();
  expect_right<BFloat16, Across, Late, kernels::TransposedB>();
  expect_right<Half, Both, Late, TransposedBoth>();
}
TEST(PackedProduct, ChangesWhatItLoadsAndStores) {
  expect_right<BFloat16, Down, Late, Changed<float>>();
  expect_right<Half, Across, Late, Biased<float>>();
  expect_right<Half, Both, Late, kernels::AddedProduct>();
}

// Mistake: waits for one copy group too few.
struct WaitsTooLittle : Late {
  template <int N>
  KOKKOS_FUNCTION void wait() const {
    Late::wait<N + 1>();
  }
};
TEST(BrokenPackedProduct, WaitsTooLittle) {
  Extents const e{33, 33, 200};
  Product<float> product(e);
  EXPECT_EQ((wrong_elements<Half, Down, kernels::PlainProduct, Late>(e, product, Order::ascending)), 0u);
  product.renew();
  EXPECT_GT((wrong_elements<Half, Down, kernels::PlainProduct, WaitsTooLittle>(e, product, Order::ascending)), 0u);
  product.renew();
  EXPECT_GT((wrong_elements<Half, Across, kernels::PlainProduct, WaitsTooLittle>(e, product, Order::ascending)), 0u);
  product.renew();
  EXPECT_GT((wrong_elements<Half, WideBoth, kernels::PlainProduct, WaitsTooLittle>(e, product, Order::ascending)), 0u);
}

using Host = Kokkos::DefaultHostExecutionSpace;

template <class Factor, class Form = kernels::PlainProduct>
void expect_product(Extents const& e) {
  Product<float, Form> product(e);
  Host const exec;
  kernels::TensorGemm<Host, Factor, Form> const multiply(exec, e.m, e.n, e.k);
  for (int run = 0; run < 2; ++run) {
    product.renew();
    multiply(exec, by_rows(product.a, e.m, e.k, Form::a_transposed), by_rows(product.b, e.k, e.n, Form::b_transposed),
             by_rows(product.c, e.m, e.n), product.form());
    exec.fence();
    product.expect_right(text_of(e));
  }
}

TEST(TensorGemm, OnHosts) {
  std::vector<Extents> all = extents;
  all.insert(all.end(), {{0, 5, 3}, {5, 0, 3}, {0, 0, 0}, {129, 65, 300}});
  for (Extents const& e : all) {
    expect_product<Half>(e);
    expect_product<BFloat16>(e);
    expect_product<BFloat16, kernels::TransposedA>(e);
    expect_product<Half, kernels::TransposedB>(e);
    expect_product<BFloat16, Changed<float>>(e);
  }
}

// Only factors are rounded, to nearest.
TEST(TensorGemm, RoundsFactors) {
  Host const exec;
  auto const product_of = [&]<class Factor>(Factor, float x) {
    float b[1] = {1};
    float c[1] = {-77};
    kernels::TensorGemm<Host, Factor> const multiply(exec, 1, 1, 1);
    multiply(exec, by_rows(&x, 1, 1), by_rows(b, 1, 1), by_rows(c, 1, 1));
    exec.fence();
    return c[0];
  };
  EXPECT_EQ(product_of(Half{}, 1 + 0x1p-10F), 1 + 0x1p-10F);
  EXPECT_EQ(product_of(Half{}, 1 + 0x1.8p-10F), 1 + 0x1p-9F);  // a tie, to even
  EXPECT_EQ(product_of(Half{}, 0x1p-24F), 0x1p-24F);
  EXPECT_EQ(product_of(BFloat16{}, 1 + 0x1p-7F), 1 + 0x1p-7F);
  EXPECT_EQ(product_of(BFloat16{}, 1 + 0x1p-8F), 1.0F);
  EXPECT_EQ(product_of(BFloat16{}, 0x1p100F), 0x1p100F);
}

TEST(TensorGemm, RefusesWhatItCannotRead) {
  Host const exec;
  std::vector<float> data(100), result(100);
  kernels::TensorGemm<Host, Half> const multiply(exec, 4, 4, 4);
  auto const matrix = by_rows(data.data(), 4, 4);
  auto const wide = by_rows(data.data(), 4, 6);
  auto const c = by_rows(result.data(), 4, 4);
  EXPECT_NO_THROW(multiply(exec, matrix, matrix, c));
  EXPECT_THROW(multiply(exec, wide, matrix, c), std::invalid_argument);
  EXPECT_THROW(multiply(exec, matrix, wide, c), std::invalid_argument);
  EXPECT_THROW(multiply(exec, matrix, matrix, by_rows(result.data(), 4, 6)), std::invalid_argument);
  EXPECT_THROW(multiply(exec, matrix, matrix, matrix), std::invalid_argument);  // c in a's memory
}

}  // namespace
}  // namespace tessera::test
