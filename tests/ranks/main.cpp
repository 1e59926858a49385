// The main program of tests on ranks: the first one prints as always, the others what fails. A rank that leaves out its share of
// a collective keeps the others waiting: a test that lasts too long is named by those who wait, and ends all of them.

#include <gtest/gtest.h>

#include <Kokkos_Core.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <string>
#include <thread>

#include <tessera/ranks/ranks.hpp>

namespace {

class Failures final : public ::testing::EmptyTestEventListener {
  void OnTestPartResult(::testing::TestPartResult const& result) override {
    if (!result.failed()) return;
    std::cerr << "rank " << tessera::ranks::world().rank() << ": " << result.file_name() << ":" << result.line_number()
              << ": " << result.message() << std::endl;
  }
};

// Looks at the time that a test takes, from a thread of its own: the one that waits in MPI cannot.
class Patience final : public ::testing::EmptyTestEventListener {
 public:
  Patience() : rank_(tessera::ranks::world().rank()) {
    // Sanitizers and full machines need more.
    if (char const* const text = std::getenv("TESSERA_TEST_PATIENCE")) seconds_ = std::chrono::seconds(std::atoi(text));
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
  void look() {
    std::unique_lock lock(mutex_);
    while (!over_) {
      auto const here = number_;
      bool const has_changed = changed_.wait_for(lock, seconds_, [&] { return over_ || number_ != here; });
      if (has_changed || test_.empty()) continue;
      // In one piece, since several ranks may say it.
      std::cerr << "rank " + std::to_string(rank_) + ": " + test_ + " has taken " + std::to_string(seconds_.count()) +
                       " s (does a rank leave out its share of a collective?)\n"
                << std::flush;
      std::this_thread::sleep_for(std::chrono::seconds(1));  // the others say it, too
      std::_Exit(1);
    }
  }

  int rank_;
  std::chrono::seconds seconds_{60};
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
  auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
  if (!tessera::ranks::world().first()) {
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new Failures);
  }
  listeners.Append(new Patience);
  Kokkos::ScopeGuard const kokkos(argc, argv);
  return RUN_ALL_TESTS();
}
