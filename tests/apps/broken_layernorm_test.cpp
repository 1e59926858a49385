// Wrong normalised rows must be caught. The file also tests rows by teams, which hosts can run, and the guarantees of
// the merge of moments.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "broken_rows.hpp"

#include "../../apps/layernorm/moments.hpp"
#include "../../apps/layernorm/problem.hpp"

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/kernels/layer_norm.hpp>

#include "adversarial_team.hpp"
#include "guarded_array.hpp"

namespace tessera::layernorm {

App app();

namespace {

enum class Mistake { square_of_the_mean, unbiased_variance, misses_tail, eps_outside, swapped_parameters, no_shift };

// One thread per row, with one mistake.
template <class T>
struct Kernel {
  Mistake mistake;
  T const* x;
  T const* gamma;
  T const* beta;
  T* y;
  std::size_t hidden;
  Arithmetic<T> eps;

  KOKKOS_FUNCTION void operator()(std::size_t r) const {
    using A = Arithmetic<T>;
    T const* const row = x + r * hidden;
    // Half of the mistakes show only if the mean is large.
    A const first = mistake == Mistake::square_of_the_mean || mistake == Mistake::no_shift ? A(0) : A(row[0]);
    std::size_t const count = mistake == Mistake::misses_tail ? hidden / 4 * 4 : hidden;
    A mean = 0;
    for (std::size_t h = 0; h < count; ++h) mean += row[h] - first;
    mean /= static_cast<A>(count);
    A variance = 0;
    for (std::size_t h = 0; h < hidden; ++h) {
      A const distance = row[h] - first - (mistake == Mistake::square_of_the_mean ? A(0) : mean);
      variance += distance * distance;
    }
    variance /= static_cast<A>(mistake == Mistake::unbiased_variance ? hidden - 1 : hidden);
    if (mistake == Mistake::square_of_the_mean) variance -= mean * mean;
    A const inv_std =
        mistake == Mistake::eps_outside ? A(1) / (Kokkos::sqrt(variance) + eps) : A(1) / Kokkos::sqrt(variance + eps);
    for (std::size_t h = 0; h < hidden; ++h) {
      A const xhat = (row[h] - first - mean) * inv_std;
      y[r * hidden + h] =
          mistake == Mistake::swapped_parameters ? beta[h] * xhat + gamma[h] : gamma[h] * xhat + beta[h];
    }
  }
};

struct Broken {
  Mistake mistake;

  template <ExecutionSpace Exec, class T>
    requires Floating<T>
  void operator()(Exec const& exec, InputOn<Layernorm, Exec, T> const& in,
                  OutputOn<Layernorm, Exec, T> const& out) const {
    Kokkos::parallel_for("tessera::tests::broken_layernorm", Kokkos::RangePolicy<Exec>(exec, 0, in.x.extent(0)),
                         Kernel<T>{mistake, in.x.data(), in.gamma.data(), in.beta.data(), out.y.data(), in.x.extent(1),
                                   static_cast<Arithmetic<T>>(in.parameters.eps)});
  }
};

void expect_mistake_caught(Mistake mistake, double eps = 1e-5) {
  testing::expect_caught<Layernorm>(Broken{mistake}, 7 * 13,
                                    {{"rows", std::int64_t{7}}, {"hidden", std::int64_t{13}}, {"eps", eps}}, "y");
}

TEST(BrokenLayernorm, UnbiasedVariance) { expect_mistake_caught(Mistake::unbiased_variance); }
TEST(BrokenLayernorm, MissesTail) { expect_mistake_caught(Mistake::misses_tail); }
TEST(BrokenLayernorm, EpsOutside) { expect_mistake_caught(Mistake::eps_outside, 0.5); }
TEST(BrokenLayernorm, SwappedParameters) { expect_mistake_caught(Mistake::swapped_parameters); }

// x = 1000 + 0.01 i loses accuracy with E[x^2] - E[x]^2.
class LargeMean final : public FieldSource {
 public:
  [[nodiscard]] Shape shape(FieldSpec const& spec) const override {
    return spec.name == "x" ? Shape{3, 24} : Shape{24};
  }
  void read(FieldSpec const& spec, void* destination) const override {
    if (spec.dtype == DType::float32) fill(spec, static_cast<float*>(destination));
    if (spec.dtype == DType::float64) fill(spec, static_cast<double*>(destination));
  }

