// Wrong sums along an axis must be caught. The file also tests kernels that GPUs choose and hosts can run.

#include "broken_rows.hpp"

#include "../../apps/axis_sum/problem.hpp"

#include <tessera/core/scratch.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/sum_columns.hpp>
#include <tessera/kernels/sum_rows.hpp>

namespace tessera::axis_sum {

App app();

namespace {

// Sums `count` elements with the distance `apart` for each output: a whole row or column, or only part of it.
template <class T>
struct SumOfPiece {
  T const* a;
  T* out;
  std::size_t of_next;  // distance between the first elements of neighbouring outputs' pieces
  std::size_t apart;    // distance between elements of a piece
  std::size_t count;
  bool adds;  // adds to the old value of the output

  KOKKOS_FUNCTION void operator()(std::size_t i) const {
    Accumulator<T> sum = adds ? static_cast<Accumulator<T>>(out[i]) : Accumulator<T>(0);
    for (std::size_t k = 0; k < count; ++k) sum += static_cast<Accumulator<T>>(a[i * of_next + k * apart]);
    out[i] = static_cast<T>(sum);
  }
};

template <class Exec, class T>
void sum_pieces(Exec const& exec, std::size_t outputs, SumOfPiece<T> const& piece) {
  Kokkos::parallel_for("tessera::tests::broken_axis_sum", over(exec, outputs), piece);
}

enum class TreeMistake { none, no_barrier_before_writing, no_barrier_after_writing };

// The tree of tree_pairs over 64 shares of a row, by a team of two threads.
template <class Exec, class T>
struct BrokenTree {
  static constexpr int shares = 64;
  using Policy = Kokkos::TeamPolicy<Exec>;
  using Sums = ScratchView<Accumulator<T>*, Exec>;
  TreeMistake mistake;
  T const* a;
  T* out;
  std::size_t cols;

