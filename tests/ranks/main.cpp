// The main program of tests on ranks: the first one prints as always, the others what fails.

#include <gtest/gtest.h>

#include <Kokkos_Core.hpp>

#include <iostream>

#include <tessera/ranks/ranks.hpp>

namespace {

class Failures final : public ::testing::EmptyTestEventListener {
  void OnTestPartResult(::testing::TestPartResult const& result) override {
    if (!result.failed()) return;
    std::cerr << "rank " << tessera::ranks::world().rank() << ": " << result.file_name() << ":" << result.line_number()
              << ": " << result.message() << std::endl;
  }
};

}  // namespace

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (!tessera::ranks::world().first()) {
    auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new Failures);
  }
  Kokkos::ScopeGuard const kokkos(argc, argv);
  return RUN_ALL_TESTS();
}
