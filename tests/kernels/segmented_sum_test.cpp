// The tiles of SegmentedSum and the join of its chunks, with teams in every order of their threads, one after another
// in one scratch.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <Kokkos_Core.hpp>

// Must precede the kernels, which call the Kokkos functions that are declared by then.
#include "adversarial_league.hpp"

#include <tessera/core/spaces.hpp>
#include <tessera/kernels/segmented_sum.hpp>

namespace tessera::test {
namespace {

struct FourLanesOfTiles {
  static constexpr bool tiles = true;
  static constexpr int lanes = 4;
  static constexpr int pack = 2;
  static constexpr int rows = 2;
  static constexpr int most_lanes = 20;  // five threads
  using Bounds = Kokkos::LaunchBounds<>;
};

/// Lengths of segments: none are empty, every second one is, one is longer than a tile, each crosses six chunks of two
/// threads, or one holds all elements.
enum class Kind { short_ones, empty_ones, long_one, long_ones, whole };

[[nodiscard]] std::vector<std::int64_t> offsets_of(Kind kind, std::int64_t n) {
  std::vector<std::int64_t> offsets{0};
  for (std::int64_t r = 0; offsets.back() < n; ++r) {
    std::int64_t length = 1 + r % 5;
    if (kind == Kind::empty_ones && r % 2 == 1) length = 0;
    if (kind == Kind::long_one && r == 3) length = 200;
    if (kind == Kind::long_ones) length = 200;
    if (kind == Kind::whole) length = n;
    offsets.push_back(std::min(n, offsets.back() + length));
  }
  offsets.push_back(n);  // an empty segment at the end
  return offsets;
}

template <class T>
void expect_sums_in_any_order(Kind kind, std::int64_t n, int threads, std::size_t teams) {
  using Kernels = kernels::detail::SegmentedSumKernels<AdversarialSpace, T, FourLanesOfTiles>;
  std::vector<std::int64_t> const offsets = offsets_of(kind, n);
  std::size_t const rows = offsets.size() - 1;
  alignas(16) static T in[1024];
  // In 64 bits, sums have both halves.
  for (std::int64_t i = 0; i < n; ++i) in[i] = static_cast<T>((1 + i % 1009) * 0x100000001);
  std::vector<T> expected;
  for (std::size_t r = 0; r < rows; ++r) {
    T sum = 0;
    for (std::int64_t i = offsets[r]; i < offsets[r + 1]; ++i) sum += in[i];
    expected.push_back(sum);
  }
  expected.push_back(T(7));  // nothing behind the results
  auto const path = static_cast<std::size_t>(n) + rows;
  kernels::Chunks const chunks = kernels::split(path, Kernels::chunk_unit(threads), teams);
  AdversarialTeam team(threads);
  for (Order const order : all_orders) {
    std::vector<T> out(rows + 1, T(7));
    std::vector<typename Kernels::Sum> partial(static_cast<std::size_t>(chunks.count), 7);
    std::vector<std::int64_t> open_row(static_cast<std::size_t>(chunks.count), -7);
    std::vector<char> scratch(Kernels::scratch_bytes() + 64, static_cast<char>(-1));
    Kernels const kernel{
        in,   offsets.data(), reinterpret_cast<typename Kernels::Stored*>(out.data()), partial.data(), open_row.data(),
        rows, chunks};
    auto const launch = [&](auto tag, int league) {
      return team.run(order, 1, [&](AdversarialTeam::Member const& member) {
        for (int rank = 0; rank < league; ++rank) {
          kernel(tag, LeagueMember(member, rank, scratch.data(), static_cast<int>(scratch.size())));
        }
      });
    };
    std::string const about = std::to_string(n) + " elements, kind " + std::to_string(static_cast<int>(kind)) + ", " +
                              std::to_string(threads) + " threads, " + std::to_string(chunks.count) + " chunks, " +
                              name_of(order);
    ASSERT_EQ(launch(typename Kernels::ChunkTag{}, chunks.count).value_or(""), "") << about;
    ASSERT_EQ(launch(typename Kernels::JoinTag{}, chunks.count - 1).value_or(""), "") << about;
    ASSERT_EQ(out, expected) << about;
  }
}

// A team asks for what it uses: with twice as much, teams with long runs did not fit on a multiprocessor.
TEST(SegmentedSumKernels, ScratchIsOneExchange) {
  using Kernels = kernels::detail::SegmentedSumKernels<AdversarialSpace, float, FourLanesOfTiles>;
  EXPECT_GE(Kernels::scratch_bytes(), sizeof(Kernels::Exchange));
  EXPECT_LE(Kernels::scratch_bytes(), sizeof(Kernels::Exchange) + 32);
}
TEST(SegmentedSumKernels, InOneScratchInAnyOrder) {
  for (Kind const kind : {Kind::short_ones, Kind::empty_ones, Kind::long_one, Kind::long_ones, Kind::whole}) {
    for (int const threads : {1, 2, 3, 5}) {
      for (std::int64_t const n : {1, 31, 32, 33, 700}) {
        for (std::size_t const teams : {1, 4, 30}) {
          expect_sums_in_any_order<std::int32_t>(kind, n, threads, teams);
          expect_sums_in_any_order<std::int64_t>(kind, n, threads, teams);
          expect_sums_in_any_order<std::uint32_t>(kind, n, threads, teams);
          expect_sums_in_any_order<std::uint64_t>(kind, n, threads, teams);
        }
      }
    }
  }
}

}  // namespace
}  // namespace tessera::test
