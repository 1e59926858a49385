// Wrong moving averages, each by one of the traps of stencils.

#include <cstddef>

#include "broken_stencil.hpp"

#include "../../apps/moving_average/problem.hpp"

namespace tessera::moving_average {
namespace {

// Mean of `count` elements from in[i] on, as if there were `of`.
template <class T>
KOKKOS_INLINE_FUNCTION T mean(T const* in, std::size_t i, std::size_t count, int of) {
  Arithmetic<T> sum = in[i];
  if (count > 1) sum += in[i + 1];
  if (count > 2) sum += in[i + 2];
  return sum * share_of<Arithmetic<T>>(of);
}

// Elements from i to the next multiple of `length` or to n, at most 3.
KOKKOS_INLINE_FUNCTION int present(std::size_t i, std::size_t n, std::size_t length) {
  std::size_t const left = Kokkos::min(n - i, length == 0 ? n - i : length - i % length);
  return left < 3 ? static_cast<int>(left) : 3;
}

struct CrossesSegments {
  static constexpr VariantInfo info{.name = "crosses_segments", .summary = "takes the next segment's elements"};
  template <Floating T>
  KOKKOS_FUNCTION static T at(T const* in, std::size_t i, std::size_t n, std::size_t) {
    return mean(in, i, present(i, n, 0), present(i, n, 0));
  }
};

struct AlwaysThirds {
  static constexpr VariantInfo info{.name = "always_thirds", .summary = "divides by 3 where there are fewer"};
  template <Floating T>
  KOKKOS_FUNCTION static T at(T const* in, std::size_t i, std::size_t n, std::size_t segment) {
    return mean(in, i, present(i, n, segment), 3);
  }
};

struct HaloOfOne {
  static constexpr VariantInfo info{.name = "halo_of_one", .summary = "tiles of 8 that see one element behind them"};
  template <Floating T>
  KOKKOS_FUNCTION static T at(T const* in, std::size_t i, std::size_t n, std::size_t segment) {
    int const there = present(i, n, segment);
    return mean(in, i, i % 8 == 7 && there > 2 ? 2 : there, there);
  }
};

struct LanesBeyondEnd {
  static constexpr VariantInfo info{.name = "lanes_beyond_end", .summary = "zeros past the end count as elements"};
  template <Floating T>
  KOKKOS_FUNCTION static T at(T const* in, std::size_t i, std::size_t n, std::size_t) {
    return mean(in, i, present(i, n, 0), 3);
  }
};

struct SegmentsFromTile {
  static constexpr VariantInfo info{.name = "segments_from_tile", .summary = "counts segments from its tile of 8 on"};
  template <Floating T>
  KOKKOS_FUNCTION static T at(T const* in, std::size_t i, std::size_t n, std::size_t segment) {
    int const there = Kokkos::min(present(i % 8, n, segment), present(i, n, 0));
    return mean(in, i, there, there);
  }
};

template <class Mistake>
void expect_caught(std::int64_t segment, std::string const& where) {
  testing::expect_caught<MovingAverage, testing::WrongStencil<MovingAverage, Mistake>>(100, {{"segment", segment}},
                                                                                       where);
}

TEST(BrokenMovingAverage, CrossesSegments) { expect_caught<CrossesSegments>(32, "first at [30]"); }
TEST(BrokenMovingAverage, AlwaysThirds) { expect_caught<AlwaysThirds>(32, "first at [30]"); }
TEST(BrokenMovingAverage, HaloOfOne) { expect_caught<HaloOfOne>(0, "first at [7]"); }
TEST(BrokenMovingAverage, LanesBeyondEnd) { expect_caught<LanesBeyondEnd>(0, "2 of 100 elements are wrong"); }
TEST(BrokenMovingAverage, SegmentsFromTile) { expect_caught<SegmentsFromTile>(3, "first at [8]"); }

}  // namespace
}  // namespace tessera::moving_average
