// Packs of elements: loops over them and streaming stores; finding the rows of a matrix: divisions, tiles, pieces.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include <Kokkos_Core.hpp>

#include <tessera/collective/divider.hpp>
#include <tessera/collective/streaming_store.hpp>
#include <tessera/core/half.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/for_each_pack.hpp>
#include <tessera/kernels/detail/launch/row_tiles.hpp>

namespace tessera::test {

TEST(Divider, DividesEverythingBelow2To63) {
  constexpr std::uint64_t top = (std::uint64_t{1} << 63) - 1;
  std::vector<std::uint64_t> divisors;
  for (std::uint64_t d = 1; d < 70; ++d) divisors.push_back(d);
  for (int bit = 6; bit < 63; ++bit) {
    for (int offset = -2; offset <= 2; ++offset) divisors.push_back((std::uint64_t{1} << bit) + offset);
  }
  divisors.insert(divisors.end(), {641, 6700417, 1000003, 4294967291, 999999999989, top - 1, top, top + 1});
  for (std::uint64_t const divisor : divisors) {
    collective::Divider const divide(divisor);
    std::uint64_t const last = top / divisor * divisor;  // errors appear first around the largest multiples
    for (std::uint64_t const base : {std::uint64_t{0}, divisor, 2 * divisor, top / 2 / divisor * divisor, last, top}) {
      for (std::uint64_t offset = 0; offset < 4; ++offset) {
        for (std::uint64_t const value : {base + offset, base - offset}) {
          if (value > top) continue;
          ASSERT_EQ(divide(value), value / divisor) << value << " / " << divisor;
        }
      }
    }
  }
}

using Host = Kokkos::DefaultHostExecutionSpace;

/// Counts the calls per element, and how many of them were for packs.
struct CountCalls {
  int* calls;
  int* packs;
  template <int N>
  KOKKOS_FUNCTION void operator()(kernels::Width<N>, std::size_t begin) const {
    for (int e = 0; e < N; ++e) Kokkos::atomic_inc(&calls[begin + e]);
    if (N > 1) Kokkos::atomic_inc(packs);
  }
};

TEST(ForEachPack, TakesEveryElementOnce) {
  for (std::size_t const n : {0, 1, 3, 4, 5, 8, 1023, 1024, 1025}) {
    for (bool const aligned : {true, false}) {
      std::vector<int> calls(n + 8);
      int packs = 0;
      kernels::for_each_pack<4>("tessera::tests::for_each_pack", Host(), n, aligned, CountCalls{calls.data(), &packs});
      Host().fence();
      EXPECT_EQ(packs, aligned ? static_cast<int>(n / 4) : 0) << n;
      EXPECT_TRUE(std::all_of(calls.begin(), calls.begin() + n, [](int count) { return count == 1; })) << n;
      EXPECT_TRUE(std::all_of(calls.begin() + n, calls.end(), [](int count) { return count == 0; })) << n;
    }
  }
}

TEST(Pack, LoadsFromAnywhere) {
  alignas(16) float const data[] = {0, 1, 2, 3, 4, 5, 6, 7};
  for (int begin = 0; begin <= 4; ++begin) {
    auto const pack = collective::load_pack<4>(data + begin);
    for (int e = 0; e < 4; ++e) EXPECT_EQ(pack[e], static_cast<float>(begin + e));
  }
  EXPECT_TRUE(collective::is_aligned_for_packs<4>(data, data + 4));
  EXPECT_FALSE(collective::is_aligned_for_packs<4>(data, data + 1));
}

TEST(StreamingStore, StoresThePackAndNothingElse) {
  alignas(16) float data[12] = {};
  collective::streaming_store(data + 4, collective::Pack<float, 4>{{1, 2, 3, 4}});
  collective::streaming_fence();
  for (int i = 0; i < 12; ++i) EXPECT_EQ(data[i], i >= 4 && i < 8 ? static_cast<float>(i - 3) : 0.0F) << i;
}

TEST(StreamingStore, IsForWhatNoCacheHolds) {
  EXPECT_FALSE(collective::streams<Host>(0));
  EXPECT_FALSE(collective::streams<Host>(1000));
}

TEST(RowTiles, CoverTheMatrixOnce) {
  std::size_t const extents[] = {0, 1, 2, 3, 31, 32, 33, 63, 64, 65, 100, 129, 130, 1000};
  for (std::size_t const rows : extents) {
    for (std::size_t const cols : extents) {
      auto const tiles = kernels::row_tiles(rows, cols, 64);
      EXPECT_LE(tiles.tile_rows * tiles.tile_cols, 64);
      EXPECT_TRUE(rows == 0 || tiles.across() <= 1 || tiles.tile_cols % 32 == 0) << cols;
      std::vector<int> covered(rows * cols);
      for (int tile = 0; tile < league_of(tiles.count()); ++tile) {
        auto const place = tiles.place(tile);
        EXPECT_GT(place.row_count * place.col_count, 0) << "an idle team";
        for (int r = 0; r < place.row_count; ++r) {
          for (int c = 0; c < place.col_count; ++c) ++covered.at((place.row + r) * cols + place.col + c);
        }
      }
      EXPECT_TRUE(std::all_of(covered.begin(), covered.end(), [](int count) { return count == 1; }))
          << rows << " x " << cols;
    }
  }
}

TEST(RowTiles, AreOfEqualWidth) {
  EXPECT_EQ(kernels::row_tiles(100, 10, 64).tile_rows, 6);
  EXPECT_EQ(kernels::row_tiles(2, 10, 64).tile_rows, 2);
  EXPECT_EQ(kernels::row_tiles(100, 130, 64).tile_cols, 64);
  // The shape must not become 8192 and 8.
  EXPECT_EQ(kernels::row_tiles(1, 8200, 8192).tile_cols, 4128);
}

/// A team of one thread writes the number of columns of each piece to the piece's begin.
struct MarkPieces {
  collective::MatrixTiles tiles;
  int piece;
  int* marks;
  KOKKOS_FUNCTION void operator()(Kokkos::TeamPolicy<Host>::member_type const& team) const {
    kernels::for_each_row_piece(
        team, tiles.place(team.league_rank()), piece,
        [&](std::size_t row, std::size_t col, int count) { marks[row * tiles.cols + col] += count; });
  }
};

TEST(RowTiles, FallIntoPieces) {
  std::vector<int> marks(10);
  Kokkos::parallel_for("tessera::tests::pieces", Kokkos::TeamPolicy<Host>(1, 1),
                       MarkPieces{kernels::row_tiles(2, 5, 32), 3, marks.data()});
  Host().fence();
  EXPECT_EQ(marks, (std::vector<int>{3, 0, 0, 2, 0, 3, 0, 0, 2, 0}));
}

// Conversions in kernels use the device's instructions, on hosts the compiler's or integer arithmetic. They must agree
// for every bit pattern and for floats around and between them. half_test.cpp compares the host's conversions with
// plain arithmetic.
template <class T>
void conversions_in_kernels_are_the_hosts() {
  using Exec = Kokkos::DefaultExecutionSpace;
  constexpr std::size_t patterns = std::size_t{1} << 16;
  constexpr std::size_t floats = std::size_t{1} << 22;
  Kokkos::View<float*, Exec> const as_floats("floats", patterns);
  Kokkos::View<std::uint16_t*, Exec> const as_bits("bits", floats);
  Kokkos::parallel_for(
      "tessera::test::to_float", over(Exec(), patterns),
      KOKKOS_LAMBDA(std::size_t i) { as_floats(i) = T::from_bits(static_cast<std::uint16_t>(i)); });
  // Every 1024th float: all exponents, and ties of Half and BFloat16 with both neighbours.
  auto const float_at = KOKKOS_LAMBDA(std::size_t i) {
    auto const bits = static_cast<std::uint32_t>(i << 10);
    return Kokkos::bit_cast<float>(i % 4 == 0 ? bits : i % 4 == 1 ? bits - 1023 : bits - 1025);
  };
  Kokkos::parallel_for(
      "tessera::test::from_float", over(Exec(), floats),
      KOKKOS_LAMBDA(std::size_t i) { as_bits(i) = T(float_at(i)).bits(); });
  auto const host_floats = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), as_floats);
  auto const host_bits = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), as_bits);
  for (std::size_t i = 0; i < patterns; ++i) {
    float const wanted = T::from_bits(static_cast<std::uint16_t>(i));
    ASSERT_TRUE(wanted != wanted ? host_floats(i) != host_floats(i) : host_floats(i) == wanted) << i;
  }
  for (std::size_t i = 0; i < floats; ++i) {
    T const found = T::from_bits(host_bits(i));
    T const wanted(float_at(i));
    ASSERT_TRUE(wanted != wanted ? found != found : found.bits() == wanted.bits()) << float_at(i);
  }
}
TEST(ShortFloats, ConversionsInKernelsAreTheHosts) {
  conversions_in_kernels_are_the_hosts<Half>();
  conversions_in_kernels_are_the_hosts<BFloat16>();
}

}  // namespace tessera::test
