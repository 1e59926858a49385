// The matrix product: a GPU's blocks under a team that runs its lanes in the worst order, a host's panels and the choice
// between them under Kokkos. All matrices lie just before memory that cannot be read.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <Kokkos_Core.hpp>

#include <tessera/collective/device/matrix_product.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/collective/team/product_block.hpp>

#include "adversarial_league.hpp"
#include "adversarial_team.hpp"
#include "guarded_array.hpp"

namespace tessera::test {
namespace {

struct Extents {
  std::size_t m;
  std::size_t n;
  std::size_t k;
};

[[nodiscard]] std::string text_of(Extents const& e) {
  return std::to_string(e.m) + " x " + std::to_string(e.n) + " x " + std::to_string(e.k);
}

// Small integers: every sum is exact in every type.
template <class T>
[[nodiscard]] T small(std::size_t i, std::size_t step) {
  return static_cast<T>(i * step % 13) - static_cast<T>(std::numeric_limits<T>::is_signed ? 5 : 0);
}

template <class T>
class Product {
 public:
  explicit Product(Extents const& e) : extents_(e), a_(e.m * e.k + 1), b_(e.k * e.n + 1), c_(e.m * e.n + 1) {
    a = a_.last(e.m * e.k);
    b = b_.last(e.k * e.n);
    for (std::size_t i = 0; i < e.m * e.k; ++i) a[i] = small<T>(i, 7);
    for (std::size_t i = 0; i < e.k * e.n; ++i) b[i] = small<T>(i, 5);
    renew();
  }

  void renew() {
    c = c_.last(extents_.m * extents_.n);
    for (std::size_t i = 0; i < extents_.m * extents_.n; ++i) c[i] = static_cast<T>(-77);
  }

  void expect_right(std::string const& what) const {
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < extents_.m; ++i) {
      for (std::size_t j = 0; j < extents_.n; ++j) {
        T sum = 0;
        for (std::size_t k = 0; k < extents_.k; ++k) sum += a[i * extents_.k + k] * b[k * extents_.n + j];
        if (c[i * extents_.n + j] != sum) ++wrong;
      }
    }
    EXPECT_EQ(wrong, 0u) << what;
    EXPECT_TRUE(c_.untouched()) << what;
  }

  T* a;
  T* b;
  T* c;

 private:
  Extents extents_;
  GuardedArray<T> a_;
  GuardedArray<T> b_;
  GuardedArray<T> c_;
};

template <class T, class Shape, int Width>
void expect_blocks(std::vector<Extents> const& all_extents) {
  using Kernel = team::ProductBlock<AdversarialSpace, T, Shape, Width>;
  AdversarialTeam team(Shape::lanes);
  std::vector<char> scratch(Kernel::scratch_bytes() + 64);
  for (Extents const& e : all_extents) {
    Product<T> product(e);
    Kernel const kernel(product.a, product.b, product.c, e.m, e.n, e.k);
    for (Order const order : all_orders) {
      product.renew();
      std::string const what = text_of(e) + ", " + name_of(order);
      for (int rank = 0; rank < kernel.league_size(); ++rank) {
        // Poison: NaN, or a large integer.
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

// Around the edges of blocks and steps; with Width above 1 only multiples of it along k and n.
std::vector<Extents> const any_extents = {{1, 1, 1},     {1, 1, 0},      {3, 200, 0},   {1, 150, 9},   {150, 1, 17},
                                          {5, 7, 8},     {64, 64, 16},   {65, 63, 15},  {63, 65, 33},  {128, 128, 8},
                                          {127, 129, 7}, {129, 127, 25}, {131, 67, 16}, {257, 131, 31}};
std::vector<Extents> const packs_extents = {{1, 4, 4},     {1, 4, 0},     {3, 200, 0},    {1, 132, 12},
                                            {150, 4, 20},  {64, 64, 16},  {65, 60, 12},   {63, 68, 36},
                                            {128, 128, 8}, {127, 132, 4}, {129, 124, 28}, {257, 260, 44}};

using Large = team::BlockShape<128, 128, 8, 8, 8, 2>;
using LargeOfDouble = team::BlockShape<128, 64, 8, 8, 4, 2>;
using Small = team::BlockShape<64, 64, 16, 4, 4, 3>;

TEST(ProductBlock, LargeByElements) { expect_blocks<float, Large, 1>(any_extents); }
TEST(ProductBlock, LargeByPacks) { expect_blocks<float, Large, 4>(packs_extents); }
TEST(ProductBlock, SmallByElements) { expect_blocks<std::uint32_t, Small, 1>(any_extents); }
TEST(ProductBlock, SmallByPacks) { expect_blocks<float, Small, 4>(packs_extents); }
TEST(ProductBlock, LargeOfDoubleByElements) { expect_blocks<double, LargeOfDouble, 1>(any_extents); }
TEST(ProductBlock, LargeOfDoubleByPacks) { expect_blocks<double, LargeOfDouble, 2>(packs_extents); }
TEST(ProductBlock, SmallOfDoubleByPacks) { expect_blocks<double, Small, 2>(packs_extents); }

using Host = Kokkos::DefaultHostExecutionSpace;

template <class T>
void expect_product(Extents const& e, std::int64_t threads) {
  Product<T> product(e);
  Host const exec;
  device::MatrixProduct<Host, T> const multiply(exec, e.m, e.n, e.k, threads);
  for (int run = 0; run < 2; ++run) {
    product.renew();
    multiply("tessera::tests::product", exec, product.a, product.b, product.c);
    exec.fence();
    product.expect_right(text_of(e) + " by teams of " + std::to_string(threads));
  }
}

TEST(MatrixProduct, OnHosts) {
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
    }
  }
}

TEST(MatrixProduct, StatesItsChainOfRoundings) {
  auto const steps = [](std::size_t k) { return device::MatrixProduct<Host, float>(Host(), 3, 3, k).rounding_steps(); };
  EXPECT_EQ(steps(0), 0);
  EXPECT_EQ(steps(1), 1);
  EXPECT_EQ(steps(256), 256);
  EXPECT_EQ(steps(257), 257);
  EXPECT_EQ(steps(512), 257);
}

}  // namespace
}  // namespace tessera::test
