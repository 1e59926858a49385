// Wrong softmaxes must be caught. The file also tests kernels that GPUs choose and hosts can run.

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "broken_rows.hpp"

#include "../../apps/softmax/problem.hpp"

#include <tessera/kernels/column_softmax.hpp>
#include <tessera/kernels/held_column_softmax.hpp>
#include <tessera/kernels/softmax.hpp>
#include <tessera/kernels/split_softmax.hpp>

namespace tessera::softmax {
namespace {

enum class Mistake { no_maximum, own_piece, misses_tail, not_rescaled, swaps_axes, infinities_count, nan_is_lost };

// One thread per row, with one mistake.
template <class T>
struct WrongRow {
  Mistake mistake;
  T const* x;
  T* y;
  std::size_t rows;
  std::size_t cols;

  KOKKOS_FUNCTION void operator()(std::size_t row) const {
    std::size_t const next = mistake == Mistake::swaps_axes ? rows : 1;
    std::size_t const of_row = mistake == Mistake::swaps_axes ? 1 : cols;
    std::size_t const pieces = mistake == Mistake::own_piece ? 2 : 1;
    std::size_t const count = mistake == Mistake::misses_tail ? cols / 4 * 4 : cols;
    constexpr T infinity = Kokkos::Experimental::infinity_v<T>;
    for (std::size_t piece = 0; piece < pieces; ++piece) {
      std::size_t const begin = count * piece / pieces;
      std::size_t const end = count * (piece + 1) / pieces;
      T max = mistake == Mistake::no_maximum ? T(0) : -infinity;
      T sum = 0;
      for (std::size_t i = begin; i < end; ++i) {
        T const value = x[row * of_row + i * next];
        if (mistake == Mistake::nan_is_lost && value != value) continue;
        if (value > max && mistake != Mistake::no_maximum) {
          if (mistake != Mistake::not_rescaled && sum > 0) sum *= Kokkos::exp(max - value);
          max = value;
        }
        if (mistake == Mistake::infinities_count || max != -infinity) {
          sum += Kokkos::exp(value - max);
        }
      }
      for (std::size_t i = begin; i < (piece + 1 == pieces ? cols : end); ++i) {
        y[row * cols + i] = Kokkos::exp(x[row * of_row + i * next] - max) / sum;
      }
    }
  }
};

struct Wrong {
  Mistake mistake;

  template <ExecutionSpace Exec, class T>
    requires std::is_floating_point_v<T>
  void operator()(Exec const& exec, InputOn<Softmax, Exec, T> const& in, OutputOn<Softmax, Exec, T> const& out) const {
    std::size_t const rows = in.x.extent(0);
    Kokkos::parallel_for("tessera::tests::broken_softmax", Kokkos::RangePolicy<Exec>(exec, 0, rows),
                         WrongRow<T>{mistake, in.x.data(), out.y.data(), rows, in.x.extent(1)});
  }
};

ParameterMap const of_rows{{"axis", std::string("rows")}, {"rows", std::int64_t{17}}};

// An input made by the test.
class Given final : public FieldSource {
 public:
  Given(std::size_t rows, std::size_t cols, std::vector<double> values)
      : shape_{rows, cols}, values_(std::move(values)) {}
  [[nodiscard]] Shape shape(FieldSpec const&) const override { return shape_; }
  void read(FieldSpec const& spec, void* to) const override {
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (spec.dtype == DType::float32) static_cast<float*>(to)[i] = static_cast<float>(values_[i]);
      if (spec.dtype == DType::float64) static_cast<double*>(to)[i] = values_[i];
    }
  }

