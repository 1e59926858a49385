// Wrong finite differences must be caught, each with one typical mistake of stencils.

#include "broken_stencil.hpp"

#include "../../apps/finite_difference/problem.hpp"

namespace tessera::finite_difference {
namespace {

// Which element is used as the next one of the segment, and whether it is used. n elements in segments of `segment`.
struct CrossesSegments {
  static constexpr VariantInfo info{.name = "crosses_segments", .summary = "takes the next segment's first element"};
  template <class T>
  KOKKOS_FUNCTION static T at(T const* in, std::size_t i, std::size_t n, std::size_t) {
    return i + 1 < n ? difference(in[i], in[i + 1]) : T(0);
  }
};

struct TileWithoutHalo {
  static constexpr VariantInfo info{.name = "tile_without_halo", .summary = "a tile of 8 ends as a segment does"};
  template <class T>
  KOKKOS_FUNCTION static T at(T const* in, std::size_t i, std::size_t n, std::size_t) {
    return i + 1 < n && (i + 1) % 8 != 0 ? difference(in[i], in[i + 1]) : T(0);
  }
};

struct LastLaneKeepsOwn {
  static constexpr VariantInfo info{.name = "last_lane_keeps_own", .summary = "a shift that nobody completes"};
  template <class T>
  KOKKOS_FUNCTION static T at(T const* in, std::size_t i, std::size_t n, std::size_t) {
    std::size_t const from = i % 32 == 31 ? i : i + 1;
    return i + 1 < n ? difference(in[i], in[from]) : T(0);
  }
};

struct LanesBeyondEnd {
  static constexpr VariantInfo info{.name = "lanes_beyond_end", .summary = "a lane past the end hands its 0 over"};
  template <class T>
  KOKKOS_FUNCTION static T at(T const* in, std::size_t i, std::size_t n, std::size_t) {
    return difference(in[i], i + 1 < n ? in[i + 1] : T(0));
  }
};

struct SegmentsFromTile {
  static constexpr VariantInfo info{.name = "segments_from_tile", .summary = "counts segments from its tile of 8 on"};
  template <class T>
  KOKKOS_FUNCTION static T at(T const* in, std::size_t i, std::size_t n, std::size_t segment) {
    return i + 1 < n && (i % 8 + 1) % segment != 0 ? difference(in[i], in[i + 1]) : T(0);
  }
};

struct LooksBack {
  static constexpr VariantInfo info{.name = "looks_back", .summary = "in[i] - in[i - 1]"};
  template <class T>
  KOKKOS_FUNCTION static T at(T const* in, std::size_t i, std::size_t, std::size_t) {
    return i > 0 ? difference(in[i - 1], in[i]) : T(0);
  }
};

template <class Mistake>
void expect_caught(std::int64_t segment, std::string const& where) {
  testing::expect_caught<FiniteDifference, testing::WrongStencil<FiniteDifference, Mistake>>(
      100, {{"segment", segment}}, where);
}

TEST(BrokenFiniteDifference, CrossesSegments) { expect_caught<CrossesSegments>(32, "first at [31]"); }
TEST(BrokenFiniteDifference, TileWithoutHalo) { expect_caught<TileWithoutHalo>(0, "first at [7]"); }
TEST(BrokenFiniteDifference, LastLaneKeepsOwn) { expect_caught<LastLaneKeepsOwn>(0, "first at [31]"); }
TEST(BrokenFiniteDifference, LanesBeyondEnd) { expect_caught<LanesBeyondEnd>(0, "1 of 100 elements are wrong"); }
TEST(BrokenFiniteDifference, SegmentsFromTile) { expect_caught<SegmentsFromTile>(3, "first at [8]"); }
TEST(BrokenFiniteDifference, LooksBack) { expect_caught<LooksBack>(0, "first at [0]"); }

}  // namespace
}  // namespace tessera::finite_difference