  KOKKOS_FUNCTION void operator()(typename Policy::member_type const& team) const {
    Sums const sums(team.team_scratch(0), shares);
    T const* const row = a + static_cast<std::size_t>(team.league_rank()) * cols;
    for (int s = team.team_rank(); s < shares; s += team.team_size()) {
      Accumulator<T> sum = 0;
      for (std::size_t k = s; k < cols; k += shares) sum += static_cast<Accumulator<T>>(row[k]);
      sums(s) = sum;
    }
    for (int pairs = shares / 2; pairs > 0; pairs /= 2) {
      if (mistake != TreeMistake::no_barrier_after_writing) team.team_barrier();
      for (int begin = 0; begin < pairs; begin += team.team_size()) {
        int const i = begin + team.team_rank();
        Accumulator<T> const sum = i < pairs ? sums(2 * i) + sums(2 * i + 1) : Accumulator<T>(0);
        if (mistake != TreeMistake::no_barrier_before_writing) team.team_barrier();
        if (i < pairs) sums(i) = sum;
      }
    }
    team.team_barrier();
    if (team.team_rank() == 0) out[team.league_rank()] = static_cast<T>(sums(0));
    leave_scratch(team);
  }
};

template <TreeMistake mistake>
struct BrokenTrees {
  template <ExecutionSpace Exec, class T>
  void operator()(Exec const& exec, InputOn<AxisSum, Exec, T> const& in, OutputOn<AxisSum, Exec, T> const& out) const {
    using Tree = BrokenTree<Exec, T>;
    typename Tree::Policy const policy(exec, league_of(in.a.extent(0)), exec.concurrency() > 1 ? 2 : 1);
    Kokkos::parallel_for("tessera::tests::broken_axis_sum", with_scratch(policy, Tree::Sums::shmem_size(Tree::shares)),
                         Tree{mistake, in.a.data(), out.out.data(), in.a.extent(1)});
  }
};

ParameterMap const of_rows{{"axis", std::int64_t{1}}, {"rows", std::int64_t{17}}};
ParameterMap const of_columns{{"axis", std::int64_t{0}}, {"rows", std::int64_t{17}}};

// Sums over no rows, of zeros, of values that cancel, and of denormals beside a normal sum.
TEST(AxisSum, SumsThatCannotBeFlushedAreNeverWeak) {
  auto const expect = [](std::size_t rows, std::size_t cols, std::vector<double> const& a) {
    for (std::int64_t const axis : {0, 1}) {
      testing::expect_never_weak(app(), testing::GivenFields({{"a", {{rows, cols}, a}}}), {{"axis", axis}});
    }
  };
  expect(0, 5, {});
  expect(5, 0, {});
  expect(300, 7, std::vector<double>(2100, 0));
  expect(2, 3, {1, 2, 3, -1, -2, -3});
  expect(3, 2, {1e-44, 0, -3e-45, 0, 0, 1.5});
}
// The values of one column must not make the sum of another column less exact.
TEST(AxisSum, EachColumnIsAsExactAsItIs) {
  testing::GivenFields const source({{"a", {{2, 4}, {1, 3e38, 0.1, std::nan(""), 2, 3e38, 0.3, 1}}}});
  for (Row const& row : app().rows) {
    if (row.dtype != DType::float32) continue;
    auto const problem_case = app().read(row.dtype, source, testing::with_defaults(app(), {{"axis", std::int64_t{0}}}));
    std::vector<ExpectedField> const expected = problem_case->reference();
    ASSERT_EQ(expected[0].scale.size(), 4U);
    EXPECT_EQ(expected[0].scale[0], 0);
    EXPECT_GT(expected[0].scale[1], 3e38);  // infinity in every order
    EXPECT_LT(expected[0].scale[1], std::numeric_limits<double>::infinity());
    if (testing::is_wanted(row)) {
      std::string const outcome = testing::run_row(row, *problem_case, expected, 1);
      EXPECT_TRUE(outcome.empty() || outcome.starts_with("skipped: ")) << testing::name_of(app(), row) << outcome;
    }
  }
}

TEST(BrokenAxisSum, MissesTail) {
  // Only whole packs of four of a row.
  testing::expect_caught<AxisSum>(
      []<class Exec, class T>(Exec const& exec, InputOn<AxisSum, Exec, T> const& in,
                              OutputOn<AxisSum, Exec, T> const& out) {
        std::size_t const cols = in.a.extent(1);
        sum_pieces<Exec, T>(exec, in.a.extent(0), {in.a.data(), out.out.data(), cols, 1, cols / 4 * 4, false});
      },
      17 * 59, of_rows, "out");
}
TEST(BrokenAxisSum, LastTeamWins) {
  // Every chunk of a row overwrites its result.
  testing::expect_caught<AxisSum>(
      []<class Exec, class T>(Exec const& exec, InputOn<AxisSum, Exec, T> const& in,
                              OutputOn<AxisSum, Exec, T> const& out) {
        std::size_t const cols = in.a.extent(1);
        std::size_t const half = cols / 2;
        sum_pieces<Exec, T>(exec, in.a.extent(0), {in.a.data(), out.out.data(), cols, 1, half, false});
        sum_pieces<Exec, T>(exec, in.a.extent(0), {in.a.data() + half, out.out.data(), cols, 1, cols - half, false});
      },
      17 * 59, of_rows, "out");
}
TEST(BrokenAxisSum, NotZeroed) {
  // Accumulates into whatever the output holds.
  testing::expect_caught<AxisSum>(
      []<class Exec, class T>(Exec const& exec, InputOn<AxisSum, Exec, T> const& in,
                              OutputOn<AxisSum, Exec, T> const& out) {
        std::size_t const cols = in.a.extent(1);
        sum_pieces<Exec, T>(exec, in.a.extent(0), {in.a.data(), out.out.data(), cols, 1, cols, true});
      },
      17 * 59, of_rows, "out");
}
TEST(BrokenAxisSum, SwapsAxes) {
  // Strides of the other axis.
  testing::expect_caught<AxisSum>(
      []<class Exec, class T>(Exec const& exec, InputOn<AxisSum, Exec, T> const& in,
                              OutputOn<AxisSum, Exec, T> const& out) {
        std::size_t const rows = in.a.extent(0);
        sum_pieces<Exec, T>(exec, rows, {in.a.data(), out.out.data(), 1, rows, in.a.extent(1), false});
      },
      17 * 59, of_rows, "out");
}
TEST(BrokenAxisSum, TreeIsRightWithoutAMistake) {
  testing::expect_right<AxisSum>(BrokenTrees<TreeMistake::none>{}, 17 * 590, of_rows);
}
TEST(BrokenAxisSum, NoBarrierBeforeWriting) {
  testing::expect_caught<AxisSum>(BrokenTrees<TreeMistake::no_barrier_before_writing>{}, 17 * 590, of_rows, "wrong",
                                  200, testing::Where::hosts);
}
TEST(BrokenAxisSum, NoBarrierAfterWriting) {
  testing::expect_caught<AxisSum>(BrokenTrees<TreeMistake::no_barrier_after_writing>{}, 17 * 590, of_rows, "wrong", 200,
                                  testing::Where::hosts);
}
TEST(BrokenAxisSum, FirstChunkOnly) {
  // Leaves the last rows of a column out.
  testing::expect_caught<AxisSum>(
      []<class Exec, class T>(Exec const& exec, InputOn<AxisSum, Exec, T> const& in,
                              OutputOn<AxisSum, Exec, T> const& out) {
        std::size_t const cols = in.a.extent(1);
        sum_pieces<Exec, T>(exec, cols, {in.a.data(), out.out.data(), 1, cols, in.a.extent(0) / 8 * 8, false});
      },
      17 * 59, of_columns, "out");
}

// A kernel with a Tuning defined in this test.
template <template <class, class> class Kernel, bool atomic>
struct Tuned {
  static constexpr VariantInfo info{
      .name = "tuned", .summary = "a kernel that another space would choose", .deterministic = !atomic};
  template <ExecutionSpace Exec, class T>
    requires(!(atomic && ShortFloat<T>))
  struct Plan {
    static constexpr bool atomic_sums = atomic;
    Kernel<Exec, T> sum;

