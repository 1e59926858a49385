// Wrong gradients must be caught. The file also compares the reference with finite differences and tests kernels that
// GPUs choose and hosts can run.

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "broken_rows.hpp"

#include "../../apps/layernorm_linear_backward/column_sums.hpp"
#include "../../apps/layernorm_linear_backward/gradient_rows.hpp"
#include "../../apps/layernorm_linear_backward/problem.hpp"
#include "../../apps/layernorm_linear_backward/tf32_gradients.hpp"

#include <tessera/kernels/gemm.hpp>

namespace tessera::layernorm_linear_backward {

App app();

namespace {

enum class Mistake { none, one_term, no_mean_of_products, no_gamma, adds_to_output, last_chunk_only, transposed_dw };

// One thread computes all gradients with one mistake.
template <class T>
struct Gradients {
  Mistake mistake;
  T const* x;
  T const* gamma;
  T const* beta;
  T const* w;
  T const* grad_y;
  T* dx;
  T* dgamma;
  T* dbeta;
  T* dw;
  T* dbias;
  std::size_t rows;
  std::size_t hidden;
  std::size_t outputs;
  T eps;

  KOKKOS_FUNCTION T q(std::size_t r, std::size_t h) const {
    T sum = 0;
    for (std::size_t o = 0; o < outputs; ++o) sum += grad_y[r * outputs + o] * w[o * hidden + h];
    return sum;
  }

  KOKKOS_FUNCTION void operator()(std::size_t) const {
    if (mistake != Mistake::adds_to_output) {
      for (std::size_t h = 0; h < hidden; ++h) dgamma[h] = 0;
    }
    for (std::size_t h = 0; h < hidden; ++h) dbeta[h] = 0;
    for (std::size_t i = 0; i < outputs * hidden; ++i) dw[i] = 0;
    for (std::size_t o = 0; o < outputs; ++o) dbias[o] = 0;
    for (std::size_t r = 0; r < rows; ++r) row(r);
  }

  KOKKOS_FUNCTION void row(std::size_t r) const {
    T const* const of_x = x + r * hidden;
    T mean = 0;
    for (std::size_t h = 0; h < hidden; ++h) mean += of_x[h] / static_cast<T>(hidden);
    T variance = 0;
    for (std::size_t h = 0; h < hidden; ++h) variance += (of_x[h] - mean) * (of_x[h] - mean) / static_cast<T>(hidden);
    T const inv_std = T(1) / Kokkos::sqrt(variance + eps);
    T mean_g = 0;
    T mean_gx = 0;
    for (std::size_t h = 0; h < hidden; ++h) {
      T const xhat = (of_x[h] - mean) * inv_std;
      T const g = q(r, h) * (mistake == Mistake::no_gamma ? T(1) : gamma[h]);
      mean_g += g / static_cast<T>(hidden);
      mean_gx += g * xhat / static_cast<T>(hidden);
      dgamma[h] += q(r, h) * xhat;
      dbeta[h] += q(r, h);
      for (std::size_t o = 0; o < outputs; ++o) {
        std::size_t const i = mistake == Mistake::transposed_dw ? h * outputs + o : o * hidden + h;
        dw[i] += grad_y[r * outputs + o] * (gamma[h] * xhat + beta[h]);
      }
    }
    for (std::size_t h = 0; h < hidden; ++h) {
      T const xhat = (of_x[h] - mean) * inv_std;
      T const g = q(r, h) * (mistake == Mistake::no_gamma ? T(1) : gamma[h]);
      T sum = g;
      if (mistake != Mistake::one_term) sum -= mean_g;
      if (mistake != Mistake::one_term && mistake != Mistake::no_mean_of_products) sum -= xhat * mean_gx;
      dx[r * hidden + h] = inv_std * sum;
    }
    for (std::size_t o = 0; o < outputs; ++o) {
      if (mistake == Mistake::last_chunk_only && r == rows / 2) dbias[o] = 0;
      dbias[o] += grad_y[r * outputs + o];
    }
  }
};

struct Broken {
  Mistake mistake;

