// Wrong poolings must be caught: one kernel, each time with one typical mistake of windows.

#include <algorithm>
#include <cmath>
#include <limits>

#include "broken_rows.hpp"

#include "../../apps/pooling/problem.hpp"

#include <tessera/collective/team/halo_tile.hpp>

namespace tessera::pooling {

App app();

namespace {

enum class Mistake {
  none,
  halo_stays_in_tile,     // the halo is treated as empty: windows begin at the tile's begin
  halo_one_short,         // the window's oldest element is not in the halo
  no_barrier_after_load,  // elements that another thread loads are read too early
  tail_unmasked,          // a partial last tile is written as a full tile
  reads_before_array,     // the first windows read memory before the array
  divides_by_window,      // the mean of the first windows divides by the full window length
  zero_before_array,      // maxima of the first windows include a zero
  subtracts,              // running sums subtract the element that leaves the window
  not_started             // the kernel does nothing
};

constexpr int tile = 8;

// A team of two threads works on tiles of 8. Each thread computes the mirror image of the elements that it loads.
template <class Exec, class T>
struct BrokenKernel {
  using Policy = Kokkos::TeamPolicy<Exec>;
  using Member = typename Policy::member_type;
  using Scratch = Kokkos::View<collective::Pack<T, collective::pack_width<T>>*, typename Exec::scratch_memory_space,
                               Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

  Mistake mistake;
  PoolingOp op;
  int window;
  T const* a;
  T* out;
  std::size_t n;

  [[nodiscard]] KOKKOS_FUNCTION static int places(int window) { return window + 2 * tile; }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Scratch const scratch(team.team_scratch(0), places(window));
    bool const is_max = op == PoolingOp::max;
    T const nothing = is_max && mistake != Mistake::zero_before_array ? collective::Max<T>{}.identity() : T(0);
    int const left = mistake == Mistake::halo_stays_in_tile ? 0 : window - 1;
    team::HaloTile<T> const shape{.left = left, .size = tile, .right = 0};
    std::size_t const begin = static_cast<std::size_t>(team.league_rank()) * tile;
    int const count = mistake == Mistake::tail_unmasked || n - begin >= tile ? tile : static_cast<int>(n - begin);
    T* const staged = shape.load(team, a, n, begin, nothing, reinterpret_cast<T*>(scratch.data()));
    if (mistake != Mistake::no_barrier_after_load) team.team_barrier();
    int const reach = mistake == Mistake::halo_one_short ? window - 2 : window - 1;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, count), [&](int i) {
      int const t = count - 1 - i;
      int const first = mistake == Mistake::halo_stays_in_tile && t < window - 1 ? 0 : t - reach;
      T folded = nothing;
      for (int e = first; e <= t; ++e) {
        folded = is_max ? collective::Max<T>{}(folded, staged[e]) : collective::Sum<T>{}(folded, staged[e]);
      }
      if (mistake == Mistake::reads_before_array && begin == 0 && t + 1 < window) {
        folded = collective::Sum<T>{}(folded, T(1));  // an arbitrary value
      }
      std::size_t const present = begin + static_cast<std::size_t>(t) + 1;
      if (op == PoolingOp::mean) {
        bool const all = mistake == Mistake::divides_by_window || present >= static_cast<std::size_t>(window);
        folded /= static_cast<T>(all ? static_cast<std::size_t>(window) : present);
      }
      out[begin + static_cast<std::size_t>(t)] = folded;
    });
    team.team_barrier();
  }
};

// One thread, from begin to end.
template <class T>
struct SubtractingKernel {
  std::size_t window;
  T const* a;
  T* out;
  std::size_t n;
  KOKKOS_FUNCTION void operator()(int) const {
    T sum = 0;
    for (std::size_t i = 0; i < n; ++i) {
      sum += a[i];
      if (i >= window) sum -= a[i - window];
      out[i] = sum;
    }
  }
};

struct Broken {
  Mistake mistake;