 private:
  template <class T>
  void fill(FieldSpec const& spec, T* values) const {
    for (std::size_t i = 0; i < count_of(shape(spec)); ++i) {
      values[i] = static_cast<T>(spec.name == "x" ? 1000 + 0.01 * static_cast<double>(i) : spec.name == "gamma");
    }
  }
};

// Returns what run_row reports for such rows.
void expect_caught_beside_a_large_mean(Mistake mistake, DType dtype) {
  App const app = testing::app_with({testing::rows_of<Layernorm>(Broken{mistake})});
  for (Row const& row : app.rows) {
    if (row.dtype != dtype) continue;
    auto const problem_case = app.read(row.dtype, LargeMean(), testing::with_defaults(app, {}));
    std::string const outcome = testing::run_row(row, *problem_case, problem_case->reference(), 1);
    EXPECT_NE(outcome.find("y"), std::string::npos) << testing::name_of(app, row) << ": " << outcome;
  }
}

TEST(BrokenLayernorm, SquareOfTheMean) {
  expect_caught_beside_a_large_mean(Mistake::square_of_the_mean, DType::float32);
  expect_caught_beside_a_large_mean(Mistake::square_of_the_mean, DType::float64);
}
// A mean of x itself that is rounded to float has a larger error than the bound allows.
TEST(BrokenLayernorm, NoShift) { expect_caught_beside_a_large_mean(Mistake::no_shift, DType::float32); }

// Rows of any length, processed by teams of lanes that hold Packs packs each: in registers if these suffice, otherwise
// in parts.
template <class Exec, class T, bool in_packs, int Packs>
struct FixedTeam : kernels::LayerNormTuning<Exec, T> {
  template <class Body>
  static bool with_team(std::size_t, bool, Body const& body) {
    constexpr int pack = std::min(collective::pack_width<T>, 4);  // the tests' rows are whole packs of 4
    body.template operator()<lane::natural_width<Exec>, in_packs ? pack : 1, Packs, 128>();
    return true;
  }
};

template <bool in_packs, int Packs>
struct ByTeams {
  static constexpr VariantInfo info{.name = "by_teams", .summary = "what a GPU takes for long rows, on every space"};
  template <ExecutionSpace Exec, class T>
    requires Floating<T>
  struct Plan {
    Plan(Exec const& exec, InputOn<Layernorm, Exec, T> const& in)
        : layer_norm(exec, in.x.extent(0), in.x.extent(1), in.parameters.eps, in.parameters.team) {}
    void operator()(Exec const& exec, InputOn<Layernorm, Exec, T> const& in,
                    OutputOn<Layernorm, Exec, T> const& out) const {
      layer_norm(exec, in.x, in.gamma, in.beta, out.y);
    }
    [[nodiscard]] double rounding_steps() const { return layer_norm.rounding_steps() + 2; }

