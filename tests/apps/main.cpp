// The tests of mini-apps need Kokkos for their whole run. On a machine without a GPU, a GPU build cannot start Kokkos;
// that is a failure here, not a skip.

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include <tessera/table/runtime.hpp>

#include "harness.hpp"
#include "prepared.hpp"

namespace {

// A test that ran no row because all were skipped has shown nothing. Of one level, all may have to be.
class SomeRowRuns final : public ::testing::EmptyTestEventListener {
  void OnTestStart(::testing::TestInfo const&) override { (void)tessera::testing::all_were_skipped(); }
  void OnTestEnd(::testing::TestInfo const& info) override {
    std::string const why = tessera::testing::all_were_skipped();
    if (!why.empty() && info.result()->Passed()) ADD_FAILURE() << why;
  }
};

}  // namespace

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (std::string const mistake = tessera::testing::mistake_in_environment(); !mistake.empty()) {
    (void)std::fprintf(stderr, "%s: %s\n", argv[0], mistake.c_str());
    return 2;
  }
  if (std::getenv("TESSERA_TEST_LEVEL") == nullptr) {
    ::testing::UnitTest::GetInstance()->listeners().Append(new SomeRowRuns);
  }
  tessera::Runtime const runtime(argc, argv);
  int const code = RUN_ALL_TESTS();
  tessera::testing::forget_prepared_cases();
  return code;
}