  template <ExecutionSpace Exec, class T>
    requires std::is_floating_point_v<T>
  void operator()(Exec const& exec, InputOn<LayernormLinearBackward, Exec, T> const& in,
                  OutputOn<LayernormLinearBackward, Exec, T> const& out) const {
    Kokkos::parallel_for(
        "tessera::tests::broken_layernorm_linear_backward", Kokkos::RangePolicy<Exec>(exec, 0, 1),
        Gradients<T>{mistake, in.x.data(), in.gamma.data(), in.beta.data(), in.w.data(), in.grad_y.data(),
                     out.dx.data(), out.dgamma.data(), out.dbeta.data(), out.dw.data(), out.dbias.data(), in.rows(),
                     in.hidden(), in.outputs(), static_cast<T>(in.parameters.eps)});
  }
};

// dbias as fused_atomic without atomics would compute it: if two rows read and then write at the same time, one
// addition is lost. Here the addition of the middle row is always lost.
template <class T>
struct AddsRows {
  T const* grad_y;
  T* dbias;
  std::size_t rows;
  std::size_t outputs;
  KOKKOS_FUNCTION void operator()(std::size_t o) const {
    T sum = 0;
    for (std::size_t r = 0; r < rows; ++r) {
      if (r != rows / 2) sum += grad_y[r * outputs + o];
    }
    dbias[o] = sum;
  }
};

// Of two rows that add to dbias at a time one is lost.
struct LosesUpdates {
  template <ExecutionSpace Exec, class T>
    requires std::is_floating_point_v<T>
  void operator()(Exec const& exec, InputOn<LayernormLinearBackward, Exec, T> const& in,
                  OutputOn<LayernormLinearBackward, Exec, T> const& out) const {
    // All other gradients are right.
    Kokkos::parallel_for(
        "tessera::tests::broken_layernorm_linear_backward", Kokkos::RangePolicy<Exec>(exec, 0, 1),
        Gradients<T>{Mistake::none, in.x.data(), in.gamma.data(), in.beta.data(), in.w.data(), in.grad_y.data(),
                     out.dx.data(), out.dgamma.data(), out.dbeta.data(), out.dw.data(), out.dbias.data(), in.rows(),
                     in.hidden(), in.outputs(), static_cast<T>(in.parameters.eps)});
    Kokkos::parallel_for("tessera::tests::broken_layernorm_linear_backward",
                         Kokkos::RangePolicy<Exec>(exec, 0, in.outputs()),
                         AddsRows<T>{in.grad_y.data(), out.dbias.data(), in.rows(), in.outputs()});
  }
};

void expect_mistake_caught(Mistake mistake, std::string const& field) {
  testing::expect_caught<LayernormLinearBackward>(
      Broken{mistake}, 7 * 13 * 5,
      {{"rows", std::int64_t{7}}, {"hidden", std::int64_t{13}}, {"outputs", std::int64_t{5}}}, field);
}

TEST(BrokenLayernormLinearBackward, LosesUpdates) {
  testing::expect_caught<LayernormLinearBackward>(
      LosesUpdates{}, 4001 * 3 * 2,
      {{"rows", std::int64_t{4001}}, {"hidden", std::int64_t{3}}, {"outputs", std::int64_t{2}}}, "dbias");
}
TEST(BrokenLayernormLinearBackward, OneTerm) { expect_mistake_caught(Mistake::one_term, "dx"); }
TEST(BrokenLayernormLinearBackward, NoMeanOfProducts) { expect_mistake_caught(Mistake::no_mean_of_products, "dx"); }
TEST(BrokenLayernormLinearBackward, NoGamma) { expect_mistake_caught(Mistake::no_gamma, "dx"); }
TEST(BrokenLayernormLinearBackward, AddsToOutput) { expect_mistake_caught(Mistake::adds_to_output, "dgamma"); }
TEST(BrokenLayernormLinearBackward, LastChunkOnly) { expect_mistake_caught(Mistake::last_chunk_only, "dbias"); }
TEST(BrokenLayernormLinearBackward, TransposedDw) { expect_mistake_caught(Mistake::transposed_dw, "dw"); }

// The reference in double against central differences of sum(grad_y * y).
TEST(LayernormLinearBackward, ReferenceIsTheGradient) {
  using Input = LayernormLinearBackward::Input<double, Kokkos::HostSpace>;
  std::size_t const rows = 3;
  std::size_t const hidden = 5;
  std::size_t const outputs = 4;
  std::vector<std::vector<double>> values{std::vector<double>(rows * hidden), std::vector<double>(hidden),
                                          std::vector<double>(hidden), std::vector<double>(outputs * hidden),
                                          std::vector<double>(outputs)};
  std::vector<double> grad_y(rows * outputs);
  for (std::size_t field = 0; field < values.size(); ++field) {
    for (std::size_t i = 0; i < values[field].size(); ++i) values[field][i] = random_value<double>(5, field, i);
  }
  for (std::size_t i = 0; i < grad_y.size(); ++i) grad_y[i] = random_value<double>(5, 9, i);
  double const eps = 1e-2;

  auto const loss = [&] {
    std::vector<double> const& x = values[0];
    std::vector<double> const& gamma = values[1];
    std::vector<double> const& beta = values[2];
    std::vector<double> const& w = values[3];
    std::vector<double> const& bias = values[4];
    long double total = 0;
    for (std::size_t r = 0; r < rows; ++r) {
      long double mean = 0;
      for (std::size_t h = 0; h < hidden; ++h) mean += static_cast<long double>(x[r * hidden + h]) / hidden;
      long double variance = 0;
      for (std::size_t h = 0; h < hidden; ++h) {
        variance += (x[r * hidden + h] - mean) * (x[r * hidden + h] - mean) / hidden;
      }
      for (std::size_t o = 0; o < outputs; ++o) {
        long double y = bias[o];
        for (std::size_t h = 0; h < hidden; ++h) {
          y += w[o * hidden + h] * (gamma[h] * (x[r * hidden + h] - mean) / std::sqrt(variance + eps) + beta[h]);
        }
        total += grad_y[r * outputs + o] * y;
      }
    }
    return total;
  };

  Input input{};
  input.x = Array<double const**, Kokkos::HostSpace>(values[0].data(), rows, hidden);
  input.gamma = Array<double const*, Kokkos::HostSpace>(values[1].data(), hidden);
  input.beta = Array<double const*, Kokkos::HostSpace>(values[2].data(), hidden);
  input.w = Array<double const**, Kokkos::HostSpace>(values[3].data(), outputs, hidden);
  input.grad_y = Array<double const**, Kokkos::HostSpace>(grad_y.data(), rows, outputs);
  input.parameters.eps = eps;
  std::vector<ExpectedField> gradients;
  for_each_type(EnabledDTypes{}, [&]<class T>() {
    if constexpr (std::same_as<T, double>) gradients = LayernormLinearBackward::reference<T>(input);
  });
  if (gradients.empty()) GTEST_SKIP() << "this build has no double";
  ASSERT_EQ(gradients.size(), values.size());
  for (std::size_t field = 0; field < values.size(); ++field) {
    ASSERT_EQ(gradients[field].value.size(), values[field].size());
    for (std::size_t i = 0; i < values[field].size(); ++i) {
      double const step = 1e-5;
      double const value = values[field][i];
      values[field][i] = value + step;
      long double const above = loss();
      values[field][i] = value - step;
      long double const below = loss();
      values[field][i] = value;
      EXPECT_NEAR(gradients[field].value[i], static_cast<double>((above - below) / (2 * step)), 1e-8)
          << gradients[field].name << "[" << i << "]";
    }
  }
}

// two_stage, and the same without the last tile of rows in dgamma and dbeta, or in dw.
enum class Lost { nothing, of_columns, of_dw };
template <Lost lost>
struct OfManyRows {
  static constexpr VariantInfo info{.name = "of_many_rows", .summary = "two_stage, without some rows"};
  template <ExecutionSpace Exec, class T>
    requires std::same_as<T, float>
  struct Plan {
    using Gradients = TwoStageGradients<Exec, T>;
    using Matrix = Array<T**, typename Exec::memory_space>;
    static constexpr std::size_t tile = 256;

