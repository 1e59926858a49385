// Wrong normalised rows; and what the merge of moments promises.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "broken_rows.hpp"

#include "../../apps/layernorm/moments.hpp"
#include "../../apps/layernorm/problem.hpp"

namespace tessera::layernorm {
namespace {

enum class Mistake { square_of_the_mean, unbiased_variance, misses_tail, eps_outside, swapped_parameters, no_shift };

// A row by one thread, with one mistake.
template <class T, Mistake mistake>
struct Kernel {
  T const* x;
  T const* gamma;
  T const* beta;
  T* y;
  std::size_t hidden;
  T eps;

  KOKKOS_FUNCTION void operator()(std::size_t r) const {
    T const* const row = x + r * hidden;
    // Half of the mistakes show only beside a mean that is large.
    T const first = mistake == Mistake::square_of_the_mean || mistake == Mistake::no_shift ? T(0) : row[0];
    std::size_t const count = mistake == Mistake::misses_tail ? hidden / 4 * 4 : hidden;
    T mean = 0;
    for (std::size_t h = 0; h < count; ++h) mean += row[h] - first;
    mean /= static_cast<T>(count);
    T variance = 0;
    for (std::size_t h = 0; h < hidden; ++h) {
      T const distance = row[h] - first - (mistake == Mistake::square_of_the_mean ? T(0) : mean);
      variance += distance * distance;
    }
    variance /= static_cast<T>(mistake == Mistake::unbiased_variance ? hidden - 1 : hidden);
    if (mistake == Mistake::square_of_the_mean) variance -= mean * mean;
    T const inv_std =
        mistake == Mistake::eps_outside ? T(1) / (Kokkos::sqrt(variance) + eps) : T(1) / Kokkos::sqrt(variance + eps);
    for (std::size_t h = 0; h < hidden; ++h) {
      T const xhat = (row[h] - first - mean) * inv_std;
      y[r * hidden + h] =
          mistake == Mistake::swapped_parameters ? beta[h] * xhat + gamma[h] : gamma[h] * xhat + beta[h];
    }
  }
};

template <Mistake mistake>
struct Broken {
  static constexpr VariantInfo info{.name = "broken", .summary = "wrong on purpose"};
  template <ExecutionSpace Exec, class T>
    requires std::is_floating_point_v<T>
  struct Plan {
    Plan(Exec const&, InputOn<Layernorm, Exec, T> const&) {}
    void operator()(Exec const& exec, InputOn<Layernorm, Exec, T> const& in,
                    OutputOn<Layernorm, Exec, T> const& out) const {
      Kokkos::parallel_for("tessera::tests::broken_layernorm", Kokkos::RangePolicy<Exec>(exec, 0, in.x.extent(0)),
                           Kernel<T, mistake>{in.x.data(), in.gamma.data(), in.beta.data(), out.y.data(),
                                              in.x.extent(1), static_cast<T>(in.parameters.eps)});
    }
  };
};

template <Mistake mistake>
void expect_mistake_caught(double eps = 1e-5) {
  testing::expect_caught<Layernorm, Broken<mistake>>(
      7 * 13, {{"rows", std::int64_t{7}}, {"hidden", std::int64_t{13}}, {"eps", eps}}, "y");
}

TEST(BrokenLayernorm, UnbiasedVariance) { expect_mistake_caught<Mistake::unbiased_variance>(); }
TEST(BrokenLayernorm, MissesTail) { expect_mistake_caught<Mistake::misses_tail>(); }
TEST(BrokenLayernorm, EpsOutside) { expect_mistake_caught<Mistake::eps_outside>(0.5); }
TEST(BrokenLayernorm, SwappedParameters) { expect_mistake_caught<Mistake::swapped_parameters>(); }

// x = 1000 + 0.01 i: what E[x^2] - E[x]^2 loses.
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

// What run_row says of it on such rows.
template <Mistake mistake>
void expect_caught_beside_a_large_mean(DType dtype) {
  App const app = make_app<Layernorm>({rows<Layernorm, Broken<mistake>>()});
  for (Row const& row : app.rows) {
    if (row.dtype != dtype) continue;
    auto const problem_case = app.read(row.dtype, LargeMean(), testing::with_defaults(app, {}));
    std::string const outcome = testing::run_row(row, *problem_case, problem_case->reference(), 1);
    EXPECT_NE(outcome.find("y"), std::string::npos) << testing::name_of(app, row) << ": " << outcome;
  }
}

TEST(BrokenLayernorm, SquareOfTheMean) {
  expect_caught_beside_a_large_mean<Mistake::square_of_the_mean>(DType::float32);
  expect_caught_beside_a_large_mean<Mistake::square_of_the_mean>(DType::float64);
}
// The mean of x itself, rounded to a float, is off by more than the bound allows.
TEST(BrokenLayernorm, NoShift) { expect_caught_beside_a_large_mean<Mistake::no_shift>(DType::float32); }

TEST(Moments, AddAndMerge) {
  Moments<double> all;
  for (double const value : {1.0, 3.0, 8.0, -4.0}) all.add(value);
  EXPECT_EQ(all.count, 4U);
  EXPECT_EQ(all.mean, 2);
  EXPECT_EQ(all.squares, 1 + 1 + 36 + 36);
  Moments<double> first;
  first.add(1);
  first.add(3);
  Moments<double> last;
  last.add(8);
  last.add(-4);
  Moments<double> const merged = MergeMoments{}(first, last);
  EXPECT_EQ(merged.count, all.count);
  EXPECT_EQ(merged.mean, all.mean);
  EXPECT_EQ(merged.squares, all.squares);
}

TEST(Moments, AnEmptyPartChangesNothing) {
  Moments<float> some;
  for (float const value : {0.1F, 0.3F, 0.7F}) some.add(value);
  for (Moments<float> const& merged : {MergeMoments{}(some, {}), MergeMoments{}({}, some)}) {
    EXPECT_EQ(merged.count, some.count);
    EXPECT_EQ(merged.mean, some.mean);
    EXPECT_EQ(merged.squares, some.squares);
  }
}

// A float that counts stands still at 2^24.
TEST(Moments, CountBeyondWhatAFloatCounts) {
  std::uint64_t const many = std::uint64_t{1} << 24;
  Moments<float> part{.count = many, .mean = 0, .squares = 0};
  part.add(1);
  EXPECT_EQ(part.count, many + 1);
  EXPECT_EQ(MergeMoments{}(part, {.count = 1, .mean = 0, .squares = 0}).count, many + 2);
}

// Parts of different lengths, in any grouping, up to what the recurrence may round.
TEST(Moments, MergeOfUnequalParts) {
  for (int const n : {1, 2, 7, 100}) {
    for (int const cut : {0, 1, n / 3, n}) {
      Moments<double> parts[2];
      double sum = 0;
      for (int i = 0; i < n; ++i) {
        double const value = 1e3 + i * 7 % 11;
        parts[i >= cut].add(value);
        sum += value;
      }
      double squares = 0;
      for (int i = 0; i < n; ++i) squares += (1e3 + i * 7 % 11 - sum / n) * (1e3 + i * 7 % 11 - sum / n);
      Moments<double> const merged = MergeMoments{}(parts[0], parts[1]);
      EXPECT_EQ(merged.count, static_cast<std::uint64_t>(n));
      EXPECT_NEAR(merged.mean, sum / n, 1e-10);
      EXPECT_NEAR(merged.squares, squares, 1e-8);
    }
  }
}

}  // namespace
}  // namespace tessera::layernorm
