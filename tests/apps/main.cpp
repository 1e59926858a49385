// The tests of mini-apps need Kokkos for their whole run. On a machine without a GPU, a GPU build cannot start Kokkos;
// that is a failure here, not a skip.

#include <gtest/gtest.h>

#include <tessera/table/runtime.hpp>

#include "prepared.hpp"

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  tessera::Runtime const runtime(argc, argv);
  int const code = RUN_ALL_TESTS();
  tessera::testing::forget_prepared_cases();
  return code;
}