    Plan(Exec const& exec, InputOn<LayernormLinearBackward, Exec, T> const& input)
        : gradients(exec, input, "of_many_rows"),
          grad_y("grad_y", input.rows(), input.outputs()),
          dx("dx", input.rows(), input.hidden()),
          dw("dw", input.outputs(), input.hidden()),
          dbias("dbias", input.outputs()) {}
    void operator()(Exec const& exec, InputOn<LayernormLinearBackward, Exec, T> const& input,
                    OutputOn<LayernormLinearBackward, Exec, T> const& output) const {
      gradients.rows_and_columns(exec, input, output);
      gradients.weights(exec, input, output);
      if constexpr (lost == Lost::nothing) return;
      Kokkos::deep_copy(exec, grad_y, input.grad_y);
      std::pair const last_tile{input.rows() - tile, input.rows()};
      Kokkos::deep_copy(exec, Kokkos::subview(grad_y, last_tile, Kokkos::ALL), T(0));
      auto without = input;
      without.grad_y = grad_y;
      auto rest = output;
      rest.dx = dx;
      rest.dbias = dbias;
      if constexpr (lost == Lost::of_columns) {
        rest.dw = dw;
        gradients.rows_and_columns(exec, without, rest);
      } else {
        gradients.weights(exec, without, rest);
      }
    }
    [[nodiscard]] double rounding_steps() const { return LayernormLinearBackward::chain(gradients.steps()); }

