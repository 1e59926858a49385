// The matrix product: a GPU's kernels under a team that runs its lanes in the worst order, with copies that arrive at
// the earliest and at the latest moment; the panels of hosts and the choice of kernel under Kokkos. All matrices end at
// guard pages.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <Kokkos_Core.hpp>

#include <tessera/collective/async_copy.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/kernels/gemm.hpp>

#include "adversarial_league.hpp"
#include "adversarial_team.hpp"
#include "emulated_copies.hpp"
#include "product_cases.hpp"

namespace tessera::test {
namespace {

using kernels::TileShape;

template <class Kernel, class T, class Form>
void expect_kernel(int lanes, std::vector<Extents> const& all_extents) {
  AdversarialTeam team(lanes);
  std::vector<char> scratch(Kernel::scratch_bytes() + 64);
  for (Extents const& e : all_extents) {
    Product<T, Form> product(e);
    Kernel const kernel(product.a, product.b, product.c, e.m, e.n, {.n = e.k, .size = e.k}, product.form());
    for (Order const order : all_orders) {
      product.renew();
      std::string const what = text_of(e) + ", " + name_of(order);
      for (int rank = 0; rank < kernel.league_size(); ++rank) {
        // Poison: NaN or a large integer.
        std::fill(scratch.begin(), scratch.end(), static_cast<char>(-1));
        std::optional<std::string> const error = team.run(order, 1, [&](AdversarialTeam::Member const& member) {
          kernel(LeagueMember(member, rank, scratch.data(), static_cast<int>(scratch.size())));
        });
        EXPECT_EQ(error.value_or(""), "") << what;
      }
      product.expect_right(what);
    }
  }
}

template <class T, class Shape, int Width, class Form = PlainProduct>
void expect_tiles(std::vector<Extents> const& all_extents) {
  expect_kernel<kernels::detail::ProductTile<AdversarialSpace, T, Shape, Width, Form>, T, Form>(Shape::lanes,
                                                                                                all_extents);
}

using Large = TileShape<128, 128, 8, 8, 8, 2>;
using LargeOfDouble = TileShape<128, 64, 8, 8, 4, 2>;
using Small = TileShape<64, 64, 16, 4, 4, 3>;

TEST(ProductTile, LargeByElements) { expect_tiles<float, Large, 1>(any_extents); }
TEST(ProductTile, LargeByPacks) { expect_tiles<float, Large, 4>(packs_extents); }
TEST(ProductTile, SmallByElements) { expect_tiles<std::uint32_t, Small, 1>(any_extents); }
TEST(ProductTile, SmallByPacks) { expect_tiles<float, Small, 4>(packs_extents); }
TEST(ProductTile, LargeOfDoubleByElements) { expect_tiles<double, LargeOfDouble, 1>(any_extents); }
TEST(ProductTile, LargeOfDoubleByPacks) { expect_tiles<double, LargeOfDouble, 2>(packs_extents); }
TEST(ProductTile, SmallOfDoubleByPacks) { expect_tiles<double, Small, 2>(packs_extents); }

// Extents in whole packs along m and along k.
std::vector<Extents> const all_packs_extents = {{4, 4, 4},     {4, 8, 0},      {132, 4, 12},  {64, 64, 16},
                                                {68, 60, 20},  {128, 128, 8},  {132, 124, 4}, {124, 132, 28},
                                                {260, 68, 36}, {128, 256, 12}, {4, 132, 100}};

TEST(ProductTile, TransposedAByElements) {
  expect_tiles<float, Large, 1, TransposedA>(any_extents);
  expect_tiles<float, Small, 1, TransposedA>(any_extents);
  expect_tiles<double, LargeOfDouble, 1, TransposedA>(any_extents);
}
TEST(ProductTile, TransposedAByPacks) {
  expect_tiles<float, Large, 4, TransposedA>(all_packs_extents);
  expect_tiles<float, Small, 4, TransposedA>(all_packs_extents);
  expect_tiles<double, LargeOfDouble, 2, TransposedA>(all_packs_extents);
  expect_tiles<double, Small, 2, TransposedA>(all_packs_extents);
  // Nothing is read in packs along k.
  expect_tiles<float, Large, 4, TransposedA>({{4, 4, 1}, {128, 132, 7}, {132, 124, 9}});
}
TEST(ProductTile, TransposedBByElements) {
  expect_tiles<float, Large, 1, TransposedB>(any_extents);
  expect_tiles<float, Small, 1, TransposedB>(any_extents);
  expect_tiles<double, LargeOfDouble, 1, TransposedB>(any_extents);
}
TEST(ProductTile, TransposedBByPacks) {
  expect_tiles<float, Large, 4, TransposedB>(packs_extents);
  expect_tiles<float, Small, 4, TransposedB>(packs_extents);
  expect_tiles<double, LargeOfDouble, 2, TransposedB>(packs_extents);
}
TEST(ProductTile, BothTransposed) {
  expect_tiles<float, Large, 1, TransposedBoth>(any_extents);
  expect_tiles<float, Large, 4, TransposedBoth>(all_packs_extents);
}
TEST(ProductTile, ChangesWhatItLoadsAndStores) {
  expect_tiles<float, Large, 1, Changed<float>>(any_extents);
  expect_tiles<float, Large, 4, Changed<float>>(packs_extents);
  expect_tiles<float, Small, 4, Changed<float>>(packs_extents);
  expect_tiles<double, LargeOfDouble, 2, Biased<double>>(packs_extents);
  expect_tiles<double, Small, 1, Biased<double>>(any_extents);
}

TEST(ProductTile, AddsToWhatCHolds) {
  expect_tiles<float, Large, 1, AddedProduct>(any_extents);
  expect_tiles<float, Large, 4, AddedProduct>(packs_extents);
  expect_tiles<std::uint32_t, Small, 4, AddedProduct>(packs_extents);
  expect_tiles<double, LargeOfDouble, 2, AddedProduct>(packs_extents);
}

using Early = EmulatedCopies<Arrival::at_once>;
using Late = EmulatedCopies<Arrival::at_wait>;
template <class T, class Shape, class Form, class Copies>
using Stream = kernels::detail::ProductStream<AdversarialSpace, T, Shape, Form, Copies>;
template <class T, class Shape, class Form = PlainProduct, class Copies = Late>
void expect_streams(std::vector<Extents> const& all_extents) {
  expect_kernel<Stream<T, Shape, Form, Copies>, T, Form>(Shape::lanes, all_extents);
}

// The shapes of GemmTuning, and one with two slices in scratch.
using LargeStream = kernels::StreamShape<128, 256, 8, 8, 16, 3, 1, 1, true>;
using MiddleStream = kernels::StreamShape<64, 128, 16, 8, 8, 3, 2, 1>;
using SmallStream = kernels::StreamShape<64, 64, 16, 8, 8, 3, 2, 3>;
using ShortStream = kernels::StreamShape<64, 64, 8, 8, 8, 2, 1, 3>;

// Numbers of slices: none, one, as many as there are stages, more; short slices of all lengths.
std::vector<Extents> const stream_extents = {{1, 4, 4},    {1, 4, 0},      {3, 200, 0},    {150, 4, 20},
                                             {64, 64, 16}, {65, 60, 12},   {128, 256, 24}, {127, 132, 8},
                                             {63, 68, 36}, {129, 260, 44}, {130, 128, 52}};

TEST(ProductStream, Large) {
  expect_streams<float, LargeStream>(stream_extents);
  expect_streams<std::uint32_t, LargeStream, PlainProduct, Early>(stream_extents);
}
TEST(ProductStream, Middle) {
  expect_streams<float, MiddleStream>(stream_extents);
  expect_streams<float, MiddleStream, PlainProduct, Early>(stream_extents);
}
TEST(ProductStream, Small) {
  expect_streams<float, SmallStream>(stream_extents);
  expect_streams<float, ShortStream>(stream_extents);
  expect_streams<std::uint32_t, SmallStream, PlainProduct, collective::HardwareCopies>(stream_extents);
}
TEST(ProductStream, OfTransposedOperands) {
  expect_streams<float, LargeStream, TransposedA>(all_packs_extents);
  expect_streams<float, MiddleStream, TransposedA>(all_packs_extents);
  expect_streams<float, SmallStream, TransposedB>(stream_extents);
  expect_streams<float, LargeStream, TransposedB, Early>(stream_extents);
  expect_streams<float, MiddleStream, TransposedBoth>(all_packs_extents);
  // The operand that is not transposed is not read in packs along k.
  expect_streams<float, LargeStream, TransposedA>({{4, 4, 1}, {128, 132, 7}, {132, 124, 9}});
}
TEST(ProductStream, ChangesWhatItStores) {
  expect_streams<float, LargeStream, Biased<float>>(stream_extents);
  expect_streams<float, MiddleStream, AddedProduct>(stream_extents);
  expect_streams<std::uint32_t, SmallStream, AddedProduct>(stream_extents);
}

// Mistake: waits for one copy group too few.
struct WaitsTooLittle : Late {
  template <int N>
  KOKKOS_FUNCTION void wait() const {
    Late::wait<N + 1>();
  }
};
// Mistake: also copies elements beyond k.
struct IgnoresTheMask : Early {
  template <int Bytes>
  KOKKOS_FUNCTION void copy_async(void* to, void const* from, bool) const {
    Early::copy_async<Bytes>(to, from, true);
  }
};

// A product without a short tile: elements beyond k lie inside the matrices, except in the last row.
template <class Shape, class Copies>
[[nodiscard]] std::size_t wrong_by_copies(Extents const& e) {
  using Kernel = Stream<float, Shape, PlainProduct, Copies>;
  Product<float> product(e);
  Kernel const kernel(product.a, product.b, product.c, e.m, e.n, {.n = e.k, .size = e.k});
  AdversarialTeam team(Shape::lanes);
  std::vector<char> scratch(Kernel::scratch_bytes() + 64, static_cast<char>(-1));
  // Runs only the first tile, whose excessive reads stay inside the matrices.
  std::optional<std::string> const error = team.run(Order::ascending, 1, [&](AdversarialTeam::Member const& member) {
    kernel(LeagueMember(member, 0, scratch.data(), static_cast<int>(scratch.size())));
  });
  EXPECT_EQ(error.value_or(""), "");
  return product.wrong_elements();
}
TEST(BrokenProductStream, WaitsTooLittle) {
  Extents const e{64, 64, 40};
  EXPECT_EQ((wrong_by_copies<SmallStream, Late>(e)), 0u);
  EXPECT_GT((wrong_by_copies<SmallStream, WaitsTooLittle>(e)), 0u);
  EXPECT_GT((wrong_by_copies<ShortStream, WaitsTooLittle>(e)), 0u);
}
TEST(BrokenProductStream, IgnoresTheMask) {
  // Other rows of tiles follow, and there are enough slices.
  Extents const e{128, 64, 36};
  std::size_t const of_others = 64 * 64;
  EXPECT_EQ((wrong_by_copies<SmallStream, Early>(e)), of_others);
  EXPECT_GT((wrong_by_copies<SmallStream, IgnoresTheMask>(e)), of_others);
}

// Each part of k has its own matrix of partial sums.
template <class Kernel>
void expect_parts(int lanes) {
  Extents const e{68, 132, 40};
  Product<float, TransposedA> const product(e);
  kernels::Chunks const k{.n = e.k, .size = 16, .count = 3};
  std::vector<float> sums(3 * e.m * e.n + 4, -77.0F);
  float* const first = sums.data() + (16 - reinterpret_cast<std::uintptr_t>(sums.data()) % 16) % 16 / sizeof(float);
  Kernel const kernel(product.a, product.b, first, e.m, e.n, k);
  ASSERT_EQ(kernel.league_size(), 3 * 2 * 3);
  AdversarialTeam team(lanes);
  std::vector<char> scratch(Kernel::scratch_bytes() + 64);
  for (int rank = 0; rank < kernel.league_size(); ++rank) {
    std::fill(scratch.begin(), scratch.end(), static_cast<char>(-1));
    std::optional<std::string> const error = team.run(all_orders[0], 1, [&](AdversarialTeam::Member const& member) {
      kernel(LeagueMember(member, rank, scratch.data(), static_cast<int>(scratch.size())));
    });
    EXPECT_EQ(error.value_or(""), "");
  }
  std::size_t wrong = 0;
  for (int part = 0; part < 3; ++part) {
    for (std::size_t i = 0; i < e.m; ++i) {
      for (std::size_t j = 0; j < e.n; ++j) {
        float sum = 0;
        for (std::size_t at = k.begin(part); at < k.end(part); ++at)
          sum += product.a[at * e.m + i] * product.b[at * e.n + j];
        if (first[(static_cast<std::size_t>(part) * e.m + i) * e.n + j] != sum) ++wrong;
      }
    }
  }
  EXPECT_EQ(wrong, 0u);
}
TEST(ProductTile, PartsOfK) {
  expect_parts<kernels::detail::ProductTile<AdversarialSpace, float, Small, 4, TransposedA>>(Small::lanes);
}
TEST(ProductStream, PartsOfK) { expect_parts<Stream<float, SmallStream, TransposedA, Late>>(SmallStream::lanes); }

using Host = Kokkos::DefaultHostExecutionSpace;

template <class T, class Form = PlainProduct>
void expect_product(Extents const& e, std::int64_t threads, kernels::SplitK split = kernels::SplitK::never,
                    std::size_t parts = 0) {
  Product<T, Form> product(e);
  Host const exec;
  kernels::Gemm<Host, T, Form> const multiply(exec, e.m, e.n, e.k, threads, "tessera::tests::product", split, parts);
  for (int run = 0; run < 2; ++run) {
    product.renew();
    multiply(exec, by_rows(product.a, e.m, e.k, Form::a_transposed), by_rows(product.b, e.k, e.n, Form::b_transposed),
             by_rows(product.c, e.m, e.n), product.form());
    exec.fence();
    product.expect_right(text_of(e) + " by teams of " + std::to_string(threads));
  }
}

TEST(Gemm, OnHosts) {
  std::vector<Extents> extents = any_extents;
  extents.insert(
      extents.end(),
      {{0, 5, 3}, {5, 0, 3}, {0, 0, 0}, {13, 33, 255}, {13, 33, 256}, {25, 70, 257}, {7, 9, 700}, {400, 300, 20}});
  for (std::int64_t const threads : {0, 1, 2, 3}) {
    if (threads > Host().concurrency()) continue;
    for (Extents const& e : extents) {
      expect_product<float>(e, threads);
      expect_product<double>(e, threads);
      expect_product<std::uint32_t>(e, threads);
      expect_product<float, TransposedA>(e, threads);
      expect_product<double, TransposedB>(e, threads);
      expect_product<float, TransposedBoth>(e, threads);
      expect_product<double, Biased<double>>(e, threads);
      expect_product<float, Changed<float>>(e, threads);
      expect_product<float, AddedProduct>(e, threads);
      expect_product<std::uint32_t, AddedProduct>(e, threads);
    }
  }
}

TEST(Gemm, PartsOfKAddUp) {
  using enum kernels::SplitK;
  for (Extents const& e : {Extents{5, 7, 511},
                           {5, 7, 512},
                           {16, 32, 513},
                           {16, 32, 1000},
                           {13, 33, 2049},
                           {1, 1, 5000},
                           {0, 3, 1000},
                           {3, 0, 1000},
                           {3, 3, 0},
                           {64, 64, 9000}}) {
    for (std::size_t const parts : {0, 1, 2, 3, 7, 100}) {
      expect_product<float, TransposedA>(e, 0, where_it_helps, parts);
      expect_product<double>(e, 1, where_it_helps, parts);
    }
  }
}

TEST(Gemm, StatesItsChainOfRoundings) {
  auto const steps = [](std::size_t k) { return kernels::Gemm<Host, float>(Host(), 3, 3, k).rounding_steps(); };
  EXPECT_EQ(steps(0), 0);
  EXPECT_EQ(steps(1), 1);
  EXPECT_EQ(steps(256), 256);
  EXPECT_EQ(steps(257), 257);
  EXPECT_EQ(steps(512), 257);
  auto const split = [](std::size_t parts) {
    return kernels::Gemm<Host, float>(Host(), 3, 3, 2048, 0, "tessera::tests::product", kernels::SplitK::where_it_helps,
                                      parts);
  };
  EXPECT_EQ(split(2).parts(), 2);
  EXPECT_EQ(split(2).rounding_steps(), 256 + 3 + 1);
  EXPECT_EQ(split(1000).parts(), 8);
  EXPECT_EQ(split(1000).rounding_steps(), 256 + 7);
}

}  // namespace
}  // namespace tessera::test
