// The matrix product by warpgroups, with emulated lanes and units: under a team that runs its threads in the worst
// order, with copies and products that complete at the earliest and at the latest moment. Factors are small whole
// numbers that both 16-bit types represent exactly, so results equal those of plain loops bit by bit.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <Kokkos_Core.hpp>

#include "adversarial_league.hpp"
#include "adversarial_team.hpp"
#include "emulated_warpgroup.hpp"
#include "guarded_array.hpp"
#include "product_cases.hpp"

#include <tessera/collective/warpgroup.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/warpgroup_gemm.hpp>

namespace tessera::test {
namespace {

using collective::FactorPack;
using Lanes = lane::Emulated<AnyWarpgroup::lanes>;
template <class Factor>
using Early = EmulatedWarpgroup<Factor, Arrival::at_once>;
template <class Factor>
using Late = EmulatedWarpgroup<Factor, Arrival::at_wait>;
using EarlyCopies = EmulatedCopies<Arrival::at_once>;
using LateCopies = EmulatedCopies<Arrival::at_wait>;

TEST(Warpgroup, EachSumIsOneLanes) {
  std::set<std::pair<int, int>> places;
  for (int thread = 0; thread < AnyWarpgroup::threads; ++thread) {
    for (int lane = 0; lane < AnyWarpgroup::lanes; ++lane) {
      for (int i = 0; i < 64; ++i) {
        EXPECT_TRUE(places.emplace(AnyWarpgroup::row_of_c(thread, lane, i), AnyWarpgroup::col_of_c(lane, i)).second);
      }
    }
  }
  EXPECT_EQ(*places.begin(), std::pair(0, 0));
  EXPECT_EQ(*places.rbegin(), std::pair(AnyWarpgroup::rows - 1, AnyWarpgroup::cols - 1));
}

// Panels of whole numbers; a's panel has more rows than a product uses.
TEST(Warpgroup, AddsTheProductOfPanels) {
  constexpr int rows = 80;
  auto const of_a = [](int row, int k) { return static_cast<float>(row % 9 - k % 5); };
  auto const of_b = [](int col, int k) { return static_cast<float>(k - col % 7); };
  auto const panel_of = [](int count, auto const& of) {
    std::vector<FactorPack> packs(static_cast<std::size_t>(2 * count));
    for (int k = 0; k < 16; ++k) {
      for (int row = 0; row < count; ++row) {
        auto const bits = static_cast<std::uint32_t>(Kokkos::bit_cast<std::uint16_t>(Half(of(row, k))));
        packs[static_cast<std::size_t>(k / 8 * count + row)][k % 8 / 2] |= bits << 16 * (k % 2);
      }
    }
    return packs;
  };
  std::vector<FactorPack> const a = panel_of(rows, of_a);
  std::vector<FactorPack> const b = panel_of(AnyWarpgroup::cols, of_b);
  for (int thread = 0; thread < AnyWarpgroup::threads; ++thread) {
    Late<Half> const products(thread);
    Lanes const lanes;
    auto sums = lanes.fill(WarpgroupSums{});
    for (auto& own : sums.at) own.at[5] = 3;
    products.begin();
    products.multiply_add(sums, FactorPanel{a.data(), rows}.from(16), {b.data(), AnyWarpgroup::cols});
    products.commit();
    products.commit();  // an empty group
    products.wait<2>();
    EXPECT_EQ(sums.at[7].at[4], 0) << "before it is waited for";
    products.wait<1>();
    for (int lane = 0; lane < AnyWarpgroup::lanes; ++lane) {
      for (int i = 0; i < 64; ++i) {
        float sum = i == 5 ? 3 : 0;
        for (int k = 0; k < 16; ++k) {
          sum += of_a(16 + AnyWarpgroup::row_of_c(thread, lane, i), k) * of_b(AnyWarpgroup::col_of_c(lane, i), k);
        }
        ASSERT_EQ(sums.at[lane].at[i], sum) << thread << " " << lane << " " << i;
      }
    }
  }
}

// Runs both launches, one call and one team after another. Returns the number of wrong elements. The workspace ends at
// a guard page.
template <class Factor, class Tile, class Form, class Products, class Copies>
[[nodiscard]] std::size_t wrong_elements(Extents const& e, Product<float, Form>& product, Order order) {
  using Kernel =
      kernels::detail::WarpgroupProduct<AdversarialSpace, Lanes, Tile, Products, Copies, typename Form::Store>;
  using Left = kernels::detail::PackPanels<Factor, Form::a_transposed, false, typename Form::Load>;
  using Right = kernels::detail::PackPanels<Factor, !Form::b_transposed, true, kernels::AsStored>;
  std::size_t const down = tiles_of(e.m, Tile::rows) * Tile::rows;
  std::size_t const across = tiles_of(e.n, Tile::cols) * Tile::cols;
  std::size_t const slices = tiles_of(e.k, Tile::depth);
  GuardedArray<FactorPack> of_a(down * slices * 2 + 1);
  GuardedArray<FactorPack> of_b(across * slices * 2 + 1);
  FactorPack* const packed_a = of_a.last(down * slices * 2);
  FactorPack* const packed_b = of_b.last(across * slices * 2);
  if (slices > 0) {
    auto const aligned = [&](float const* data) { return e.k % 4 == 0 && collective::is_aligned_for_packs<4>(data); };
    Left const left{{product.a, e.m, e.k, aligned(product.a), product.form().load},
                    down,
                    slices,
                    collective::Divider(Form::a_transposed ? down : slices),
                    packed_a};
    Right const right{{product.b, e.n, e.k, aligned(product.b), {}},
                      across,
                      slices,
                      collective::Divider(Form::b_transposed ? slices : across),
                      packed_b};
    for (std::size_t i = 0; i < down * slices * 2; ++i) left(i);
    for (std::size_t i = 0; i < across * slices * 2; ++i) right(i);
  }
  collective::MatrixTiles const tiles{
      .rows = e.m, .cols = e.n, .tile_rows = Tile::rows, .tile_cols = Tile::cols, .band = 2};
  Kernel const kernel{packed_a,
                      packed_b,
                      product.c,
                      down,
                      across,
                      static_cast<int>(slices),
                      tiles,
                      product.form().store,
                      e.n % 4 == 0 && collective::is_aligned_for_packs<4>(product.c)};
  run_league(kernel, league_of(tiles.count()), Tile::threads, order);
  EXPECT_TRUE(of_a.untouched() && of_b.untouched());
  return product.wrong_elements();
}

using One = kernels::WarpgroupTile<1, 3>;
using Two = kernels::WarpgroupTile<2, 5>;

// Extents around the edges of panels, products, tiles and of the stages in flight.
std::vector<Extents> const extents = {{1, 1, 1},     {1, 1, 0},     {3, 40, 0},    {1, 33, 9},     {35, 1, 17},
                                      {16, 16, 16},  {17, 15, 33},  {64, 128, 64}, {65, 131, 47},  {63, 124, 80},
                                      {129, 20, 96}, {20, 129, 36}, {128, 4, 128}, {130, 132, 116}};

template <class Factor, class Tile, template <class> class Products = Late, class Copies = LateCopies,
          class Form = kernels::PlainProduct>
void expect_right(std::vector<Order> const& orders) {
  for (Extents const& e : extents) {
    Product<float, Form> product(e);
    for (Order const order : orders) {
      product.renew();
      EXPECT_EQ((wrong_elements<Factor, Tile, Form, Products<Factor>, Copies>(e, product, order)), 0u)
          << text_of(e) + name_of(order);
      product.expect_right(text_of(e));
    }
  }
}

TEST(WarpgroupProduct, InAnyOrder) {
  expect_right<BFloat16, One>({Order::ascending, Order::descending, Order::rotating});
  expect_right<Half, Two>({Order::descending, Order::random});
}
TEST(WarpgroupProduct, CopiesAndProductsAtOnce) {
  expect_right<Half, One, Early, EarlyCopies>({Order::rotating});
  expect_right<BFloat16, One, Late, EarlyCopies>({Order::descending});
  expect_right<BFloat16, Two, Early, LateCopies>({Order::ascending});
}
TEST(WarpgroupProduct, OfTransposedOperands) {
  expect_right<Half, One, Late, LateCopies, kernels::TransposedA>({Order::ascending});
  expect_right<BFloat16, Two, Late, LateCopies, kernels::TransposedB>({Order::descending});
  expect_right<Half, One, Late, LateCopies, TransposedBoth>({Order::ascending});
}
TEST(WarpgroupProduct, ChangesWhatItLoadsAndStores) {
  expect_right<BFloat16, One, Late, LateCopies, Changed<float>>({Order::ascending});
  expect_right<Half, Two, Late, LateCopies, Biased<float>>({Order::descending});
  expect_right<Half, One, Late, LateCopies, kernels::AddedProduct>({Order::ascending});
}

// Before each barrier a thread must make its copies visible to the units. Emulated units cannot detect a missing call,
// so calls are counted.
struct CountsSeen : Late<Half> {
  using Late<Half>::Late;
  static inline std::atomic<int> seen = 0;
  KOKKOS_FUNCTION void see_copies() const { KOKKOS_IF_ON_HOST((++seen;)) }
};
TEST(WarpgroupProduct, MakesTheCopiesOfAllStagesVisible) {
  Extents const e{130, 20, 80};  // 2 tiles, 5 stages
  Product<float> product(e);
  CountsSeen::seen = 0;
  EXPECT_EQ((wrong_elements<Half, Two, kernels::PlainProduct, CountsSeen, LateCopies>(e, product, Order::ascending)),
            0u);
  EXPECT_EQ(CountsSeen::seen, 2 * 5 * AnyWarpgroup::threads);
}

// Mistake: waits for one copy group too few.
struct CopiesWaitTooLittle : LateCopies {
  template <int N>
  KOKKOS_FUNCTION void wait() const {
    LateCopies::wait<N + 1>();
  }
};
struct ProductsWaitTooLittle : Late<Half> {
  using Late<Half>::Late;
  template <int N>
  KOKKOS_FUNCTION void wait() const {
    if (N == 1) Late<Half>::wait<N + 1>();
    if (N == 0) Late<Half>::wait<0>();
  }
};
// Mistake: never waits for the last product.
struct LeavesTheLastProduct : Late<Half> {
  using Late<Half>::Late;
  template <int N>
  KOKKOS_FUNCTION void wait() const {
    Late<Half>::wait<1>();
  }
};
TEST(BrokenWarpgroupProduct, WaitsTooLittle) {
  Extents const e{33, 33, 200};
  Product<float> product(e);
  using Form = kernels::PlainProduct;
  EXPECT_EQ((wrong_elements<Half, One, Form, Late<Half>, LateCopies>(e, product, Order::ascending)), 0u);
  product.renew();
  EXPECT_GT((wrong_elements<Half, One, Form, Late<Half>, CopiesWaitTooLittle>(e, product, Order::ascending)), 0u);
  product.renew();
  EXPECT_GT((wrong_elements<Half, Two, Form, Late<Half>, CopiesWaitTooLittle>(e, product, Order::ascending)), 0u);
  product.renew();
  EXPECT_GT((wrong_elements<Half, One, Form, ProductsWaitTooLittle, EarlyCopies>(e, product, Order::ascending)), 0u);
  product.renew();
  EXPECT_GT((wrong_elements<Half, Two, Form, ProductsWaitTooLittle, EarlyCopies>(e, product, Order::ascending)), 0u);
  product.renew();
  EXPECT_GT((wrong_elements<Half, Two, Form, LeavesTheLastProduct, LateCopies>(e, product, Order::ascending)), 0u);
}

TEST(WarpgroupGemm, IsSkippedWhereThereAreNone) {
  using Host = Kokkos::DefaultHostExecutionSpace;
  EXPECT_THROW((kernels::WarpgroupGemm<Host, Half>(Host(), 4, 4, 4)), Skip);
}

}  // namespace
}  // namespace tessera::test