    Gradients gradients;
    Matrix grad_y;
    Matrix dx;
    Matrix dw;
    Array<T*, typename Exec::memory_space> dbias;
  };
};
// Checks the driver's status of the wanted rows: for generated data (`is_drawn`), or for the same data as if read from
// a file, about which nothing is known.
template <Lost lost>
void expect_of_many_rows(bool is_drawn, Status status, std::string const& reason) {
  App const app = testing::app_with({rows<LayernormLinearBackward, OfManyRows<lost>>()});
  ParameterMap const wide{{"rows", std::int64_t{16384}}, {"hidden", std::int64_t{8}}};
  for (Row const& row : app.rows) {
    if (row.dtype != DType::float32 || !testing::is_wanted(row)) continue;
    auto const problem_case = app.generate(DType::float32, 1 << 26, 42, testing::with_defaults(app, wide));
    Oracle oracle;
    oracle.reference = problem_case->reference();
    oracle.random_data = is_drawn;
    Verified verified;
    SamplingOptions const once{.warmup = 0, .samples = 1, .min_time = 0};
    auto const report = run_row(row, *problem_case, oracle, once, RowReport{}, [] { return false; }, {}, verified);
    ASSERT_TRUE(report);
    EXPECT_EQ(report->status, status) << testing::name_of(app, row) << ": " << report->reason;
    EXPECT_NE(report->reason.find(reason), std::string::npos) << testing::name_of(app, row) << ": " << report->reason;
  }
}
TEST(LayernormLinearBackward, SumsOverManyRowsAreCheckedClosely) {
  expect_of_many_rows<Lost::nothing>(true, Status::passed, "");
  expect_of_many_rows<Lost::nothing>(false, Status::weak, "");
}
TEST(BrokenLayernormLinearBackward, LosesTheLastTileOfManyRows) {
  expect_of_many_rows<Lost::of_columns>(true, Status::failed, "dgamma: ");
  expect_of_many_rows<Lost::of_dw>(true, Status::failed, "dw: ");
}

// The error of a sum over rows grows with the square root of their number, in every field that sums over computed rows.
// If the spread left out one of these errors, right results would fail on other machines.
TEST(LayernormLinearBackward, SpreadOverRows) {
  App const app = testing::app_with({rows<LayernormLinearBackward, OfManyRows<Lost::nothing>>()});
  auto const spreads = [&](std::int64_t rows) {
    ParameterMap const given{{"rows", rows}, {"hidden", std::int64_t{8}}, {"outputs", std::int64_t{32}}};
    auto const size = static_cast<std::size_t>(rows) * 8 * 32;
    std::map<std::string, double> of;
    for (ExpectedField const& field :
         app.generate(DType::float32, size, 42, testing::with_defaults(app, given))->reference()) {
      if (field.random_spread.empty()) continue;
      of[field.name] = std::accumulate(field.random_spread.begin(), field.random_spread.end(), 0.0);
    }
    return of;
  };
  auto const few = spreads(256);
  auto const many = spreads(4096);
  EXPECT_EQ(many.size(), 3U);
  for (auto const& [name, spread] : many) {
    EXPECT_GT(few.at(name), 0) << name;
    EXPECT_NEAR(spread / few.at(name), 4, 0.4) << name;
  }
}

// The launches of tensor_3xtf32, on hosts with emulated matrix units.
struct OnUnits {
  static constexpr VariantInfo info{.name = "on_units", .summary = "gradients on matrix units"};
  template <ExecutionSpace Exec, class T>
    requires std::same_as<T, float>
  using Plan = Tf32Gradients<Exec>;
};
std::string outcome_on_units(std::size_t size, ParameterMap const& given) {
  App const app = testing::app_with({rows<LayernormLinearBackward, OnUnits>()});
  std::string outcomes;
  auto const problem_case = app.generate(DType::float32, size, 42, testing::with_defaults(app, given));
  auto const expected = problem_case->reference();
  for (Row const& row : app.rows) {
    if (row.dtype == DType::float32) outcomes += testing::run_row(row, *problem_case, expected, 2);
  }
  return outcomes;
}
TEST(LayernormLinearBackward, OnMatrixUnits) {
  ParameterMap const odd{{"rows", std::int64_t{7}}, {"hidden", std::int64_t{13}}, {"outputs", std::int64_t{5}}};
  EXPECT_EQ(outcome_on_units(7 * 13 * 5, odd), "");
  for (std::size_t const size : {1, 1000, 1 << 15}) EXPECT_EQ(outcome_on_units(size, {}), "");
  for (std::int64_t const extent : {1, 17, 64, 130}) {
    EXPECT_EQ(outcome_on_units(1 << 14, {{"rows", extent}, {"hidden", std::int64_t{40}}}), "") << extent;
    EXPECT_EQ(outcome_on_units(1 << 14, {{"outputs", extent}, {"hidden", std::int64_t{33}}}), "") << extent;
    EXPECT_EQ(outcome_on_units(1 << 14, {{"hidden", extent}}), "") << extent;
  }
  EXPECT_EQ(outcome_on_units(1 << 12, {{"team", std::int64_t{1}}}), "");
}

// No rows, no outputs, and non-finite, very small and very large values: the result is right or the row is skipped.
TEST(LayernormLinearBackward, PatternsOnMatrixUnits) {
  App const app = testing::app_with({rows<LayernormLinearBackward, OnUnits>()});
  testing::expect_passes(app, {{0, 33}, {33}, {33}, {70, 33}, {0, 70}});
  testing::expect_passes(app, {{9, 33}, {33}, {33}, {0, 33}, {9, 0}});
  using testing::Pattern;
  for (Pattern const pattern :
       {Pattern::zeros, Pattern::ones, Pattern::alternating, Pattern::huge_range, Pattern::denormals,
        Pattern::negative_zero, Pattern::random, Pattern::nan_inside, Pattern::infinities}) {
    testing::PatternSource const source(app, pattern, {{9, 33}, {33}, {33}, {70, 33}, {9, 70}});
    auto const problem_case = app.read(DType::float32, source, testing::with_defaults(app, {}));
    auto const expected = problem_case->reference();
    for (Row const& row : app.rows) {
      if (row.dtype != DType::float32) continue;
      std::string const outcome = testing::run_row(row, *problem_case, expected, 2);
      // Only inputs that must be refused are refused.
      bool const has_to_be = pattern == Pattern::huge_range || pattern == Pattern::infinities;
      bool const is_refused = has_to_be && outcome.starts_with("skipped: elements of w");
      EXPECT_EQ(is_refused ? "" : outcome, "") << testing::name_of(pattern);
    }
  }
}

// The elements of w round to infinity as factors, so their second terms would be NaN; all other values are small.
class LargestW final : public FieldSource {
 public:
  [[nodiscard]] Shape shape(FieldSpec const& spec) const override {
    if (spec.name == "w") return {5, 7};
    if (spec.name == "gamma" || spec.name == "beta") return {7};
    return {3, spec.name == "x" ? std::size_t{7} : std::size_t{5}};
  }
  void read(FieldSpec const& spec, void* destination) const override {
    float const value = spec.name == "w" ? std::numeric_limits<float>::max() : 0x1p-20F;
    std::fill_n(static_cast<float*>(destination), count_of(shape(spec)), value);
  }
};
TEST(LayernormLinearBackward, FactorsBeyondTheirRange) {
  App const app = testing::app_with({rows<LayernormLinearBackward, OnUnits>()});
  auto const problem_case = app.read(DType::float32, LargestW(), testing::with_defaults(app, {}));
  for (Row const& row : app.rows) {
    if (row.dtype != DType::float32) continue;
    std::string const outcome = testing::run_row(row, *problem_case, problem_case->reference(), 1);
    EXPECT_TRUE(outcome.starts_with("skipped: elements of w")) << outcome;
  }
  EXPECT_NE(testing::all_were_skipped(), "");
}

// Float's bound: a few roundings more than multiply-adds need, and negligible for small numbers.
TEST(LayernormLinearBackward, BoundOnMatrixUnits) {
  App const app = testing::app_with({rows<LayernormLinearBackward, OnUnits>()});
  for (Row const& row : app.rows) {
    if (row.dtype != DType::float32) continue;
    auto const problem_case = app.generate(DType::float32, 1 << 15, 42, testing::with_defaults(app, {}));
    auto const run = row.start(*problem_case);
    EXPECT_LE(run->reduced_precision().relative, 49 * 0x1p-24);
    EXPECT_LE(run->reduced_precision().absolute, 0x1p-90);
  }
}

// Rows are processed by W lanes that hold Packs packs of N. Column sums are added atomically or by a second launch.
template <int W, bool in_packs, int Packs, bool atomic>
struct ByLanes {
  static constexpr VariantInfo info{
      .name = "by_lanes", .summary = "kernels that a GPU takes, on every space", .deterministic = !atomic};
  template <ExecutionSpace Exec, class T>
    requires std::is_floating_point_v<T>
  struct Plan {
    static constexpr int pack = in_packs ? collective::pack_width<T> : 1;
    using Kernel = kernels::detail::GradientRows<Exec, T, W, pack, Packs>;

