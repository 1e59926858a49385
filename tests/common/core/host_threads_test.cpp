// The driver's own threads: each element is processed once for every size; exceptions; processors that OpenMP took
// away.

#include <tessera/core/host_threads.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

namespace {

using tessera::blocks_in;
using tessera::for_blocks;

TEST(HostThreads, EachElementIsInOneBlock) {
  for (std::size_t const count : {0U, 1U, 7U, 8U, 9U, 64U, 1000U}) {
    for (std::size_t const block : {1U, 8U, 1000U, 5000U}) {
      std::vector<std::atomic<int>> seen(count);
      std::vector<std::atomic<int>> indices(blocks_in(count, block));
      for_blocks(count, block, [&](std::size_t index, std::size_t begin, std::size_t end) {
        EXPECT_EQ(begin, index * block);
        EXPECT_LE(end, count);
        ++indices.at(index);
        for (std::size_t i = begin; i < end; ++i) ++seen[i];
      });
      for (auto const& times : seen) EXPECT_EQ(times, 1);
      for (auto const& times : indices) EXPECT_EQ(times, 1);
    }
  }
}

TEST(HostThreads, AnExceptionIsThrownOn) {
  for (std::size_t const thrower : {0U, 5U, 99U}) {
    auto const body = [&](std::size_t index, std::size_t, std::size_t) {
      if (index == thrower) throw std::runtime_error("of the body");
    };
    EXPECT_THROW(for_blocks(100, 1, body), std::runtime_error) << thrower;
  }
}

// A watch sees all blocks of its own thread's loops, but not those of nested loops.
TEST(HostThreads, AWatchSeesHowFarALoopIs) {
  std::mutex seeing;
  std::vector<std::size_t> seen;
  auto const loop = [] {
    for_blocks(20, 1, [](std::size_t, std::size_t, std::size_t) {
      for_blocks(3, 1, [](std::size_t, std::size_t, std::size_t) {});
    });
  };
  {
    tessera::BlockWatch const watch([&](std::size_t done, std::size_t blocks, double seconds) {
      std::lock_guard const lock(seeing);
      EXPECT_EQ(blocks, 20U);
      EXPECT_GE(seconds, 0);
      seen.push_back(done);
    });
    loop();
    EXPECT_EQ(seen.size(), 20U);
    loop();
  }
  EXPECT_EQ(seen.size(), 40U);
  loop();
  EXPECT_EQ(seen.size(), 40U);
  std::sort(seen.begin(), seen.end());
  for (std::size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i], i / 2 + 1);
}

// If an outer loop keeps all threads busy, an inner loop starts no others; it would have to start 10^4.
TEST(HostThreads, InnerLoopsOfALongLoopStayOnTheirThread) {
  std::atomic<int> elsewhere = 0;
  for_blocks(8 * tessera::host_threads(), 1, [&](std::size_t, std::size_t, std::size_t) {
    auto const own = std::this_thread::get_id();
    for_blocks(50, 1, [&](std::size_t, std::size_t, std::size_t) {
      if (std::this_thread::get_id() != own) ++elsewhere;
    });
  });
  EXPECT_EQ(elsewhere, 0);
}

// OpenMP binds the main thread to one processor; the threads that it starts must not inherit this binding.
TEST(HostThreads, AreNotBoundToTheProcessorOfTheirCaller) {
  if (tessera::host_threads() < 2) GTEST_SKIP() << "this machine has a single processor";
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu) {
    if (CPU_ISSET(cpu, &tessera::host_processors())) CPU_SET(cpu, &one);
  }
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  std::atomic<bool> caller_waits = true;
  std::atomic<int> free_threads = 0;
  for_blocks(2, 1, [&](std::size_t, std::size_t, std::size_t) {
    cpu_set_t mine;
    CPU_ZERO(&mine);
    ASSERT_EQ(::sched_getaffinity(0, sizeof mine, &mine), 0);
    if (CPU_EQUAL(&mine, &one)) {
      // Ensures that another thread runs the other block.
      auto const end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
      while (caller_waits && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    } else {
      if (CPU_EQUAL(&mine, &tessera::host_processors())) ++free_threads;
      caller_waits = false;
    }
  });
  EXPECT_GT(free_threads.load(), 0);
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &tessera::host_processors()), 0);
}

}  // namespace
