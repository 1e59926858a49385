// A kernel that reads elements after it has written others refuses a result in the memory of an input.

#include <cstdint>
#include <stdexcept>
#include <utility>

#include <gtest/gtest.h>

#include <tessera/kernels/attention.hpp>
#include <tessera/kernels/broadcast_add.hpp>
#include <tessera/kernels/conv1d.hpp>
#include <tessera/kernels/conv2d.hpp>
#include <tessera/kernels/embedding.hpp>
#include <tessera/kernels/gemm.hpp>
#include <tessera/kernels/merge_sort.hpp>
#include <tessera/kernels/partition.hpp>
#include <tessera/kernels/partition_segments.hpp>
#include <tessera/kernels/pooling.hpp>
#include <tessera/kernels/reduce_by_key.hpp>
#include <tessera/kernels/segmented_sum.hpp>
#include <tessera/kernels/sort_segments.hpp>
#include <tessera/kernels/transpose.hpp>

namespace tessera::test {
namespace {

using Exec = Kokkos::DefaultHostExecutionSpace;
using Vector = Kokkos::View<float*, Kokkos::HostSpace>;
using Matrix = Kokkos::View<float**, Kokkos::LayoutRight, Kokkos::HostSpace>;
using Total = Kokkos::View<std::int64_t, Kokkos::HostSpace>;
using Totals = Kokkos::View<std::int64_t*, Kokkos::HostSpace>;

struct IsNegative {
  KOKKOS_FUNCTION bool operator()(float x) const { return x < 0; }
};

TEST(Overlap, is_refused) {
  Exec const exec;
  Vector const a("a", 16), b("b", 16);
  Matrix const m("m", 4, 4), n("n", 4, 4);
  Total const count("count");
  Totals const counts("counts", 4);
  EXPECT_THROW(kernels::partition(exec, a, a, count, IsNegative{}), std::invalid_argument);
  EXPECT_THROW(kernels::partition_segments(exec, a, a, counts, 4, IsNegative{}), std::invalid_argument);
  EXPECT_THROW((kernels::LookBackPartition<Exec, float, IsNegative>(exec, 16)(exec, a, a, count)),
               std::invalid_argument);
  EXPECT_THROW(kernels::conv1d(exec, a, b, b), std::invalid_argument);
  EXPECT_THROW(kernels::window_sum(exec, 3, a, a), std::invalid_argument);
  EXPECT_THROW(kernels::conv2d(exec, m, n, m), std::invalid_argument);
  EXPECT_THROW(kernels::transpose(exec, m, m), std::invalid_argument);
  EXPECT_THROW(kernels::gemm(exec, n, m, m), std::invalid_argument);
  EXPECT_THROW(kernels::attention(exec, n, n, m, m, 1), std::invalid_argument);
  Vector const of_m(m.data(), 4);
  EXPECT_THROW(kernels::broadcast_add(exec, of_m, of_m, m), std::invalid_argument);
  Kokkos::View<std::int32_t*, Kokkos::HostSpace> const indices("indices", 4);
  EXPECT_THROW(kernels::embedding(exec, indices, m, m), std::invalid_argument);
  EXPECT_THROW(kernels::unique(exec, indices, indices, count), std::invalid_argument);
  EXPECT_THROW(kernels::reduce_by_key(exec, indices, of_m, indices, of_m, count), std::invalid_argument);
  EXPECT_THROW(kernels::merge_sort(exec, a, a), std::invalid_argument);
  Vector const keys("keys", 16), values("values", 16);
  EXPECT_THROW(kernels::merge_sort_by_key(exec, keys, values, values, a), std::invalid_argument);
  EXPECT_THROW(kernels::merge_sort_by_key(exec, keys, values, a, keys), std::invalid_argument);
  EXPECT_THROW(kernels::merge_sort_by_key(exec, keys, values, a, a), std::invalid_argument);
  EXPECT_NO_THROW(kernels::merge_sort_by_key(exec, keys, values, a, b));
  EXPECT_THROW(kernels::segmented_sum(exec, a, Totals("offsets", 17), a), std::invalid_argument);
  EXPECT_THROW(kernels::sort_segments(exec, a, Totals("offsets", 17), a), std::invalid_argument);
}

TEST(Overlap, by_one_element_is_refused_and_neighbours_are_not) {
  Exec const exec;
  Vector const all("all", 32);
  Total const count("count");
  auto const part = [&](std::size_t begin) { return Kokkos::subview(all, std::pair(begin, begin + 16)); };
  for (std::size_t const from : {std::size_t{0}, std::size_t{16}}) {
    EXPECT_NO_THROW(kernels::partition(exec, part(from), part(16 - from), count, IsNegative{}));
  }
  EXPECT_THROW(kernels::partition(exec, part(0), part(15), count, IsNegative{}), std::invalid_argument);
  EXPECT_THROW(kernels::partition(exec, part(15), part(0), count, IsNegative{}), std::invalid_argument);
  // Arrays without elements share nothing.
  auto const none = Kokkos::subview(all, std::pair<std::size_t, std::size_t>(5, 5));
  EXPECT_NO_THROW(kernels::partition(exec, none, none, count, IsNegative{}));
}

}  // namespace
}  // namespace tessera::test