    Plan(Exec const& exec, InputOn<LayernormLinearBackward, Exec, T> const& in)
        : product_q(exec, in.rows(), in.hidden(), in.outputs()),
          product_dw(exec, in.outputs(), in.hidden(), in.rows()),
          threads(Kernel::threads_of(exec, in.parameters.team)),
          chunks(Kernel::chunks_of(exec, threads, in.rows())),
          q("q", in.rows(), in.hidden()),
          ln("ln", in.rows(), in.hidden()),
          sums("sums", static_cast<std::size_t>(chunks.count * threads) * 2 * in.hidden()),
          both("both", 2 * in.hidden()) {}
    void operator()(Exec const& exec, InputOn<LayernormLinearBackward, Exec, T> const& in,
                    OutputOn<LayernormLinearBackward, Exec, T> const& out) const {
      std::size_t const hidden = in.hidden();
      Kokkos::deep_copy(exec, out.dgamma, T(0));
      Kokkos::deep_copy(exec, out.dbeta, T(0));
      product_q(exec, in.grad_y, in.w, q);
      if (in.rows() > 0) {
        kernels::detail::RowArrays<T> const arrays{
            in.x.data(),     q.data(),  in.gamma.data(), in.beta.data(),
            out.dx.data(),   ln.data(), sums.data(),     atomic ? out.dgamma.data() : nullptr,
            out.dbeta.data()};
        Kernel{arrays, hidden, static_cast<T>(in.parameters.eps), chunks}.enqueue("tessera::tests::rows", exec,
                                                                                  threads);
        if (!atomic) {
          ColumnSums<Exec, T, PartialSums<T>, 32, 8>(sums.data(), static_cast<std::size_t>(chunks.count * threads),
                                                     2 * hidden, 1, {both.data(), 2 * hidden})
              .enqueue("tessera::tests::columns", exec, in.parameters.team);
          Kokkos::deep_copy(exec, out.dgamma, Kokkos::subview(both, Kokkos::make_pair(std::size_t{0}, hidden)));
          Kokkos::deep_copy(exec, out.dbeta, Kokkos::subview(both, Kokkos::make_pair(hidden, 2 * hidden)));
        }
      }
      ColumnSums<Exec, T, PartialSums<T>, 32, 8>(in.grad_y.data(), in.rows(), in.outputs(), 1,
                                                 {out.dbias.data(), in.outputs()})
          .enqueue("tessera::tests::bias", exec, in.parameters.team);
      product_dw(exec, in.grad_y, ln, out.dw);
    }

