// The main program of tests on ranks. Rank 0 prints as usual, the others only failures. A rank that omits its part of a
// collective keeps the others waiting. After a time limit the waiting ranks print the test's name and end all ranks.

#include <gtest/gtest.h>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <string>
#include <thread>

#include "../apps/harness.hpp"

#include <tessera/ranks/ranks.hpp>

namespace {

class Failures final : public ::testing::EmptyTestEventListener {
  void OnTestPartResult(::testing::TestPartResult const& result) override {
    if (!result.failed()) return;
    std::cerr << "rank " << tessera::ranks::world().rank() << ": " << result.file_name() << ":" << result.line_number()
              << ": " << result.message() << std::endl;
  }
};

// Monitors the duration of a test from a separate thread, because the main thread may be waiting in MPI.
class Patience final : public ::testing::EmptyTestEventListener {
 public:
  Patience() : rank_(tessera::ranks::world().rank()) {
    if (char const* const text = std::getenv("TESSERA_TEST_PATIENCE")) {
      seconds_ = most_ = std::chrono::seconds(std::atoi(text));
    }
    looks_ = std::thread([this] { look(); });
  }
  ~Patience() override {
    {
      std::scoped_lock const lock(mutex_);
      over_ = true;
    }
    changed_.notify_all();
    looks_.join();
  }

 private:
  void OnTestStart(::testing::TestInfo const& test) override {
    set(std::string(test.test_suite_name()) + "." + test.name());
  }
  void OnTestEnd(::testing::TestInfo const&) override { set(""); }

  void set(std::string const& test) {
    {
      std::scoped_lock const lock(mutex_);
      test_ = test;
      ++number_;
    }
    changed_.notify_all();
  }
  // On a busy machine the limit grows with load / processors. It stays below ctest's limit, so that a hanging test is
  // still named.
  [[nodiscard]] std::chrono::seconds patience() const {
    double load = 0;
    double const processors = std::max(1U, std::thread::hardware_concurrency());
    if (::getloadavg(&load, 1) != 1) return seconds_;
    auto const scaled = static_cast<double>(seconds_.count()) * std::max(1.0, load / processors);
    return std::min(most_, std::chrono::seconds(static_cast<std::int64_t>(scaled)));
  }
  void look() {
    std::unique_lock lock(mutex_);
    auto begin = std::chrono::steady_clock::now();
    while (!over_) {
      auto const here = number_;
      bool const has_changed = changed_.wait_until(lock, begin + seconds_, [&] { return over_ || number_ != here; }) ||
                               changed_.wait_until(lock, begin + patience(), [&] { return over_ || number_ != here; });
      if (has_changed || test_.empty()) {
        begin = std::chrono::steady_clock::now();
        continue;
      }
      auto const taken = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - begin);
      // Written in one piece, because several ranks may print it.
      std::cerr << "rank " + std::to_string(rank_) + ": " + test_ + " has taken " + std::to_string(taken.count()) +
                       " s (does a rank leave out its share of a collective?)\n"
                << std::flush;
      std::this_thread::sleep_for(std::chrono::seconds(1));  // gives other ranks time to print it
      std::_Exit(1);
    }
  }

  int rank_;
  std::chrono::seconds seconds_{60};
  std::chrono::seconds most_{240};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string test_;
  unsigned number_ = 0;
  bool over_ = false;
  std::thread looks_;
};

}  // namespace

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (std::string const mistake = tessera::testing::mistake_in_environment(); !mistake.empty()) {
    std::cerr << mistake << std::endl;
    return 2;
  }
  auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
  if (!tessera::ranks::world().first()) {
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new Failures);
  }
  listeners.Append(new Patience);
  Kokkos::ScopeGuard const kokkos(argc, argv);
  return RUN_ALL_TESTS();
}
