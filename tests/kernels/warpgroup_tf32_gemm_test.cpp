// The matrix product by warpgroups with factors of one or two tf32 terms, with emulated lanes and units: under a team
// that runs its threads in the worst order, with copies and products that complete at the earliest and at the latest
// moment.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
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
#include <tessera/kernels/warpgroup_tf32_gemm.hpp>

namespace tessera::test {
namespace {

using collective::FactorPack;
using Lanes = lane::Emulated<AnyWarpgroup::lanes>;
using Early = EmulatedWarpgroup<Tf32, Arrival::at_once>;
using Late = EmulatedWarpgroup<Tf32, Arrival::at_wait>;
using EarlyCopies = EmulatedCopies<Arrival::at_once>;
using LateCopies = EmulatedCopies<Arrival::at_wait>;
using Unit = collective::MatrixUnit<Tf32>;
using OneTerm = kernels::WarpgroupTf32Tile<1>;
using TwoTerms = kernels::WarpgroupTf32Tile<2>;
using WithBias = kernels::ProductForm<false, false, kernels::AsStored, kernels::SumAndBias<float>>;

// A thread's 16 rows of a and a panel of b, of whole numbers.
TEST(WarpgroupTf32, MultipliesAndAdds) {
  auto const of_a = [](int row, int k) { return static_cast<float>(row % 9 - k % 5); };
  auto const of_b = [](int col, int k) { return static_cast<float>(k - col % 7); };
  std::vector<FactorPack> packs(2 * AnyWarpgroup::cols);
  for (int k = 0; k < 8; ++k) {
    for (int col = 0; col < AnyWarpgroup::cols; ++col) {
      packs[static_cast<std::size_t>(k / 4 * AnyWarpgroup::cols + col)][k % 4] =
          Kokkos::bit_cast<std::uint32_t>(of_b(col, k));
    }
  }
  Lanes const lanes;
  for (int thread = 0; thread < AnyWarpgroup::threads; ++thread) {
    auto a = lanes.fill(Unit::A{});
    for (int lane = 0; lane < AnyWarpgroup::lanes; ++lane) {
      for (int i = 0; i < 4; ++i) {
        a.at[lane].at[i] = of_a(16 * thread + Unit::row_of_a(lane, i), Unit::col_of_a(lane, i));
      }
    }
    Late const products(thread);
    auto sums = lanes.fill(WarpgroupSums{});
    for (auto& own : sums.at) own.at[5] = 3;
    FactorPanel const b{packs.data(), AnyWarpgroup::cols};
    for (int adds = 0; adds < 2; ++adds) {
      auto const before = sums;
      products.begin();
      adds == 0 ? products.multiply(sums, a, b) : products.multiply_add(sums, a, b);
      products.commit();
      EXPECT_EQ(sums.at[7].at[5], before.at[7].at[5]) << "before it is waited for";
      products.wait<0>();
      for (int lane = 0; lane < AnyWarpgroup::lanes; ++lane) {
        for (int i = 0; i < 64; ++i) {
          float sum = adds == 0 ? 0.0F : before.at[lane].at[i];
          for (int k = 0; k < 8; ++k) {
            sum += of_a(AnyWarpgroup::row_of_c(thread, lane, i), k) * of_b(AnyWarpgroup::col_of_c(lane, i), k);
          }
          ASSERT_EQ(sums.at[lane].at[i], sum) << thread << " " << lane << " " << i << " " << adds;
        }
      }
    }
  }
}

// A thread's part of a piece: every element has its own place, and elements that lanes load together lie in different
// banks. `at_once` is the number of neighbouring k that a lane loads with one access; all lanes, or half of them, form
// one round.
template <class Part>
void expect_places_in_all_banks(int at_once) {
  std::set<int> places;
  for (int row = 0; row < 16; ++row) {
    for (int k = 0; k < 8; ++k) places.insert(Part::place(row, k));
  }
  EXPECT_EQ(places.size(), 128u);
  EXPECT_EQ(*places.begin(), 0);
  EXPECT_EQ(*places.rbegin(), 127);
  std::set<int> copied;
  for (int lane = 0; lane < 32; ++lane) copied.insert(Part::place(Part::row(lane), Part::k(lane)));
  EXPECT_EQ(copied.size(), 32u);
  for (int const first : copied) EXPECT_EQ(first % 4, 0);
  for (int begin = 0; begin < 32; begin += 8) {  // eight packs are one round
    std::set<int> of_banks;
    for (int lane = begin; lane < begin + 8; ++lane) of_banks.insert(Part::place(Part::row(lane), Part::k(lane)) % 32);
    EXPECT_EQ(of_banks.size(), 8u) << begin;
  }
  int const lanes = 32 / at_once;
  for (int begin = 0; begin < 32; begin += lanes) {
    for (int down = 0; down < 16; down += 8) {
      for (int half = 0; half < 2; half += at_once) {
        std::set<int> banks;
        for (int lane = begin; lane < begin + lanes; ++lane) {
          for (int e = 0; e < at_once; ++e) {
            banks.insert(Part::place(lane / 4 + down, lane % 4 * 2 + half) % 32 + e);
          }
        }
        EXPECT_EQ(banks.size(), 32u) << begin << " " << down << " " << half;
      }
    }
  }
}
TEST(WarpgroupTf32, LoadsFromAllBanks) {
  expect_places_in_all_banks<kernels::detail::PacksOfRows>(2);
  expect_places_in_all_banks<kernels::detail::PacksOfColumns>(1);
}

// Runs both launches, one call and one team after another. The workspace ends at a guard page.
template <class Tile, int Width, class Products, class Copies, class Form, class SomeLanes = Lanes>
void run_all(Extents const& e, Product<float, Form>& product, Order order) {
  constexpr int terms = Tile::terms;
  using Kernel =
      kernels::detail::WarpgroupTf32Product<AdversarialSpace, SomeLanes, Tile, Products, Copies, Form, Width>;
  std::size_t const across = tiles_of(e.n, Tile::cols) * Tile::cols;
  std::size_t const stages = tiles_of(e.k, Tile::depth);
  std::size_t const eighths = stages * Tile::eighths;
  GuardedArray<FactorPack> of_b(across * eighths * 2 * terms + 1);
  FactorPack* const packed = of_b.last(across * eighths * 2 * terms);
  kernels::detail::PackTerms<terms> const pack{.from = product.b,
                                               .k = e.k,
                                               .cols = e.n,
                                               .next_k = Form::b_transposed ? 1 : e.n,
                                               .next_col = Form::b_transposed ? e.k : 1,
                                               .padded = across,
                                               .divider = collective::Divider(across),
                                               .packed = packed};
  for (std::size_t i = 0; i < across * eighths; ++i) pack(i);
  collective::MatrixTiles const tiles{
      .rows = e.m, .cols = e.n, .tile_rows = Tile::rows, .tile_cols = Tile::cols, .band = 2};
  Kernel const kernel{product.a,
                      packed,
                      product.c,
                      e.k,
                      across,
                      static_cast<int>(stages),
                      tiles,
                      product.form().store,
                      e.n % 4 == 0 && collective::is_aligned_for_packs<4>(product.c)};
  run_league(kernel, league_of(tiles.count()), Tile::threads, order);
  EXPECT_TRUE(of_b.untouched());
}

// Extents around the edges of panels, strips, tiles, and of the stages in flight.
std::vector<Extents> const extents = {{1, 1, 1},    {1, 1, 0},      {3, 40, 0},    {1, 33, 9},
                                      {35, 1, 17},  {16, 16, 8},    {17, 15, 33},  {64, 128, 64},
                                      {65, 131, 7}, {63, 124, 40},  {129, 20, 24}, {20, 129, 36},
                                      {128, 4, 48}, {130, 132, 52}, {76, 9, 21},   {132, 33, 35}};

template <class Tile, int Width, class Products = Late, class Copies = LateCopies, class Form = kernels::PlainProduct>
void expect_right(std::vector<Order> const& orders) {
  for (Extents const& e : extents) {
    if (Width == 4 && (Form::a_transposed ? e.m : e.k) % 4 != 0) continue;
    Product<float, Form> product(e);
    for (Order const order : orders) {
      product.renew();
      run_all<Tile, Width, Products, Copies, Form>(e, product, order);
      EXPECT_EQ(product.wrong_elements(), 0u) << text_of(e) + name_of(order);
      product.expect_right(text_of(e));
    }
  }
}

TEST(WarpgroupTf32Product, InAnyOrder) {
  expect_right<TwoTerms, 4>({Order::ascending, Order::descending, Order::rotating});
  expect_right<TwoTerms, 1>({Order::random});
  expect_right<OneTerm, 4>({Order::descending, Order::random});
  expect_right<OneTerm, 1>({Order::rotating});
}
TEST(WarpgroupTf32Product, CopiesAndProductsAtOnce) {
  expect_right<TwoTerms, 4, Early, EarlyCopies>({Order::rotating});
  expect_right<TwoTerms, 4, Late, EarlyCopies>({Order::descending});
  expect_right<TwoTerms, 1, Early, LateCopies>({Order::ascending});
  expect_right<OneTerm, 4, Late, EarlyCopies>({Order::descending});
  expect_right<OneTerm, 1, Early, LateCopies>({Order::ascending});
}
TEST(WarpgroupTf32Product, WithOtherNumbersOfPlaces) {
  using kernels::WarpgroupTf32Tile;
  expect_right<WarpgroupTf32Tile<2, 1, 4>, 4, Late, EarlyCopies>({Order::descending});
  expect_right<WarpgroupTf32Tile<2, 1, 7>, 4>({Order::rotating});
  expect_right<WarpgroupTf32Tile<2, 2, 11>, 1, Late, EarlyCopies>({Order::random});
  expect_right<WarpgroupTf32Tile<1, 1>, 4, Late, EarlyCopies>({Order::descending});
  expect_right<WarpgroupTf32Tile<1, 3, 2>, 4>({Order::rotating});
}
TEST(WarpgroupTf32Product, ReadsTransposes) {
  using kernels::TransposedA;
  expect_right<TwoTerms, 4, Late, LateCopies, TransposedA>({Order::descending, Order::random});
  expect_right<TwoTerms, 1, Late, LateCopies, TransposedA>({Order::ascending});
  expect_right<TwoTerms, 4, Early, EarlyCopies, TransposedA>({Order::rotating});
  expect_right<OneTerm, 4, Late, LateCopies, TransposedA>({Order::rotating});
  expect_right<OneTerm, 1, Late, EarlyCopies, TransposedA>({Order::descending});
  expect_right<TwoTerms, 4, Late, LateCopies, kernels::TransposedB>({Order::random});
  expect_right<OneTerm, 1, Late, LateCopies, TransposedBoth>({Order::ascending});
}
TEST(WarpgroupTf32Product, ChangesWhatItStores) {
  expect_right<TwoTerms, 4, Late, LateCopies, WithBias>({Order::descending});
  expect_right<OneTerm, 1, Late, LateCopies, kernels::AddedProduct>({Order::ascending});
}

// Emulated units, copies and lanes cannot detect these three errors, so calls are counted. A thread must make its
// copies visible to the units before each barrier. It must begin a new group after each load into registers that
// products read. Its lanes must meet after a load, before the place is refilled.
struct CountsSeen : Late {
  using Late::Late;
  static inline std::atomic<int> seen = 0;
  static inline std::atomic<int> begun = 0;
  KOKKOS_FUNCTION void see_copies() const { KOKKOS_IF_ON_HOST((++seen;)) }
  KOKKOS_FUNCTION void begin() const {
    KOKKOS_IF_ON_HOST((++begun;))
    Late::begin();
  }
};
// Threads switch only at barriers, and no barrier lies between a meeting and the copies after it.
struct CountsMet : Lanes {
  static inline std::atomic<int> met = 0;
  static inline std::atomic<bool> just_met = false;
  KOKKOS_FUNCTION void sync() const { KOKKOS_IF_ON_HOST((++met; just_met = true;)) }
};
struct CountsUnmet : LateCopies {
  static inline std::atomic<int> unmet = 0;
  static inline int first = 0;  // groups that a thread starts before its first load
  mutable int groups = 0;
  template <int Bytes>
  KOKKOS_FUNCTION void copy_async(void* to, void const* from, bool take) const {
    KOKKOS_IF_ON_HOST((unmet += groups >= first && !CountsMet::just_met ? 1 : 0;))
    LateCopies::copy_async<Bytes>(to, from, take);
  }
  KOKKOS_FUNCTION void commit() const {
    KOKKOS_IF_ON_HOST((++groups; CountsMet::just_met = false;))
    LateCopies::commit();
  }
};
TEST(WarpgroupTf32Product, SeesMeetsAndBeginsWhereItMust) {
  Extents const e{130, 20, 72};  // 2 tiles, 9 stages of one term, 5 of two
  Product<float> product(e);
  using Form = kernels::PlainProduct;
  auto const count = [&]<class Tile>(int stages, int steps, int begins, int first) {
    CountsSeen::seen = CountsSeen::begun = CountsMet::met = CountsUnmet::unmet = 0;
    CountsUnmet::first = first;
    run_all<Tile, 4, CountsSeen, CountsUnmet, Form, CountsMet>(e, product, Order::ascending);
    int const turns = 2 * stages * AnyWarpgroup::threads;
    EXPECT_EQ(CountsSeen::seen, turns);
    EXPECT_EQ(CountsSeen::begun, turns * begins);
    EXPECT_EQ(CountsMet::met, turns * steps);
    EXPECT_EQ(CountsUnmet::unmet, 0);
  };
  count.operator()<OneTerm>(9, 1, 1, OneTerm::ring / 2);
  count.operator()<TwoTerms>(5, 4, 6, TwoTerms::ring);
}

// Mistakes: waits for one group too few, for the sums of a strip or for the last sums.
struct CopiesWaitTooLittle : LateCopies {
  template <int N>
  KOKKOS_FUNCTION void wait() const {
    LateCopies::wait<N + 1>();
  }
};
struct NeverWaits : Late {
  using Late::Late;
  template <int N>
  KOKKOS_FUNCTION void wait() const {
    Late::wait<1>();
  }
};
// Mistake: uses the high part of b as the low part.
struct TakesHighForLow : Late {
  using Late::Late;
  KOKKOS_FUNCTION void multiply(Sums& c, A const& a, FactorPanel const& b) const {
    Late::multiply(c, a, {b.packs - 2 * AnyWarpgroup::cols, b.rows});
  }
};
TEST(BrokenWarpgroupTf32Product, IsSeen) {
  Extents const e{100, 33, 200};  // rows in both strips
  Product<float> product(e);
  using Form = kernels::PlainProduct;
  auto const wrong = [&]<class Tile, class Products, class Copies>() {
    product.renew();
    run_all<Tile, 4, Products, Copies, Form>(e, product, Order::ascending);
    return product.wrong_elements();
  };
  EXPECT_EQ((wrong.template operator()<TwoTerms, Late, LateCopies>()), 0u);
  EXPECT_GT((wrong.template operator()<TwoTerms, Late, CopiesWaitTooLittle>()), 0u);
  EXPECT_GT((wrong.template operator()<OneTerm, Late, CopiesWaitTooLittle>()), 0u);
  EXPECT_GT((wrong.template operator()<TwoTerms, NeverWaits, LateCopies>()), 0u);
  EXPECT_GT((wrong.template operator()<OneTerm, NeverWaits, LateCopies>()), 0u);
  EXPECT_GT((wrong.template operator()<TwoTerms, TakesHighForLow, LateCopies>()), 0u);
}

// Numbers of 24 bits: two terms keep their bound, one term does not. The low terms are nonzero, so that reading those
// of another stage would show, also in the worst orders.
template <class Tile, int Width, class Copies, class Form = kernels::PlainProduct>
[[nodiscard]] double largest_error(Order order, double* bound) {
  Extents const e{100, 40, 128};  // rows in both strips
  Product<float, Form> product(e);
  for (std::size_t i = 0; i < e.m * e.k; ++i) product.a[i] = std::sin(static_cast<float>(i) * 1.7F) + 1.1F;
  for (std::size_t i = 0; i < e.k * e.n; ++i) product.b[i] = std::cos(static_cast<float>(i) * 2.3F) - 0.2F;
  run_all<Tile, Width, Late, Copies, Form>(e, product, order);
  double const u = 0x1p-24;
  *bound = (57 + static_cast<double>(e.k) / 16) * u;
  double largest = 0;
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
      largest = std::max(largest, std::abs(static_cast<double>(product.c[i * e.n + j]) - sum) / magnitude);
    }
  }
  return largest;
}
TEST(WarpgroupTf32Product, TwoTermsAreAsExactAsTheirBound) {
  double bound = 0;
  EXPECT_LE((largest_error<TwoTerms, 4, LateCopies>(Order::ascending, &bound)), bound);
  EXPECT_LE((largest_error<TwoTerms, 4, EarlyCopies>(Order::descending, &bound)), bound);
  EXPECT_LE((largest_error<TwoTerms, 1, EarlyCopies>(Order::rotating, &bound)), bound);
  EXPECT_LE((largest_error<TwoTerms, 4, EarlyCopies, kernels::TransposedA>(Order::random, &bound)), bound);
  EXPECT_GT((largest_error<OneTerm, 4, LateCopies>(Order::ascending, &bound)), 4 * bound);
}

TEST(WarpgroupTf32Gemm, IsSkippedWhereThereAreNone) {
  using Host = Kokkos::DefaultHostExecutionSpace;
  EXPECT_THROW((kernels::WarpgroupTf32Gemm<Host, 2>(Host(), 4, 4, 4)), Skip);
}

}  // namespace
}  // namespace tessera::test
