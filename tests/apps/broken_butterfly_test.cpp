// Wrong butterflies must be caught: one kernel on lanes, each time with one typical mistake of lane exchange.

#include <cmath>
#include <type_traits>

#include "broken_rows.hpp"
#include "segment_checks.hpp"

#include "../../apps/butterfly/butterfly_rules.hpp"
#include "../../apps/butterfly/problem.hpp"

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/kernels/segments.hpp>

namespace tessera::butterfly {

App app();

namespace {

enum class Mistake {
  none,
  one_step_short,    // the largest mask is left out
  no_smallest_mask,  // the smallest mask is left out
  zero_past_end,     // positions past the end of a short segment hold zero
  swaps_past_end,    // a last element without partner takes the value past the end
  parity_of_lane,    // positions are not counted from the begin of the segment
  keeps_first,       // the minimum begins from the maximum's identity
  ignores_nan,       // a comparison in which NaN never wins
  tail_unmasked,     // a partial last segment is written as a full segment
  no_launch
};

// One segment of up to 32 elements per thread, one element per lane.
template <class Exec, class T>
struct BrokenKernel {
  using Member = typename Kokkos::TeamPolicy<Exec>::member_type;
  using Lanes = lane::On<Exec, 32>;
  using A = Arithmetic<T>;

  Mistake mistake;
  ButterflyOp op;
  int length;
  T const* in;
  T* out;
  std::size_t n;

  // sign * larger of sign * a, sign * b
  [[nodiscard]] KOKKOS_FUNCTION A extreme(A sign, A a, A b) const {
    if (mistake != Mistake::ignores_nan && a != a) return a;
    if (mistake != Mistake::ignores_nan && b != b) return b;
    return sign * b > sign * a ? b : a;
  }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Lanes const lanes;
    std::size_t const begin = static_cast<std::size_t>(team.league_rank()) * static_cast<std::size_t>(length);
    int const count = n - begin < static_cast<std::size_t>(length) ? static_cast<int>(n - begin) : length;
    auto x = lanes.template fill<A>(A(0));
    lanes.each(
        [&](int lane, A& own) {
          if (lane < count) own = in[begin + static_cast<std::size_t>(lane)];
        },
        x);
    auto const swapped = lanes.exchange(x, 1);
    auto max = x;
    auto min = x;
    lanes.each(
        [&](int lane, A& high, A& low) {
          if (lane < count || mistake == Mistake::zero_past_end) return;
          high = -INFINITY;
          low = mistake == Mistake::keeps_first ? A(-INFINITY) : A(INFINITY);
        },
        max, min);
    for (int mask = mistake == Mistake::no_smallest_mask ? 2 : 1; mask < (mistake == Mistake::one_step_short ? 16 : 32);
         mask *= 2) {
      auto const other_max = lanes.exchange(max, mask);
      auto const other_min = lanes.exchange(min, mask);
      lanes.each(
          [&](int, A& high, A& low, A const& a, A const& b) {
            high = extreme(A(1), high, a);
            low = extreme(A(-1), low, b);
          },
          max, min, other_max, other_min);
    }
    lanes.each(
        [&](int lane, A const& own, A const& partner, A const& high, A const& low) {
          if (lane >= (mistake == Mistake::tail_unmasked ? length : count)) return;
          std::size_t const at = begin + static_cast<std::size_t>(lane);
          bool const odd = ((mistake == Mistake::parity_of_lane ? at : static_cast<std::size_t>(lane)) & 1) != 0;
          A result = high;
          if (op == ButterflyOp::minmax_parity && odd) result = low;
          if (op == ButterflyOp::pair_swap) {
            result = (lane ^ 1) < count || mistake == Mistake::swaps_past_end ? partner : own;
          }
          out[at] = result;
        },
        x, swapped, max, min);
  }
};

struct Broken {
  Mistake mistake;