    Plan(Exec const& exec, InputOn<AxisSum, Exec, T> const& in)
        : sum(exec, in.a.extent(0), in.a.extent(1), in.parameters.team) {}
    void operator()(Exec const& exec, InputOn<AxisSum, Exec, T> const& in,
                    OutputOn<AxisSum, Exec, T> const& out) const {
      sum(exec, in.a, out.out);
    }
    [[nodiscard]] double rounding_steps() const { return sum.rounding_steps(); }
  };
};

template <bool adds>
struct ColumnsByLanes {
  template <class Exec, class T>
  struct Tuning : kernels::ColumnSumTuning<Exec, T> {
    static constexpr bool tiles = false;
    static constexpr bool atomic = adds;
  };
  template <class Exec, class T>
  using Kernel = kernels::SumColumns<Exec, T, Tuning<Exec, T>>;
};

template <kernels::RowSumMethod chosen>
struct Rows {
  template <class Exec, class T>
  struct Tuning : kernels::RowSumTuning<Exec, T> {
    static constexpr auto method = chosen;
    static constexpr bool in_packs = true;
    static constexpr std::size_t most_for_lanes = 100;
    static constexpr std::size_t most_unaligned_for_lanes = 40;
    static constexpr int in_flight = 8;  // as on GPUs
  };
  template <class Exec, class T>
  using Kernel = kernels::SumRows<Exec, T, Tuning<Exec, T>>;
};

void run_on_every_space(App const& app, std::int64_t axis, std::vector<Shape> const& shapes) {
  for (std::int64_t const team : {0, 3, 4}) {
    for (Shape const& shape : shapes) {
      for (Row const& row : app.rows) {
        if (!testing::is_wanted(row)) continue;
        testing::PatternSource const source(app, testing::Pattern::random, std::vector<Shape>{shape});
        ParameterMap const given{{"axis", axis}, {"team", team}};
        auto const problem_case = app.read(row.dtype, source, testing::with_defaults(app, given));
        std::string const outcome = testing::run_row(row, *problem_case, problem_case->reference(), 2);
        if (outcome.starts_with("skipped: ")) continue;
        EXPECT_EQ(outcome, "") << testing::name_of(app, row) << " of " << to_string(shape) << ", team " << team;
      }
    }
  }
}

TEST(AxisSum, ColumnsByLanes) {
  run_on_every_space(testing::app_with({rows<AxisSum, Tuned<ColumnsByLanes<false>::Kernel, false>>(),
                                        rows<AxisSum, Tuned<ColumnsByLanes<true>::Kernel, true>>()}),
                     0, {{0, 5}, {1, 1}, {1, 131}, {1003, 1}, {501, 3}, {499, 4}, {40, 64}, {57, 55}, {200, 20}});
}

TEST(AxisSum, RowsByLanes) {
  run_on_every_space(testing::app_with({rows<AxisSum, Tuned<Rows<kernels::RowSumMethod::lanes>::Kernel, false>>()}), 1,
                     {{0, 8},
                      {5, 0},
                      {1, 4},
                      {1, 1024},
                      {1003, 4},
                      {997, 8},
                      {997, 16},
                      {33, 20},
                      {65, 40},
                      {65, 128},
                      {31, 132},
                      {1, 1},
                      {1, 1003},
                      {1003, 1},
                      {1001, 3},
                      {33, 17},
                      {65, 31},
                      {31, 133},
                      {1003, 7}});
}

// Lanes up to 100 elements, several teams above.
TEST(AxisSum, RowsByLength) {
  run_on_every_space(testing::app_with({rows<AxisSum, Tuned<Rows<kernels::RowSumMethod::automatic>::Kernel, false>>()}),
                     1, {{0, 101}, {101, 100}, {101, 101}, {3, 5003}, {1, 100003}});
}

}  // namespace
}  // namespace tessera::axis_sum