 private:
  Shape shape_;
  std::vector<double> values_;
};

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Random numbers in [-spread, spread); one in `rarity` is `special`.
Given random_matrix(std::size_t rows, std::size_t cols, double spread, double special = 0, unsigned rarity = 0) {
  std::mt19937_64 random(rows * 1000003 + cols);
  std::uniform_real_distribution<double> uniform(-spread, spread);
  std::vector<double> values(rows * cols);
  for (double& value : values) value = rarity != 0 && random() % rarity == 0 ? special : uniform(random);
  return {rows, cols, std::move(values)};
}

// Returns what the rows of an app report for a matrix; a skip counts as a pass.
void expect_passes(App const& app, std::string const& axis, FieldSource const& source, std::int64_t team,
                   std::string const& what) {
  for (Row const& row : app.rows) {
    if (!testing::is_wanted(row)) continue;
    auto const problem_case =
        app.read(row.dtype, source, testing::with_defaults(app, {{"axis", axis}, {"team", team}}));
    std::string const outcome = testing::run_row(row, *problem_case, problem_case->reference(), 2);
    if (outcome.starts_with("skipped: ")) continue;
    EXPECT_EQ(outcome, "") << testing::name_of(app, row) << ", " << what << ", team " << team;
  }
}

void expect_mistake_on(Mistake mistake, FieldSource const& source) {
  App const app = testing::app_with({testing::rows_of<Softmax>(Wrong{mistake})});
  for (Row const& row : app.rows) {
    auto const problem_case = app.read(row.dtype, source, testing::with_defaults(app, {{"axis", std::string("rows")}}));
    EXPECT_NE(testing::run_row(row, *problem_case, problem_case->reference(), 1).find("y: "), std::string::npos)
        << testing::name_of(app, row);
  }
}

TEST(BrokenSoftmax, NoMaximum) { expect_mistake_on(Mistake::no_maximum, random_matrix(3, 50, 2000)); }
TEST(BrokenSoftmax, EachPieceForItself) {
  testing::expect_caught<Softmax>(Wrong{Mistake::own_piece}, 17 * 59, of_rows, "y");
}
TEST(BrokenSoftmax, MissesTail) { testing::expect_caught<Softmax>(Wrong{Mistake::misses_tail}, 17 * 59, of_rows, "y"); }
TEST(BrokenSoftmax, NotRescaled) {
  testing::expect_caught<Softmax>(Wrong{Mistake::not_rescaled}, 17 * 59, of_rows, "y");
}
TEST(BrokenSoftmax, SwapsAxes) { testing::expect_caught<Softmax>(Wrong{Mistake::swaps_axes}, 17 * 59, of_rows, "y"); }
TEST(BrokenSoftmax, MinusInfinitiesCount) {
  expect_mistake_on(Mistake::infinities_count, Given(1, 4, {-infinity, -infinity, 1, 2}));
}
TEST(BrokenSoftmax, NanIsLost) {
  expect_mistake_on(Mistake::nan_is_lost, Given(1, 4, {1, std::numeric_limits<double>::quiet_NaN(), 1, 2}));
}

// -------------------------------------------------------------------------------------- kernels of GPUs, on hosts too

// A kernel with a Tuning defined in this test.
template <template <class, class> class Kernel>
struct Tuned {
  static constexpr VariantInfo info{.name = "tuned", .summary = "a kernel that another space would choose"};
  template <ExecutionSpace Exec, class T>
    requires std::is_floating_point_v<T>
  struct Plan {
    Kernel<Exec, T> kernel;