  template <ExecutionSpace Exec, class T>
    requires Floating<T>
  void operator()(Exec const& exec, InputOn<Butterfly, Exec, T> const& in,
                  OutputOn<Butterfly, Exec, T> const& out) const {
    std::size_t const n = in.in.extent(0);
    auto const length = static_cast<int>(in.parameters.segment);
    if (mistake == Mistake::no_launch) return;
    Kokkos::TeamPolicy<Exec> const policy(exec, static_cast<int>((n + length - 1) / length), 1,
                                          lane::vector_length<Exec>(32));
    Kokkos::parallel_for("tessera::tests::broken_butterfly", policy,
                         BrokenKernel<Exec, T>{mistake, in.parameters.op, length, in.in.data(), out.out.data(), n});
  }
};

ParameterMap with(char const* op, std::int64_t segment = 32) { return {{"op", std::string(op)}, {"segment", segment}}; }

// Returns what run_row reports for the rows of a callable or variant on a pattern.
template <class Tested>
std::string outcome_on(Tested const& tested, testing::Pattern pattern, std::size_t size, ParameterMap const& given) {
  App const app = testing::app_with({testing::rows_of<Butterfly>(tested)});
  std::string outcomes;
  ParameterMap const map = testing::with_defaults(app, given);
  for (Row const& row : app.rows) {
    auto const problem_case = app.read(row.dtype, testing::PatternSource(app, pattern, size, map), map);
    outcomes += testing::run_row(row, *problem_case, problem_case->reference(), 1);
  }
  return outcomes;
}

// Without a mistake the kernel must pass; otherwise the tests below prove nothing.
TEST(BrokenButterfly, IsRightWithoutAMistake) {
  for (char const* const op : {"pair_swap", "max", "minmax_parity"}) {
    for (std::int64_t const segment : {1, 3, 20, 32}) {
      EXPECT_EQ(outcome_on(Broken{Mistake::none}, testing::Pattern::random, 101, with(op, segment)), "") << op;
      EXPECT_EQ(outcome_on(Broken{Mistake::none}, testing::Pattern::nan_inside, 101, with(op, segment)), "") << op;
    }
  }
}
TEST(BrokenButterfly, OneStepShort) {
  testing::expect_caught<Butterfly>(Broken{Mistake::one_step_short}, 1000, with("max"), "wrong");
}
TEST(BrokenButterfly, NoSmallestMask) {
  testing::expect_caught<Butterfly>(Broken{Mistake::no_smallest_mask}, 1000, with("minmax_parity"), "wrong");
}
TEST(BrokenButterfly, ZeroPastEnd) {
  testing::expect_caught<Butterfly>(Broken{Mistake::zero_past_end}, 1000, with("max", 3), "wrong");
}
TEST(BrokenButterfly, SwapsPastEnd) {
  testing::expect_caught<Butterfly>(Broken{Mistake::swaps_past_end}, 101, with("pair_swap"), "first at [100]");
}
TEST(BrokenButterfly, ParityOfLane) {
  testing::expect_caught<Butterfly>(Broken{Mistake::parity_of_lane}, 101, with("minmax_parity", 5), "first at [5]");
}
TEST(BrokenButterfly, KeepsFirst) {
  testing::expect_caught<Butterfly>(Broken{Mistake::keeps_first}, 101, with("minmax_parity", 5), "first at [1]");
}
TEST(BrokenButterfly, IgnoresNan) {
  EXPECT_NE(outcome_on(Broken{Mistake::ignores_nan}, testing::Pattern::nan_inside, 101, with("max")).find("wrong"),
            std::string::npos);
}
TEST(BrokenButterfly, TailUnmasked) {
  testing::expect_caught<Butterfly>(Broken{Mistake::tail_unmasked}, 100, with("max"), "past the end");
}
TEST(BrokenButterfly, NoLaunch) {
  testing::expect_caught<Butterfly>(Broken{Mistake::no_launch}, 100, with("max"), "[0]");
}

TEST(Butterfly, LanesAndScratchGiveTheSameValues) {
  // Either of +0 and -0 may be the extreme value; all other bits must be equal.
  testing::expect_same_bits(app(), "lanes", "scratch", "pair_swap");
  testing::expect_same_bits(app(), "pack_swap", "scratch", "pair_swap");
  testing::expect_same_bits(app(), "lanes", "scratch", "max");
  testing::expect_same_bits(app(), "lanes", "direct", "minmax_parity");
}

// A variant that refuses an input says so and names an alternative.
TEST(Butterfly, SaysWhatToUseForWholeArrays) {
  App const all = app();
  for (Row const& row : all.rows) {
    for (std::int64_t const segment : {0, 32}) {
      auto const problem_case = all.generate(row.dtype, 100, 1, testing::with_defaults(all, with("max", segment)));
      std::string const outcome = testing::run_row(row, *problem_case, problem_case->reference(), 1);
      if (row.info.name == "distributed") {  // takes both, in a build with MPI
        EXPECT_TRUE(outcome.empty() || outcome.starts_with("skipped: needs a build with MPI")) << outcome;
        continue;
      }
      bool const takes_this = row.info.name != "pack_swap" && (row.info.name == "reduce_broadcast") == (segment == 0);
      if (takes_this) {
        EXPECT_EQ(outcome, "") << testing::name_of(all, row);
      } else {
        EXPECT_TRUE(outcome.starts_with("skipped: ") && outcome.find("--variant") != std::string::npos) << outcome;
      }
    }
  }
}

// Every rule, for rows with one element per lane and partners in other lanes.
template <class Exec, class T>
struct OneElement : kernels::SegmentTuning<Exec, T> {
  static constexpr int pack = 1;
};
template <class Exec, class Rule>
using ByElement = kernels::SegmentLanes<Exec, Rule, OneElement<Exec, typename Rule::Element>>;

struct OneElementALane {
  static constexpr VariantInfo info{
      .name = "one_element", .level = Level::lane, .summary = "one element a lane and row"};
  static constexpr char const* label = "tessera::tests::one_element";
  template <ExecutionSpace Exec, class T>
  using Plan = ButterflyPlan<ByElement, OneElementALane, Exec, T>;
};

TEST(Butterfly, OneElementALane) {
  App const all = testing::app_with({rows<Butterfly, OneElementALane>()});
  for (Row const& row : all.rows) {
    if (!testing::is_wanted(row)) continue;
    for (char const* const op : {"pair_swap", "max", "minmax_parity"}) {
      for (std::int64_t const segment : {1, 2, 3, 5, 32, 33, 100, 1000, 1024}) {
        for (std::size_t const size : {std::size_t{1}, std::size_t{77}, std::size_t{5003}}) {
          auto const problem_case = all.generate(row.dtype, size, 1, testing::with_defaults(all, with(op, segment)));
          EXPECT_EQ(testing::run_row(row, *problem_case, problem_case->reference(), 1), "")
              << testing::name_of(all, row) << " " << op << " " << segment << " " << size;
        }
      }
    }
  }
}

// Variants are limited as their names say: pairs do not reduce, and packs process pairs but no segments.
TEST(Butterfly, SaysWhatItHasNoPairsOrFoldsFor) {
  App const all = app();
  for (Row const& row : all.rows) {
    for (char const* const op : {"pair_swap", "max", "minmax_parity"}) {
      for (std::int64_t const segment : {0, 32}) {
        bool const pairs = std::string(op) == "pair_swap";
        if (row.info.name != "reduce_broadcast" && row.info.name != "pack_swap") continue;
        auto const problem_case = all.generate(row.dtype, 100, 1, testing::with_defaults(all, with(op, segment)));
        std::string const outcome = testing::run_row(row, *problem_case, problem_case->reference(), 1);
        bool const takes = row.info.name == "pack_swap" ? pairs : !pairs && segment == 0;
        if (takes) {
          EXPECT_EQ(outcome, "") << testing::name_of(all, row);
        } else {
          EXPECT_TRUE(outcome.starts_with("skipped: ") && outcome.find("--variant") != std::string::npos) << outcome;
        }
      }
    }
  }
}

// Fill values of unused positions must not become a maximum or minimum.
TEST(Butterfly, NothingOutsideCounts) {
  App const all = app();
  for (Row const& row : all.rows) {
    if (!testing::is_wanted(row)) continue;
    for (std::int64_t const segment : {0, 1, 2, 3, 5, 32, 100, 1000}) {
      for (std::size_t const size : {std::size_t{1}, std::size_t{3}, std::size_t{101}, std::size_t{3001}}) {
        ParameterMap const map = testing::with_defaults(all, with("minmax_parity", segment));
        auto const problem_case =
            all.read(row.dtype, testing::PatternSource(all, testing::Pattern::ones, size, map), map);
        std::string const outcome = testing::run_row(row, *problem_case, problem_case->reference(), 1);
        EXPECT_TRUE(outcome.empty() || outcome.starts_with("skipped: "))
            << testing::name_of(all, row) << " " << segment << " " << size << ": " << outcome;
      }
    }
  }
}

}  // namespace
}  // namespace tessera::butterfly
