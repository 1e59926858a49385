// Wrong finite differences must be caught, each with one typical mistake of stencils.

#include "broken_stencil.hpp"

#include "../../apps/finite_difference/problem.hpp"

namespace tessera::finite_difference {
namespace {

// Which element is used as the next one of the segment, and whether it is used. n elements in segments of `segment`.

// Takes the next segment's first element.
struct CrossesSegments {
  template <class T>
  KOKKOS_FUNCTION static T at(T const* in, std::size_t i, std::size_t n, std::size_t) {
    return i + 1 < n ? difference(in[i], in[i + 1]) : T(0);
  }
};

// A tile of 8 ends as a segment does.
struct TileWithoutHalo {
  template <class T>
  KOKKOS_FUNCTION static T at(T const* in, std::size_t i, std::size_t n, std::size_t) {
    return i + 1 < n && (i + 1) % 8 != 0 ? difference(in[i], in[i + 1]) : T(0);
  }
};

// A shift that nobody completes.
struct LastLaneKeepsOwn {
  template <class T>
  KOKKOS_FUNCTION static T at(T const* in, std::size_t i, std::size_t n, std::size_t) {
    std::size_t const from = i % 32 == 31 ? i : i + 1;
    return i + 1 < n ? difference(in[i], in[from]) : T(0);
  }
};

// A lane past the end hands its 0 over.
struct LanesBeyondEnd {
  template <class T>
  KOKKOS_FUNCTION static T at(T const* in, std::size_t i, std::size_t n, std::size_t) {
    return difference(in[i], i + 1 < n ? in[i + 1] : T(0));
  }
};

// Counts segments from its tile of 8 on.
struct SegmentsFromTile {
  template <class T>
  KOKKOS_FUNCTION static T at(T const* in, std::size_t i, std::size_t n, std::size_t segment) {
    return i + 1 < n && (i % 8 + 1) % segment != 0 ? difference(in[i], in[i + 1]) : T(0);
  }
};

// in[i] - in[i - 1].
struct LooksBack {
  template <class T>
  KOKKOS_FUNCTION static T at(T const* in, std::size_t i, std::size_t, std::size_t) {
    return i > 0 ? difference(in[i - 1], in[i]) : T(0);
  }
};

template <class Mistake>
void expect_caught(std::int64_t segment, std::string const& where) {
  testing::expect_caught<FiniteDifference>(testing::WrongStencil<FiniteDifference, Mistake>{}, 100,
                                           {{"segment", segment}}, where);
}

TEST(BrokenFiniteDifference, CrossesSegments) { expect_caught<CrossesSegments>(32, "first at [31]"); }
TEST(BrokenFiniteDifference, TileWithoutHalo) { expect_caught<TileWithoutHalo>(0, "first at [7]"); }
TEST(BrokenFiniteDifference, LastLaneKeepsOwn) { expect_caught<LastLaneKeepsOwn>(0, "first at [31]"); }
TEST(BrokenFiniteDifference, LanesBeyondEnd) { expect_caught<LanesBeyondEnd>(0, "1 of 100 elements are wrong"); }
TEST(BrokenFiniteDifference, SegmentsFromTile) { expect_caught<SegmentsFromTile>(3, "first at [8]"); }
TEST(BrokenFiniteDifference, LooksBack) { expect_caught<LooksBack>(0, "first at [0]"); }

}  // namespace
}  // namespace tessera::finite_difference