    Plan(Exec const& exec, InputOn<Softmax, Exec, T> const& in)
        : kernel(exec, in.x.extent(0), in.x.extent(1), in.parameters.team) {}
    void operator()(Exec const& exec, InputOn<Softmax, Exec, T> const& in, OutputOn<Softmax, Exec, T> const& out) {
      kernel(exec, in.x, out.y);
    }
    [[nodiscard]] double rounding_steps() const { return kernel.rounding_steps(); }
  };
};

template <template <class, class> class Kernel>
App app_of() {
  return testing::app_with({rows<Softmax, Tuned<Kernel>>()});
}

void run_matrices(App const& app, std::string const& axis, std::vector<Shape> const& shapes) {
  for (std::int64_t const team : {0, 2, 3}) {
    for (Shape const& shape : shapes) {
      std::string const what = to_string(shape);
      expect_passes(app, axis, random_matrix(shape[0], shape[1], 8), team, what);
      expect_passes(app, axis, random_matrix(shape[0], shape[1], 90), team, what + " far apart");
      expect_passes(app, axis, random_matrix(shape[0], shape[1], 5, -infinity, 2), team, what + " -infinities");
      expect_passes(app, axis, random_matrix(shape[0], shape[1], 5, infinity, 150), team, what + " infinities");
      expect_passes(app, axis, random_matrix(shape[0], shape[1], 5, std::nan(""), 150), team, what + " NaN");
      expect_passes(app, axis, random_matrix(shape[0], shape[1], 5, -infinity, 1), team, what + " nothing");
    }
  }
}

template <kernels::SoftmaxMethod chosen, int few, int many>
struct Rows {
  template <class Exec, class T>
  struct Tuning : kernels::SoftmaxTuning<Exec, T> {
    static constexpr auto method = chosen;
    static constexpr int few_packs = few;
    static constexpr int many_packs = many;
  };
  template <class Exec, class T>
  using Kernel = kernels::RowSoftmax<Exec, T, Tuning<Exec, T>>;
};

// Rows that are whole packs and others; by one team of few threads and by one team of many.
TEST(Softmax, RowsInRegistersOfTeams) {
  run_matrices(app_of<Rows<kernels::SoftmaxMethod::team, 4, 8>::Kernel>(), "rows",
               {{1, 1}, {3, 4}, {7, 64}, {5, 100}, {2, 333}, {40, 96}, {1, 384}, {40, 95}, {2, 509}});
}

TEST(Softmax, RowsInRegistersOfLanes) {
  run_matrices(
      app_of<Rows<kernels::SoftmaxMethod::lanes, 4, 8>::Kernel>(), "rows",
      {{1, 1}, {9, 3}, {101, 4}, {7, 16}, {33, 13}, {101, 12}, {5, 50}, {5, 100}, {3, 512}, {2, 509}, {9, 201}});
}

TEST(Softmax, RowsInSweeps) {
  run_matrices(app_of<Rows<kernels::SoftmaxMethod::team, 1, 1>::Kernel>(), "rows",
               {{2, 128}, {3, 129}, {4, 1000}, {1, 5003}});
}

template <class Exec, class T>
struct BySharesOfLanes : kernels::SplitSoftmaxTuning<Exec, T> {
  static constexpr bool loops = false;
};
template <class Exec, class T>
using RowsInChunks = kernels::SplitRowSoftmax<Exec, T, BySharesOfLanes<Exec, T>>;

TEST(Softmax, RowsInChunks) {
  run_matrices(app_of<RowsInChunks>(), "rows",
               {{1, 1}, {3, 4}, {1, 1027}, {1, 5000}, {1, 5003}, {2, 4096}, {40, 96}, {40, 95}});
}

template <bool by_loops>
struct Columns {
  template <class Exec, class T>
  struct Tuning : kernels::ColumnSoftmaxTuning<Exec, T> {
    static constexpr bool loops = by_loops && !is_gpu<Exec>;
  };
  template <class Exec, class T>
  using Kernel = kernels::ColumnSoftmax<Exec, T, Tuning<Exec, T>>;
};

// Full-width tiles for each thread of a team must together fit into its scratch.
TEST(Softmax, ColumnsByLoops) {
  run_matrices(app_of<Columns<true>::Kernel>(), "cols", {{1, 1}, {131, 3}, {5, 1000}, {3, 5003}, {2, 14128}, {300, 1}});
}

TEST(Softmax, ColumnsByLanes) {
  run_matrices(app_of<Columns<false>::Kernel>(), "cols",
               {{1, 1}, {1, 131}, {1003, 1}, {501, 3}, {499, 4}, {40, 64}, {57, 55}, {200, 20}, {200, 19}});
}

template <bool in_packs>
struct Held {
  template <class Exec, class T>
  struct Tuning : kernels::HeldColumnTuning<Exec, T> {
    static constexpr int pack = in_packs ? collective::pack_width<T> : 1;
  };
  template <class Exec, class T>
  using Kernel = kernels::HeldColumnSoftmax<Exec, T, Tuning<Exec, T>>;
};

// From one team per band to as many teams as there are threads; more rows are skipped. For one column, several lanes
// each combine a part of the teams' partial results.
TEST(Softmax, ColumnsInRegisters) {
  std::vector<Shape> const shapes{{1, 1},   {1, 131}, {16, 4},  {17, 64}, {31, 20}, {33, 7},
                                  {57, 55}, {64, 12}, {128, 9}, {23, 9},  {45, 12}, {100, 1}};
  run_matrices(app_of<Held<true>::Kernel>(), "cols", shapes);
  run_matrices(app_of<Held<false>::Kernel>(), "cols", shapes);
}

// Runs first on zeros, then on the matrix, in the same memory: values left by the previous launch must not be used.
template <bool in_packs>
struct HeldAfterZeros {
  static constexpr VariantInfo info{.name = "held_after_zeros", .summary = "columns in registers, on zeros before"};
  template <ExecutionSpace Exec, class T>
    requires std::is_floating_point_v<T>
  struct Plan {
    using Matrix = Array<T**, typename Exec::memory_space>;
    typename Held<in_packs>::template Kernel<Exec, T> held;
    Matrix zeros;
    Matrix of_zeros;