  template <ExecutionSpace Exec, class T>
    requires std::is_floating_point_v<T>
  void operator()(Exec const& exec, InputOn<Pooling, Exec, T> const& in, OutputOn<Pooling, Exec, T> const& out) const {
    using Kernel = BrokenKernel<Exec, T>;
    auto const window = static_cast<int>(in.parameters.window);
    std::size_t const n = in.a.extent(0);
    if (mistake == Mistake::not_started) return;
    if (mistake == Mistake::subtracts) {
      Kokkos::parallel_for("tessera::tests::broken_pooling", Kokkos::RangePolicy<Exec>(exec, 0, 1),
                           SubtractingKernel<T>{static_cast<std::size_t>(window), in.a.data(), out.out.data(), n});
      return;
    }
    typename Kernel::Policy policy(exec, static_cast<int>((n + tile - 1) / tile), exec.concurrency() > 1 ? 2 : 1);
    Kokkos::parallel_for("tessera::tests::broken_pooling",
                         policy.set_scratch_size(
                             0, Kokkos::PerTeam(static_cast<int>(Kernel::Scratch::shmem_size(Kernel::places(window))))),
                         Kernel{mistake, in.parameters.op, window, in.a.data(), out.out.data(), n});
  }
};

ParameterMap with(std::int64_t window, char const* op = "sum") { return {{"window", window}, {"op", std::string(op)}}; }

// Windows with one NaN, and large numbers beside small ones: an element that left the window must leave no trace.
template <class Tested>
std::string outcome_on(Tested const& tested, testing::Pattern pattern, std::size_t size, ParameterMap const& given) {
  App const app = testing::app_with({testing::rows_of<Pooling>(tested)});
  Row const& row = app.rows.at(0);
  auto const problem_case =
      app.read(row.dtype, testing::PatternSource(app, pattern, size, given), testing::with_defaults(app, given));
  return testing::run_row(row, *problem_case, problem_case->reference(), 1);
}

// Without a mistake the kernel must pass; otherwise the tests below prove nothing.
TEST(BrokenPooling, IsRightWithoutAMistake) {
  for (char const* const op : {"sum", "mean", "max"}) {
    EXPECT_EQ(outcome_on(Broken{Mistake::none}, testing::Pattern::random, 101, with(5, op)), "");
    EXPECT_EQ(outcome_on(Broken{Mistake::none}, testing::Pattern::nan_inside, 101, with(20, op)), "");
  }
}
TEST(BrokenPooling, HaloStaysInTile) {
  testing::expect_caught<Pooling>(Broken{Mistake::halo_stays_in_tile}, 16, with(3), "first at [8]");
}
TEST(BrokenPooling, HaloOneShort) {
  testing::expect_caught<Pooling>(Broken{Mistake::halo_one_short}, 100, with(3), "first at [2]");
}
TEST(BrokenPooling, NoBarrierAfterLoad) {
  testing::expect_caught<Pooling>(Broken{Mistake::no_barrier_after_load}, 10007, with(33), "wrong", 200,
                                  testing::Where::hosts);
}
TEST(BrokenPooling, TailUnmasked) {
  testing::expect_caught<Pooling>(Broken{Mistake::tail_unmasked}, 100, with(3), "past the end");
}
TEST(BrokenPooling, ReadsBeforeArray) {
  testing::expect_caught<Pooling>(Broken{Mistake::reads_before_array}, 100, with(3), "first at [0]");
}
TEST(BrokenPooling, DividesByWindow) {
  testing::expect_caught<Pooling>(Broken{Mistake::divides_by_window}, 100, with(4, "mean"), "first at [0]");
}
TEST(BrokenPooling, ZeroBeforeArray) {
  // -1 and 1 alternate, beginning with -1: the first maximum is negative.
  App const app = testing::app_with({testing::rows_of<Pooling>(Broken{Mistake::zero_before_array})});
  for (Row const& row : app.rows) {
    std::uint64_t seed = 1;
    while (random_value<float>(seed, 0, 0) >= 0) ++seed;
    auto const problem_case = app.generate(row.dtype, 100, seed, testing::with_defaults(app, with(4, "max")));
    std::string const outcome = testing::run_row(row, *problem_case, problem_case->reference(), 1);
    EXPECT_NE(outcome.find("first at [0]"), std::string::npos) << outcome;
  }
}
TEST(BrokenPooling, Subtracts) {
  using testing::Pattern;
  for (Pattern const pattern : {Pattern::nan_inside, Pattern::infinities, Pattern::huge_range}) {
    EXPECT_NE(outcome_on(Broken{Mistake::subtracts}, pattern, 1025, with(5)).find("wrong"), std::string::npos)
        << testing::name_of(pattern);
  }
}
TEST(BrokenPooling, NotStarted) { testing::expect_caught<Pooling>(Broken{Mistake::not_started}, 100, with(3), "[0]"); }

