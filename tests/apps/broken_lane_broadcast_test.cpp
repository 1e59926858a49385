// Wrong broadcasts must be caught: one kernel on lanes, each time with one typical mistake. Right results are checked
// bit by bit.

#include <cmath>
#include <cstring>
#include <type_traits>

#include "broken_rows.hpp"
#include "segment_checks.hpp"

#include "../../apps/lane_broadcast/problem.hpp"

#include <tessera/collective/lane/lanes.hpp>

namespace tessera::lane_broadcast {

App app();

namespace {

enum class Mistake {
  none,
  wrong_lane,         // the sum is read from the second lane
  own_sum,            // no broadcast: each lane adds its own value
  short_unmasked,     // positions past the end of a short segment enter the sum
  next_past_segment,  // the last element reads its neighbour lane although that lies outside the segment
  always_four,        // the mean of a short segment divides by its length instead of four
  tail_unmasked,      // a partial last segment is written as a full segment
  other_comparison,   // x > m/2
  no_launch
};

// One segment of up to 32 elements per thread, one element per lane.
template <class Exec, class T>
struct BrokenKernel {
  using Member = typename Kokkos::TeamPolicy<Exec>::member_type;
  using Lanes = lane::On<Exec, 32>;
  using A = Arithmetic<T>;
  using Value = typename Lanes::template Value<A>;

  Mistake mistake;
  BroadcastOp op;
  int length;
  T const* in;
  T* out;
  std::size_t n;

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Lanes const lanes;
    std::size_t const begin = static_cast<std::size_t>(team.league_rank()) * static_cast<std::size_t>(length);
    int const count = n - begin < static_cast<std::size_t>(length) ? static_cast<int>(n - begin) : length;
    int const head = op == BroadcastOp::conditional ? 8 : 4;
    bool const is_max = op == BroadcastOp::conditional;
    A const nothing = is_max ? -INFINITY : A(0);
    auto x = lanes.template fill<A>(A(0));
    auto folded = lanes.template fill<A>(nothing);
    lanes.each(
        [&](int lane, A& own, A& fold) {
          bool const there = lane < count;
          own = there ? A(in[begin + static_cast<std::size_t>(lane)]) : A(7);  // an arbitrary value
          if ((there || mistake == Mistake::short_unmasked) && lane < head) fold = own;
        },
        x, folded);
    for (int mask = 1; mask < head; mask *= 2) {
      auto const other = lanes.exchange(folded, mask);
      lanes.each([&](int, A& own, A const& o) { own = is_max ? (own > o ? own : o) : own + o; }, folded, other);
    }
    A const s = lanes.template read<A>(folded, mistake == Mistake::wrong_lane ? head : 0);
    auto const next = lanes.shift_down(x, 1);
    lanes.each(
        [&](int lane, A const& own, A const& after, A const& mine) {
          if (lane >= (mistake == Mistake::tail_unmasked ? length : count)) return;
          A const sum = mistake == Mistake::own_sum ? mine : s;
          A const divisor = mistake == Mistake::always_four && count < 4 ? static_cast<A>(count) : A(4);
          bool const last = lane + 1 == count && mistake != Mistake::next_past_segment;
          A result = own + sum;
          if (op == BroadcastOp::conditional) {
            bool const large = mistake == Mistake::other_comparison ? own > sum / 2 : own >= sum / 2;
            result = large ? 2 * own : own / 2;
          }
          if (op == BroadcastOp::shuffle) result = (own + (last ? A(0) : after)) * (sum / divisor);
          out[begin + static_cast<std::size_t>(lane)] = result;
        },
        x, next, folded);
  }
};

struct Broken {
  Mistake mistake;