    Plan(Exec const& exec, InputOn<Softmax, Exec, T> const& in)
        : held(exec, in.x.extent(0), in.x.extent(1), in.parameters.team),
          zeros("tessera::tests::zeros", in.x.extent(0), in.x.extent(1)),
          of_zeros("tessera::tests::of_zeros", in.x.extent(0), in.x.extent(1)) {}
    void operator()(Exec const& exec, InputOn<Softmax, Exec, T> const& in, OutputOn<Softmax, Exec, T> const& out) {
      held(exec, zeros, of_zeros);
      held(exec, in.x, out.y);
    }
    [[nodiscard]] double rounding_steps() const { return held.rounding_steps(); }
  };
};

// A race shows only sometimes. For two columns four lanes combine in slices; for more columns, two teams of two lanes
// or four of one lane leave sums.
TEST(Softmax, ColumnsInRegistersAgain) {
  App const app = testing::app_with({rows<Softmax, HeldAfterZeros<false>>()});
  App const in_packs = testing::app_with({rows<Softmax, HeldAfterZeros<true>>()});
  auto const run = [](App const& of, std::size_t size, std::int64_t rows, std::int64_t team) {
    for (Row const& row : of.rows) {
      if (!testing::is_wanted(row)) continue;
      ParameterMap const map{{"axis", std::string("cols")}, {"rows", rows}, {"team", team}};
      auto const problem_case = of.generate(row.dtype, size, 1, testing::with_defaults(of, map));
      std::string const outcome =
          testing::run_row(row, *problem_case, problem_case->reference(), testing::repeats(300));
      if (outcome.starts_with("skipped: ")) continue;
      EXPECT_EQ(outcome, "") << testing::name_of(of, row) << ", " << rows << " rows, team " << team;
    }
  };
  for (std::int64_t const rows : {9, 100}) run(app, static_cast<std::size_t>(2 * rows), rows, 4);
  run(in_packs, 100 * 8, 100, 1);
  for (std::int64_t const rows : {45, 52}) {
    run(in_packs, static_cast<std::size_t>(128 * rows), rows, 2);
    run(app, static_cast<std::size_t>(2 * (rows + 40)), rows + 40, 2);
  }
}

// --------------------------------------------------------------------------------------------- what they are made of

template <class T>
void check_exponential(double lowest, double allowed_ulps) {
  double worst = 0;
  for (double x = lowest; x <= 0; x += 0.00137) {
    auto const argument = static_cast<T>(x);
    auto const found = static_cast<double>(collective::exp_nonpositive(argument));
    double const wanted = std::exp(static_cast<double>(argument));
    double const ulp = std::max(wanted * static_cast<double>(std::numeric_limits<T>::epsilon()),
                                static_cast<double>(std::numeric_limits<T>::denorm_min()));
    worst = std::max(worst, std::abs(found - wanted) / ulp);
  }
  EXPECT_LE(worst, allowed_ulps);
}

TEST(Exponential, OfTwoIsWithinFourRoundoffs) {
  for (float x = -126; x <= 2; x += 0.00137F) {
    double const wanted = std::exp2(static_cast<double>(x));
    EXPECT_NEAR(static_cast<double>(collective::fast_exp2(x)), wanted, 0x1p-22 * wanted) << x;
  }
  EXPECT_EQ(collective::fast_exp2(0.0f), 1.0f);
  EXPECT_EQ(collective::fast_exp2(-std::numeric_limits<float>::infinity()), 0.0f);
}

TEST(Exponential, IsWithinTwoUlps) {
  check_exponential<float>(-110, 2);
  check_exponential<double>(-760, 2);
  EXPECT_EQ(collective::exp_nonpositive(0.0f), 1.0f);
  EXPECT_EQ(collective::exp_nonpositive(0.0), 1.0);
  EXPECT_EQ(collective::exp_nonpositive(-std::numeric_limits<float>::infinity()), 0.0f);
  EXPECT_EQ(collective::exp_nonpositive(-infinity), 0.0);
  EXPECT_TRUE(std::isnan(collective::exp_nonpositive(std::numeric_limits<float>::quiet_NaN())));
  EXPECT_TRUE(std::isnan(collective::exp_nonpositive(std::nan(""))));
}

TEST(OnlineSum, MergesWhatIsThere) {
  using Sum = collective::OnlineSum<double>;
  collective::MergeOnlineSums<double> const merge;
  Sum const some = merge(Sum{2, 1}, Sum{3, 1.5});
  EXPECT_EQ(some.max, 3);
  EXPECT_NEAR(some.sum, std::exp(-1) + 1.5, 1e-15);
  for (Sum const& with_nothing : {merge(some, merge.identity()), merge(merge.identity(), some)}) {
    EXPECT_EQ(with_nothing.max, some.max);
    EXPECT_EQ(with_nothing.sum, some.sum);
  }
  Sum const nothing = merge(merge.identity(), Sum{});
  EXPECT_EQ(nothing.max, -infinity);
  EXPECT_EQ(nothing.sum, 0);
  EXPECT_TRUE(std::isnan(nothing.inverse()));
  EXPECT_TRUE(std::isnan(merge(some, Sum{infinity, 1}).inverse()));
  EXPECT_TRUE(std::isnan(merge(Sum{std::nan(""), 1}, some).inverse()));
  EXPECT_TRUE(std::isnan(merge(some, Sum{1, std::nan("")}).inverse()));
  Sum one_by_one;
  for (double const x : {-infinity, 2.0, 1.0, 3.0, -infinity}) one_by_one.add(x);
  EXPECT_EQ(one_by_one.max, 3);
  EXPECT_NEAR(one_by_one.sum, std::exp(-1) + std::exp(-2) + 1, 1e-15);
}

TEST(Softmax, FactorAndInPlace) {
  using Exec = Kokkos::DefaultHostExecutionSpace;
  using kernels::SoftmaxMethod;
  Exec const exec;
  auto const try_method = [&]<SoftmaxMethod method>() {
    Kokkos::View<float**, Kokkos::LayoutRight, Kokkos::HostSpace> const x("x", 2, 4);
    for (int i = 0; i < 8; ++i) x(i / 4, i % 4) = static_cast<float>(i % 4) * 2;
    typename Rows<method, 4, 8>::template Kernel<Exec, float> const softmax(exec, 2, 4);
    softmax(exec, x, x, 0.5f);
    exec.fence();
    double const wanted[] = {0.0320586, 0.08714432, 0.2368828, 0.6439143};
    for (int i = 0; i < 8; ++i) EXPECT_NEAR(x(i / 4, i % 4), wanted[i % 4], 1e-7);
  };
  try_method.operator()<SoftmaxMethod::loops>();
  try_method.operator()<SoftmaxMethod::lanes>();
  try_method.operator()<SoftmaxMethod::team>();
}

}  // namespace
}  // namespace tessera::softmax