// A halo that does not fit is processed in passes through the same scratch: no thread may begin the next pass while
// another thread is still in this one.
TEST(Pooling, PassesWaitForEachOther) {
  App const all = app();
  for (std::int64_t const team : {2, 3, 4}) {
    ParameterMap const given{{"window", std::int64_t{2500}}, {"team", team}};
    for (Row const& row : all.rows) {
      auto const problem_case = all.generate(row.dtype, 5001, 1, testing::with_defaults(all, given));
      std::string const outcome = testing::run_row(row, *problem_case, problem_case->reference(), testing::repeats(10));
      EXPECT_TRUE(outcome.empty() || outcome.starts_with("skipped: ")) << testing::name_of(all, row) << ": " << outcome;
    }
  }
}

TEST(Pooling, MeansOfIntegersAreRefused) {
  try {
    Pooling::check({.op = PoolingOp::mean}, DType::int32);
    FAIL() << "accepted";
  } catch (UserError const& error) {
    std::string const text = error.what();
    EXPECT_NE(text.find("float"), std::string::npos) << text;
    EXPECT_NE(text.find("double"), std::string::npos) << text;
  }
}

// Window sums may overflow although their means do not; sums that overflow in every order are infinities.
void expect_pooled(std::string const& op, std::int64_t window, std::vector<double> const& a,
                   std::vector<double> const& wanted) {
  testing::GivenFields const source({{"a", {{a.size()}, a}}});
  testing::expect_checked(app(), source, {{"op", op}, {"window", window}}, wanted, 1e-6);
}
TEST(Pooling, SumsPastTheRange) {
  double const infinity = std::numeric_limits<double>::infinity();
  for (std::int64_t const window : {2, 3, 5, 17, 300, 5000}) {
    for (std::size_t const n : {8, 1003, 20011}) {
      expect_pooled("mean", window, std::vector<double>(n, 3e38), std::vector<double>(n, 3e38));
    }
  }
  expect_pooled("mean", 3, {3.4e38, 3.4e38, -3.4e38, -3.4e38, 3e38},
                {3.4e38, 3.4e38, 3.4e38 / 3, -3.4e38 / 3, -3.8e38 / 3});
  expect_pooled("mean", 2, {3e38, infinity, 3e38, 3e38, 1.401298464324817e-45, 1.401298464324817e-45},
                {3e38, infinity, infinity, 3e38, 1.5e38, 1.401298464324817e-45});
  std::vector<double> mixed(4000);
  std::vector<double> means(4000);
  for (std::size_t i = 0; i < mixed.size(); ++i) {
    mixed[i] = i < 2000 ? 3e38 : -3e38;
    double const negative = i < 2000 ? 0 : std::min<double>(static_cast<double>(i) - 1999, 1000);
    means[i] = 3e38 * (1 - 2 * negative / std::min<double>(static_cast<double>(i) + 1, 1000));
  }
  expect_pooled("mean", 1000, mixed, means);
}
TEST(Pooling, SumsOfOneSignThatLeaveTheRangeAreInfinite) {
  for (Row const& row : app().rows) {
    if (row.dtype != DType::float32 || !testing::is_wanted(row)) continue;
    testing::GivenFields const source({{"a", {{5}, {3e38, 3e38, 1e38, -1e38, 3e38}}}});
    auto const problem_case = app().read(
        row.dtype, source, testing::with_defaults(app(), {{"op", std::string("sum")}, {"window", std::int64_t{2}}}));
    std::vector<ExpectedField> const expected = problem_case->reference();
    EXPECT_TRUE(std::ranges::all_of(expected[0].scale, [](double scale) { return std::isfinite(scale); }));
    std::string const outcome = testing::run_row(row, *problem_case, expected, 1);
    EXPECT_TRUE(outcome.empty() || outcome.starts_with("skipped: ")) << testing::name_of(app(), row) << outcome;
  }
}

}  // namespace
}  // namespace tessera::pooling