    kernels::Gemm<Exec, T> product_q;
    kernels::Gemm<Exec, T, kernels::TransposedA> product_dw;
    int threads;
    kernels::Chunks chunks;
    Array<T**, typename Exec::memory_space> q;
    Array<T**, typename Exec::memory_space> ln;
    Kokkos::View<T*, typename Exec::memory_space> sums;
    Kokkos::View<T*, typename Exec::memory_space> both;
  };
};

void run_on_every_space(App const& app, std::vector<std::size_t> const& hidden) {
  for (std::size_t const h : hidden) {
    for (std::size_t const rows_of_x : {0, 1, 167}) {
      testing::expect_passes(app, {{rows_of_x, h}, {h}, {h}, {3, h}, {rows_of_x, 3}});
    }
  }
}

TEST(LayernormLinearBackward, RowsByLanes) {
  run_on_every_space(testing::app_with({rows<LayernormLinearBackward, ByLanes<8, true, 1, false>>(),
                                        rows<LayernormLinearBackward, ByLanes<32, true, 2, true>>(),
                                        rows<LayernormLinearBackward, ByLanes<32, true, 8, false>>()}),
                     {4, 8, 12, 32, 36, 256, 260, 1024, 1028});
  run_on_every_space(testing::app_with({rows<LayernormLinearBackward, ByLanes<8, false, 4, true>>(),
                                        rows<LayernormLinearBackward, ByLanes<32, false, 8, false>>()}),
                     {1, 2, 31, 33, 256, 257, 600});
}

// No outputs, no rows, rows of one column: the gradients are sums of zeros or empty sums.
TEST(LayernormLinearBackward, SumsOfZerosAreNeverWeak) {
  for (auto const& [rows, hidden, outputs] : {std::array<std::size_t, 3>{4, 5, 0}, {0, 5, 3}, {17, 1, 5}, {3, 7, 2}}) {
    bool const no_gradient = rows == 3;
    auto const some = [](std::size_t count) {
      std::vector<double> values(count);
      for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<double>(i * 37 % 101) / 8 - 6;
      return values;
    };
    testing::GivenFields const source(
        {{"x", {{rows, hidden}, some(rows * hidden)}},
         {"gamma", {{hidden}, some(hidden)}},
         {"beta", {{hidden}, some(hidden)}},
         {"w", {{outputs, hidden}, some(outputs * hidden)}},
         {"grad_y", {{rows, outputs}, no_gradient ? std::vector<double>(rows * outputs) : some(rows * outputs)}}});
    testing::expect_never_weak(app(), source, {});
  }
}

}  // namespace
}  // namespace tessera::layernorm_linear_backward
