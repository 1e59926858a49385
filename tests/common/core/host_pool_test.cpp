// Large blocks of host memory: which are used again, and how much memory they take.

#include <tessera/core/host_pool.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <new>

namespace {

using tessera::HostPool;

constexpr std::size_t block = HostPool::least_bytes;

// Counts the blocks that exist. Their memory is not touched.
struct Made {
  int all = 0;
  int alive = 0;
  HostPool::Block take(char const* kind, std::size_t bytes) {
    return HostPool::instance().take(kind, bytes, [&] {
      ++all;
      ++alive;
      return HostPool::Block(new unsigned char, [this](unsigned char* memory) {
        --alive;
        delete memory;
      });
    });
  }
};

TEST(HostPool, ABlockIsUsedAgainForTheSamePurposeAndSize) {
  Made made;
  {
    HostPool::Keeping const keeping;
    HostPool::Block first = made.take("a", block);
    HostPool::Block const second = made.take("a", block);
    EXPECT_NE(first, second);
    unsigned char* const memory = first.get();
    first.reset();
    EXPECT_EQ(made.alive, 2);
    EXPECT_EQ(HostPool::instance().kept_bytes(), block);
    first = made.take("a", block);
    EXPECT_EQ(first.get(), memory);
    EXPECT_EQ(HostPool::instance().kept_bytes(), 0);
    first.reset();
    EXPECT_EQ(made.all, 2);
    HostPool::Block const other_kind = made.take("b", block);
    EXPECT_EQ(made.all, 3);
  }
  EXPECT_EQ(made.alive, 0);
}

TEST(HostPool, BlocksNeverTakeMoreThanWasInUse) {
  Made made;
  HostPool::Keeping const keeping;
  made.take("a", 2 * block).reset();
  EXPECT_EQ(HostPool::instance().kept_bytes(), 2 * block);
  {
    HostPool::Block const other = made.take("a", block);  // with it, two kept blocks would exceed the most
    EXPECT_EQ(made.alive, 1);
    HostPool::Block const third = made.take("a", block);
    EXPECT_EQ(made.alive, 2);
  }
  EXPECT_EQ(HostPool::instance().kept_bytes(), 2 * block);
  HostPool::instance().release();
  EXPECT_EQ(HostPool::instance().kept_bytes(), 0);
  EXPECT_EQ(made.alive, 0);
}

TEST(HostPool, KeepsNothingSmallAndNothingOutsideOfARun) {
  Made made;
  made.take("a", block).reset();
  EXPECT_EQ(made.alive, 0);
  HostPool::Keeping const keeping;
  made.take("a", block - 1).reset();
  EXPECT_EQ(made.alive, 0);
  EXPECT_THROW((void)HostPool::instance().take("a", block, []() -> HostPool::Block { throw std::bad_alloc(); }),
               std::bad_alloc);
  made.take("a", block).reset();
  EXPECT_EQ(HostPool::instance().kept_bytes(), block);
}

}  // namespace