    kernels::LayerNorm<Exec, T, FixedTeam<Exec, T, in_packs, Packs>> layer_norm;
  };
};

void run_on_every_space(App const& app, std::vector<std::size_t> const& hidden) {
  for (std::size_t const h : hidden) {
    for (std::size_t const rows_of_x : {0, 1, 67}) testing::expect_passes(app, {{rows_of_x, h}, {h}, {h}});
  }
}

// One part, a short last pack, a thread without elements, and several parts of which the last is short.
TEST(Layernorm, RowsByTeams) {
  run_on_every_space(testing::app_with({rows<Layernorm, ByTeams<true, 1>>(), rows<Layernorm, ByTeams<true, 4>>()}),
                     {4, 8, 36, 64, 128, 132, 512, 516, 1028, 2052});
  run_on_every_space(testing::app_with({rows<Layernorm, ByTeams<false, 1>>(), rows<Layernorm, ByTeams<false, 8>>()}),
                     {1, 2, 7, 31, 33, 64, 65, 129, 511, 1023});
}

// Aggregates, some of which inherit their members.
template <class Who, class Member, class T>
[[nodiscard]] Who made(Member const& member, T* scratch) {
  if constexpr (std::is_same_v<Who, kernels::WholeTeam<Member, T>>) {
    return Who{.team = member, .scratch = scratch};
  } else {
    return Who{{.team = member, .scratch = scratch}};
  }
}

// Computes the statistics of rows, one after another, by a team whose threads run in the worst order between barriers.
// Returns the number of wrong rows. `Who` shares the rows among threads.
template <template <class, class> class Who>
int wrong_rows_of(int threads) {
  using Row = kernels::LanesOfRow<Kokkos::DefaultHostExecutionSpace, double, 2, 2, 2>;
  using Member = test::AdversarialTeam::Member;
  constexpr int rows_of_x = 3;
  int wrong = 0;
  for (std::size_t const cols : {2, 6, 8, 24, 50}) {
    // Row r is (r + 1) * (0 1 2 ...). Its distances have the mean (r + 1) (cols - 1) / 2 and the
    // variance (r + 1)^2 (cols^2 - 1) / 12.
    test::GuardedArray<double> of_x(rows_of_x * cols);  // the last row ends at a guard page
    double* const x = of_x.last(rows_of_x * cols);
    for (std::size_t i = 0; i < rows_of_x * cols; ++i) x[i] = static_cast<double>((i / cols + 1) * (i % cols));
    for (test::Order const order : test::all_orders) {
      test::AdversarialTeam team(threads);
      std::vector<double> scratch(static_cast<std::size_t>(2 * threads), std::nan(""));
      auto const error = team.run(order, 7, [&](Member const& member) {
        typename Row::Lanes const lanes;
        auto const who = made<Who<Member, double>>(member, scratch.data());
        for (std::size_t r = 0; r < rows_of_x; ++r) {
          auto held = lanes.template fill<typename Row::Held>(typename Row::Held{});
          auto const found = Row::statistics_of(lanes, x + r * cols, cols, 0.0, held, who);
          auto const count = static_cast<double>(cols);
          auto const times = static_cast<double>(r + 1);
          double const mean = times * (count - 1) / 2;
          double const inv_std = 1 / (times * std::sqrt((count * count - 1) / 12));
          bool const right = std::abs(found.mean - mean) < 1e-12 * mean && std::abs(found.inv_std - inv_std) < 1e-12;
          if (!right) ++wrong;
        }
      });
      EXPECT_FALSE(error) << *error;
    }
  }
  return wrong;
}

TEST(Layernorm, StatisticsByATeamInAnyOrder) {
  for (int const threads : {1, 2, 3, 5}) EXPECT_EQ(wrong_rows_of<kernels::WholeTeam>(threads), 0) << threads;
}

// Mistake: one scratch for both sums, so that a fast thread overwrites what others still read.
template <class Member, class T>
struct OneScratch : kernels::WholeTeam<Member, T> {
  template <class Lanes>
  [[nodiscard]] KOKKOS_FUNCTION T fold(Lanes const& lanes, T value, int) const {
    return kernels::WholeTeam<Member, T>::fold(lanes, value, 0);
  }
};
// Mistake: a thread uses its own sum instead of the team's.
template <class Member, class T>
struct ItsOwnSum : kernels::WholeTeam<Member, T> {
  template <class Lanes>
  [[nodiscard]] KOKKOS_FUNCTION T fold(Lanes const&, T value, int) const {
    return value;
  }
};
// Mistake: the last thread's elements are left out.
template <class Member, class T>
struct MissesLastThread : kernels::WholeTeam<Member, T> {
  template <class Lanes>
  [[nodiscard]] KOKKOS_FUNCTION T fold(Lanes const& lanes, T value, int number) const {
    return kernels::WholeTeam<Member, T>::fold(lanes, this->rank + 1 < this->threads ? value : T(0), number);
  }
};

TEST(BrokenLayernorm, TeamsWithAMistake) {
  for (int const threads : {2, 3, 5}) {
    EXPECT_GT(wrong_rows_of<OneScratch>(threads), 0) << threads;
    EXPECT_GT(wrong_rows_of<ItsOwnSum>(threads), 0) << threads;
    EXPECT_GT(wrong_rows_of<MissesLastThread>(threads), 0) << threads;
  }
}

// Records what LayerNorm passes to its tuning.
template <class Exec>
struct AskedTuning : kernels::LayerNormTuning<Exec, float> {
  static inline bool aligned = false;
  template <class Body>
  static void with_lanes(std::size_t cols, bool are_aligned, Body const& body) {
    aligned = are_aligned;
    kernels::LayerNormTuning<Exec, float>::with_lanes(cols, false, body);
  }
  template <class Body>
  static bool with_team(std::size_t, bool, Body const&) {
    return false;
  }
};

// Streaming stores of a host's lanes write every element and nothing behind. By default only a large matrix uses them.
template <class T, int W>
void expect_same_past_caches() {
  using Exec = Kokkos::DefaultHostExecutionSpace;
  using Row = kernels::LanesOfRow<Exec, T, W, 1, 1>;
  typename Row::Lanes const lanes;
  std::size_t const pack = collective::pack_width<T>;
  for (std::size_t const packs : {1, 2, 3, 15, 16, 17, 25, 64, 129}) {
    std::size_t const cols = packs * pack;
    Kokkos::View<T*, Kokkos::HostSpace> x("x", cols), gamma("gamma", cols), beta("beta", cols);
    Kokkos::View<T*, Kokkos::HostSpace> expected("expected", cols), found("found", cols + pack);
    for (std::size_t i = 0; i < cols; ++i) {
      x(i) = static_cast<T>(i * 7 % 13);
      gamma(i) = static_cast<T>(1 + i % 5);
      beta(i) = static_cast<T>(i % 11);
    }
    Kokkos::deep_copy(found, T(-77));
    for (bool const streaming : {false, true}) {
      auto held = lanes.template fill<typename Row::Held>(typename Row::Held{});
      auto const normalised = Row::statistics_of(lanes, x.data(), cols, Arithmetic<T>(0.01), held);
      T* const ln = streaming ? found.data() : expected.data();
      Row::normalise(lanes, x.data(), cols, normalised, gamma.data(), beta.data(), ln, held, {}, streaming);
    }
    collective::streaming_fence();
    for (std::size_t i = 0; i < cols; ++i)
      ASSERT_EQ(found(i), expected(i)) << i << " of " << cols << ", " << W << " lanes";
    for (std::size_t i = cols; i < cols + pack; ++i) ASSERT_EQ(found(i), T(-77)) << "behind a row of " << cols;
  }
}

TEST(Layernorm, PastCachesEveryElement) {
  expect_same_past_caches<float, 8>();
  expect_same_past_caches<float, 32>();
  expect_same_past_caches<float, 64>();
  expect_same_past_caches<double, 64>();
}

// Packs are used only if x, gamma, beta and ln are aligned to a pack; memory of other owners may begin anywhere.
TEST(Layernorm, PacksOnlyWhereAllBeginWithOne) {
  using Exec = Kokkos::DefaultExecutionSpace;
  using Tuning = AskedTuning<Exec>;
  using Memory = Exec::memory_space;
  using Unmanaged = Kokkos::MemoryTraits<Kokkos::Unmanaged>;
  using Matrix = Kokkos::View<float**, Kokkos::LayoutRight, Memory, Unmanaged>;
  using Vector = Kokkos::View<float*, Memory, Unmanaged>;
  constexpr std::size_t rows_of_x = 3;
  constexpr std::size_t cols = 8;
  Exec const exec;
  using Flat = Kokkos::View<float*, Memory>;
  Flat const x("x", rows_of_x * cols + 1);
  Flat const gamma("gamma", cols + 1);
  Flat const beta("beta", cols + 1);
  Flat const ln("ln", rows_of_x * cols + 1);
  kernels::LayerNorm<Exec, float, Tuning> const layer_norm(exec, rows_of_x, cols, 1e-5);
  for (int off = -1; off < 4; ++off) {  // -1: none of them
    auto const from = [&](Flat const& flat, int number) { return flat.data() + (off == number ? 1 : 0); };
    layer_norm(exec, Matrix(from(x, 0), rows_of_x, cols), Vector(from(gamma, 1), cols), Vector(from(beta, 2), cols),
               Matrix(from(ln, 3), rows_of_x, cols));
    exec.fence();
    EXPECT_EQ(Tuning::aligned, off < 0) << off;
  }
}

TEST(Moments, AddAndMerge) {
  Moments<double> all;
  std::size_t number = 0;
  for (double const value : {1.0, 3.0, 8.0, -4.0}) all.add(value, ++number);
  EXPECT_EQ(all.count, 4);
  EXPECT_EQ(all.mean, 2);
  EXPECT_EQ(all.squares, 1 + 1 + 36 + 36);
  Moments<double> first;
  first.add(1, 1);
  first.add(3, 2);
  Moments<double> last;
  last.add(8, 1);
  last.add(-4, 2);
  Moments<double> const merged = MergeMoments{}(first, last);
  EXPECT_EQ(merged.count, all.count);
  EXPECT_EQ(merged.mean, all.mean);
  EXPECT_EQ(merged.squares, all.squares);
}

TEST(Moments, AnEmptyPartChangesNothing) {
  Moments<float> some;
  std::size_t number = 0;
  for (float const value : {0.1F, 0.3F, 0.7F}) some.add(value, ++number);
  for (Moments<float> const& merged : {MergeMoments{}(some, {}), MergeMoments{}({}, some)}) {
    EXPECT_EQ(merged.count, some.count);
    EXPECT_EQ(merged.mean, some.mean);
    EXPECT_EQ(merged.squares, some.squares);
  }
}

// A float counter stops at 2^24.
TEST(Moments, CountBeyondWhatAFloatCounts) {
  std::size_t const many = std::size_t{1} << 24;
  Moments<float> part{.count = 0x1p24F, .mean = 0, .squares = 0};
  for (std::size_t more = 1; more <= 4; ++more) part.add(1, many + more);
  EXPECT_EQ(part.count, 0x1p24F + 4);
}

// Parts of different lengths merge in any grouping, up to the rounding of the recurrence.
TEST(Moments, MergeOfUnequalParts) {
  for (int const n : {1, 2, 7, 100}) {
    for (int const cut : {0, 1, n / 3, n}) {
      Moments<double> parts[2];
      double sum = 0;
      for (int i = 0; i < n; ++i) {
        double const value = 1e3 + i * 7 % 11;
        parts[i >= cut].add(value, static_cast<std::size_t>(i >= cut ? i - cut : i) + 1);
        sum += value;
      }
      double squares = 0;
      for (int i = 0; i < n; ++i) squares += (1e3 + i * 7 % 11 - sum / n) * (1e3 + i * 7 % 11 - sum / n);
      Moments<double> const merged = MergeMoments{}(parts[0], parts[1]);
      EXPECT_EQ(merged.count, n);
      EXPECT_NEAR(merged.mean, sum / n, 1e-10);
      EXPECT_NEAR(merged.squares, squares, 1e-8);
    }
  }
}

// The sums of distances or of their squares overflow, but y does not. A NaN makes only its own row NaN.
TEST(Layernorm, SquaresPastTheRange) {
  double const not_a_number = std::numeric_limits<double>::quiet_NaN();
  for (double const size : {1e19, 1e30, 3e37}) {
    for (std::size_t const cols : {1, 3, 64, 1000, 2048}) {
      std::size_t const rows = 64;
      std::vector<double> x(rows * cols);
      for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = static_cast<float>(size * (1 + static_cast<double>(i * 37 % 101) / 100));
      x[5 * cols + cols / 2] = not_a_number;
      std::vector<double> wanted(x.size());
      for (std::size_t r = 0; r < rows; ++r) {
        long double sum = 0;
        long double squares = 0;
        for (std::size_t h = 0; h < cols; ++h) sum += x[r * cols + h];
        long double const mean = sum / cols;
        for (std::size_t h = 0; h < cols; ++h) squares += (x[r * cols + h] - mean) * (x[r * cols + h] - mean);
        for (std::size_t h = 0; h < cols; ++h) {
          auto const xhat = (x[r * cols + h] - mean) / std::sqrt(squares / cols + 1e-5L);
          wanted[r * cols + h] = static_cast<double>(2 * xhat + 1);
        }
      }
      testing::GivenFields const source({{"x", {{rows, cols}, x}},
                                         {"gamma", {{cols}, std::vector<double>(cols, 2)}},
                                         {"beta", {{cols}, std::vector<double>(cols, 1)}}});
      testing::expect_checked(app(), source, {}, wanted, 1e-9);
    }
  }
}

}  // namespace
}  // namespace tessera::layernorm
