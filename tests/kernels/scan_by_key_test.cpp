// Scans by key: on every space, with the tiles as shipped and with tiles of a few elements; runs within a tile, across
// many tiles, and of one element.

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <Kokkos_Core.hpp>

#include <tessera/collective/operators.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/type_list.hpp>
#include <tessera/kernels/reduce_by_key.hpp>

namespace tessera::test {
namespace {

// Associative, not commutative: the last value that is not 0.
struct LastNonzero {
  [[nodiscard]] KOKKOS_FUNCTION std::int32_t identity() const { return 0; }
  [[nodiscard]] KOKKOS_FUNCTION std::int32_t operator()(std::int32_t a, std::int32_t b) const { return b != 0 ? b : a; }
};

// On a host, threads of 8 emulated lanes with 2 packs each.
template <class Exec>
struct FewElements : kernels::ReduceByKeyTuning<Exec, std::int32_t> {
  static constexpr int lanes = is_gpu<Exec> ? lane::natural_width<Exec> : 8;
  static constexpr int rows = is_gpu<Exec> ? 1 : 2;
};

// Runs of 1 to `longest` elements.
[[nodiscard]] std::int32_t key_of(std::size_t i, std::size_t longest) {
  return static_cast<std::int32_t>(i / longest % 5 + (i % longest == 0 ? 9 : 0));
}
[[nodiscard]] std::int32_t value_of(std::size_t i) { return i % 3 == 0 ? 0 : static_cast<std::int32_t>(i % 1009); }

template <class Exec, class Tuning, class Op>
void expect_scanned(std::size_t n, std::size_t longest, std::int64_t team) {
  using Numbers = Kokkos::View<std::int32_t*, typename Exec::memory_space>;
  Op const op;
  Exec const exec;
  Numbers const keys("keys", n);
  Numbers const values("values", n);
  Numbers const all("out", n + 2);  // with an element on each side that must stay
  auto const host_keys = Kokkos::create_mirror_view(keys);
  auto const host_values = Kokkos::create_mirror_view(values);
  std::vector<std::int32_t> expected(n + 2, -7);
  for (std::size_t i = 0; i < n; ++i) {
    host_keys(i) = key_of(i, longest);
    host_values(i) = value_of(i);
    bool const is_head = i == 0 || key_of(i, longest) != key_of(i - 1, longest);
    expected[i + 1] = is_head ? value_of(i) : op(expected[i], value_of(i));
  }
  Kokkos::deep_copy(keys, host_keys);
  Kokkos::deep_copy(values, host_values);
  kernels::ScanByKey<Exec, std::int32_t, Op, Tuning> scan(exec, n, op, team);
  for (int launch = 0; launch < 2; ++launch) {  // the second one has another epoch
    Kokkos::deep_copy(all, -7);
    scan(exec, keys, values, Kokkos::subview(all, std::pair<std::size_t, std::size_t>(1, n + 1)));
    exec.fence();
    auto const found = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), all);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < n + 2; ++i) wrong += found(i) == expected[i] ? 0 : 1;
    EXPECT_EQ(wrong, 0U) << n << " elements, runs up to " << longest << ", team " << team << ", launch " << launch;
  }
}

TEST(ScanByKey, RestartsAtEachRun) {
  for_each_type(EnabledSpaces{}, []<class Exec>() {
    using Shipped = kernels::ReduceByKeyTuning<Exec, std::int32_t>;
    bool const has_teams = is_gpu<Exec> || Exec().concurrency() > 1;
    for (std::size_t const n : {0, 1, 2, 63, 64, 65, 4095, 4097, 100003}) {
      for (std::size_t const longest : {1, 2, 33, 1000, 1000000}) {
        expect_scanned<Exec, Shipped, collective::Sum<std::int32_t>>(n, longest, 0);
        for (std::int64_t const team : {1, 2}) {
          if (team == 2 && !has_teams) continue;
          expect_scanned<Exec, FewElements<Exec>, collective::Sum<std::int32_t>>(n, longest, team);
          expect_scanned<Exec, FewElements<Exec>, LastNonzero>(n, longest, team);
        }
      }
    }
    expect_scanned<Exec, Shipped, collective::Max<std::int32_t>>((std::size_t{1} << 20) + 3, 5000, 0);
  });
}

TEST(ScanByKey, OfASingleCall) {
  using Exec = Kokkos::DefaultHostExecutionSpace;
  Kokkos::View<std::int32_t*, Kokkos::HostSpace> const keys("keys", 6);
  Kokkos::View<double*, Kokkos::HostSpace> const values("values", 6);
  Kokkos::View<double*, Kokkos::HostSpace> const out("out", 6);
  std::int32_t const given[] = {7, 7, 2, 2, 2, 7};
  double const expected[] = {1, 3, 3, 7, 12, 6};
  for (int i = 0; i < 6; ++i) {
    keys(i) = given[i];
    values(i) = i + 1;
  }
  kernels::scan_by_key(Exec(), keys, values, out);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(out(i), expected[i]) << i;
  EXPECT_THROW(kernels::scan_by_key(Exec(), keys, values, values), std::invalid_argument);
}

}  // namespace
}  // namespace tessera::test
