// Wrong moving averages, each by one of the traps of stencils.

#include "broken_rows.hpp"

#include "../../apps/moving_average/problem.hpp"

namespace tessera::moving_average {
namespace {

// Mean of `count` elements from in[i] on, as if there were `of`.
template <class T>
KOKKOS_INLINE_FUNCTION T mean(T const* in, std::size_t i, std::size_t count, int of) {
  T sum = in[i];
  if (count > 1) sum += in[i + 1];
  if (count > 2) sum += in[i + 2];
  return sum * share_of<T>(of);
}

// Elements from i to the next multiple of `length` or to n, at most 3.
KOKKOS_INLINE_FUNCTION int present(std::size_t i, std::size_t n, std::size_t length) {
  std::size_t const left = Kokkos::min(n - i, length == 0 ? n - i : length - i % length);
  return left < 3 ? static_cast<int>(left) : 3;
}

struct CrossesSegments {
  static constexpr VariantInfo info{.name = "crosses_segments", .summary = "takes the next segment's elements"};
  template <class T>
  KOKKOS_FUNCTION static T at(T const* in, std::size_t i, std::size_t n, std::size_t) {
    return mean(in, i, present(i, n, 0), present(i, n, 0));
  }
};

struct AlwaysThirds {
  static constexpr VariantInfo info{.name = "always_thirds", .summary = "divides by 3 where there are fewer"};
  template <class T>
  KOKKOS_FUNCTION static T at(T const* in, std::size_t i, std::size_t n, std::size_t segment) {
    return mean(in, i, present(i, n, segment), 3);
  }
};

struct HaloOfOne {
  static constexpr VariantInfo info{.name = "halo_of_one", .summary = "tiles of 8 that see one element behind them"};
  template <class T>
  KOKKOS_FUNCTION static T at(T const* in, std::size_t i, std::size_t n, std::size_t segment) {
    int const there = present(i, n, segment);
    return mean(in, i, i % 8 == 7 && there > 2 ? 2 : there, there);
  }
};

struct LanesBeyondEnd {
  static constexpr VariantInfo info{.name = "lanes_beyond_end", .summary = "zeros past the end count as elements"};
  template <class T>
  KOKKOS_FUNCTION static T at(T const* in, std::size_t i, std::size_t n, std::size_t) {
    return mean(in, i, present(i, n, 0), 3);
  }
};

struct SegmentsFromTile {
  static constexpr VariantInfo info{.name = "segments_from_tile", .summary = "counts segments from its tile of 8 on"};
  template <class T>
  KOKKOS_FUNCTION static T at(T const* in, std::size_t i, std::size_t n, std::size_t segment) {
    int const there = Kokkos::min(present(i % 8, n, segment), present(i, n, 0));
    return mean(in, i, there, there);
  }
};

template <class Mistake, class T>
struct Kernel {
  T const* in;
  T* out;
  std::size_t n;
  std::size_t segment;
  KOKKOS_FUNCTION void operator()(std::size_t i) const { out[i] = Mistake::at(in, i, n, segment); }
};

template <class Mistake>
struct Wrong {
  static constexpr VariantInfo info = Mistake::info;
  template <ExecutionSpace Exec, class T>
    requires std::is_floating_point_v<T>
  struct Plan {
    Plan(Exec const&, InputOn<MovingAverage, Exec, T> const&) {}
    void operator()(Exec const& exec, InputOn<MovingAverage, Exec, T> const& in,
                    OutputOn<MovingAverage, Exec, T> const& out) const {
      std::size_t const n = in.in.extent(0);
      Kokkos::parallel_for("tessera::tests::broken_moving_average", Kokkos::RangePolicy<Exec>(exec, 0, n),
                           Kernel<Mistake, T>{in.in.data(), out.out.data(), n, in.parameters.segment});
    }
  };
};

template <class Mistake>
void expect_caught(std::int64_t segment, std::string const& where) {
  testing::expect_caught<MovingAverage, Wrong<Mistake>>(100, {{"segment", segment}}, where);
}

TEST(BrokenMovingAverage, CrossesSegments) { expect_caught<CrossesSegments>(32, "first at [30]"); }
TEST(BrokenMovingAverage, AlwaysThirds) { expect_caught<AlwaysThirds>(32, "first at [30]"); }
TEST(BrokenMovingAverage, HaloOfOne) { expect_caught<HaloOfOne>(0, "first at [7]"); }
TEST(BrokenMovingAverage, LanesBeyondEnd) { expect_caught<LanesBeyondEnd>(0, "2 of 100 elements are wrong"); }
TEST(BrokenMovingAverage, SegmentsFromTile) { expect_caught<SegmentsFromTile>(3, "first at [8]"); }

}  // namespace
}  // namespace tessera::moving_average