  template <ExecutionSpace Exec, class T>
    requires Floating<T>
  void operator()(Exec const& exec, InputOn<LaneBroadcast, Exec, T> const& in,
                  OutputOn<LaneBroadcast, Exec, T> const& out) const {
    std::size_t const n = in.in.extent(0);
    auto const length = static_cast<int>(in.parameters.segment);
    if (mistake == Mistake::no_launch) return;
    Kokkos::TeamPolicy<Exec> const policy(exec, static_cast<int>((n + length - 1) / length), 1,
                                          lane::vector_length<Exec>(32));
    Kokkos::parallel_for("tessera::tests::broken_lane_broadcast", policy,
                         BrokenKernel<Exec, T>{mistake, in.parameters.op, length, in.in.data(), out.out.data(), n});
  }
};

ParameterMap with(char const* op, std::int64_t segment = 32) { return {{"op", std::string(op)}, {"segment", segment}}; }

// Returns what run_row reports for an app's rows on a pattern; rows on ranks are skipped in a build without MPI.
std::string outcome_of(App const& app, testing::Pattern pattern, std::size_t size, ParameterMap const& given) {
  std::string outcomes;
  ParameterMap const map = testing::with_defaults(app, given);
  for (Row const& row : app.rows) {
    if (!testing::is_wanted(row)) continue;
    auto const problem_case = app.read(row.dtype, testing::PatternSource(app, pattern, size, map), map);
    std::string const outcome = testing::run_row(row, *problem_case, problem_case->reference(), 1);
    if (row.info.level != Level::ranks || !outcome.starts_with("skipped: ")) outcomes += outcome;
  }
  return outcomes;
}
template <class Tested>
std::string outcome_on(Tested const& tested, testing::Pattern pattern, std::size_t size, ParameterMap const& given) {
  return outcome_of(testing::app_with({testing::rows_of<LaneBroadcast>(tested)}), pattern, size, given);
}

// Without a mistake the kernel must pass; otherwise the tests below prove nothing.
TEST(BrokenLaneBroadcast, IsRightWithoutAMistake) {
  for (char const* const op : {"basic", "conditional", "shuffle"}) {
    for (std::int64_t const segment : {1, 3, 20, 32}) {
      SCOPED_TRACE(std::string(op) + " " + std::to_string(segment));
      testing::expect_right<LaneBroadcast>(Broken{Mistake::none}, 101, with(op, segment));
    }
  }
}
TEST(BrokenLaneBroadcast, WrongLane) {
  testing::expect_caught<LaneBroadcast>(Broken{Mistake::wrong_lane}, 100, with("basic"), "first at [0]");
}
TEST(BrokenLaneBroadcast, OwnSum) {
  testing::expect_caught<LaneBroadcast>(Broken{Mistake::own_sum}, 100, with("basic"), "first at [4]");
}
TEST(BrokenLaneBroadcast, ShortUnmasked) {
  testing::expect_caught<LaneBroadcast>(Broken{Mistake::short_unmasked}, 34, with("basic"), "first at [32]");
}
TEST(BrokenLaneBroadcast, NextPastSegment) {
  testing::expect_caught<LaneBroadcast>(Broken{Mistake::next_past_segment}, 100, with("shuffle", 20), "first at [19]");
}
TEST(BrokenLaneBroadcast, AlwaysFour) {
  testing::expect_caught<LaneBroadcast>(Broken{Mistake::always_four}, 34, with("shuffle"), "first at [32]");
}
TEST(BrokenLaneBroadcast, TailUnmasked) {
  testing::expect_caught<LaneBroadcast>(Broken{Mistake::tail_unmasked}, 100, with("basic"), "past the end");
}
TEST(BrokenLaneBroadcast, OtherComparison) {
  // Small multiples of one number: some are half of a maximum.
  EXPECT_NE(outcome_on(Broken{Mistake::other_comparison}, testing::Pattern::denormals, 30000, with("conditional")), "");
}
TEST(BrokenLaneBroadcast, NoLaunch) {
  testing::expect_caught<LaneBroadcast>(Broken{Mistake::no_launch}, 100, with("basic"), "[0]");
}

// Compares `lanes` bit by bit with its twins on every space and with the formula in its header: hardware lanes and
// emulated lanes add in the same order.
TEST(LaneBroadcast, LanesAndScratchGiveTheSameBits) {
  for (char const* const op : {"basic", "conditional", "shuffle"}) {
    testing::expect_same_bits(app(), "lanes", "scratch", op);
    testing::expect_same_bits(app(), "lanes", "direct", op);
  }
}

// Halves of odd denormals, NaN and infinities inside and outside of heads, for every operation.
TEST(LaneBroadcast, DenormalsAndWhatIsNotFinite) {
  using testing::Pattern;
  for (char const* const op : {"basic", "conditional", "shuffle"}) {
    for (std::int64_t const segment : {0, 1, 3, 5, 32, 100}) {
      for (Pattern const pattern :
           {Pattern::denormals, Pattern::nan_inside, Pattern::infinities, Pattern::huge_range}) {
        for (std::size_t const size : {std::size_t{3}, std::size_t{65}, std::size_t{3001}}) {
          EXPECT_EQ(outcome_of(app(), pattern, size, with(op, segment)), "")
              << op << " " << segment << " " << testing::name_of(pattern) << " " << size;
        }
      }
    }
  }
}

template <class T>
void expect_plain_order(DType dtype) {
  App const all = app();
  for (Row const& row : all.rows) {
    if (row.dtype != dtype || row.info.name != "lanes" || !testing::is_wanted(row)) continue;
    for (std::int64_t const segment : {4, 5, 32, 1000}) {
      std::size_t const n = 2111;
      ParameterMap const map = testing::with_defaults(all, with("basic", segment));
      testing::PatternSource const source(all, testing::Pattern::huge_range, n, map);
      std::vector<T> x(n);
      source.read(all.input_fields(dtype).at(0), x.data());
      auto const problem_case = all.read(dtype, source, map);
      auto const results = testing::results_of(all, "lanes", row.space, dtype, *problem_case);
      auto const* const out = static_cast<T const*>(results.at(0).data.get());
      for (std::size_t i = 0; i < n; ++i) {
        std::size_t const begin = i / static_cast<std::size_t>(segment) * static_cast<std::size_t>(segment);
        auto const of = [&](std::size_t k) { return begin + k < n ? x[begin + k] : -T(0); };
        T const left = of(0) + of(1);
        T const right = of(2) + of(3);
        T const sum = left + right;
        T const expected = x[i] + sum;
        ASSERT_EQ(std::memcmp(&expected, &out[i], sizeof(T)), 0) << testing::name_of(all, row) << " " << i;
      }
    }
  }
}
TEST(LaneBroadcast, LanesAddAsATree) {
  for (DType const dtype : testing::dtypes_of_this_build()) {
    if (dtype == DType::float32) expect_plain_order<float>(dtype);
    if (dtype == DType::float64) expect_plain_order<double>(dtype);
  }
}

}  // namespace
}  // namespace tessera::lane_broadcast
