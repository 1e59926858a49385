// Wrong layers on normalised rows must be caught. The file also tests kernels that GPUs choose and hosts can run.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "broken_rows.hpp"

#include "../../apps/layernorm_linear/normalise_inside.hpp"
#include "../../apps/layernorm_linear/problem.hpp"
#include "../../apps/layernorm_linear/tensor_layer.hpp"
#include "../../apps/layernorm_linear/tf32_layer.hpp"

#include <tessera/kernels/gemm.hpp>
#include <tessera/kernels/layer_norm.hpp>

namespace tessera::layernorm_linear {
namespace {

// The arrays and extents of a layer, used by the mistakes below.
template <class T>
struct Arrays {
  T const* x;
  T const* gamma;
  T const* beta;
  T const* w;
  T const* bias;
  T* y;
  std::size_t hidden;
  std::size_t outputs;
  T eps;

  // Sum over h of w * ln, with ln from the mean and inverse deviation of x itself; w may be indexed in another way.
  KOKKOS_FUNCTION T dot(std::size_t row, std::size_t o, T mean, T inv_std, std::size_t of_o, std::size_t of_h) const {
    T sum = bias[o];
    for (std::size_t h = 0; h < hidden; ++h) {
      sum += w[o * of_o + h * of_h] * (gamma[h] * (x[row * hidden + h] - mean) * inv_std + beta[h]);
    }
    return sum;
  }
  // Mean of the first `count` elements of a row, and mean of their squared distances from `centre`.
  KOKKOS_FUNCTION T mean(std::size_t row, std::size_t count) const {
    T sum = 0;
    for (std::size_t h = 0; h < count; ++h) sum += x[row * hidden + h];
    return sum / static_cast<T>(count);
  }
  KOKKOS_FUNCTION T variance(std::size_t row, T centre) const {
    T sum = 0;
    for (std::size_t h = 0; h < hidden; ++h) {
      sum += (x[row * hidden + h] - centre) * (x[row * hidden + h] - centre);
    }
    return sum / static_cast<T>(hidden);
  }
};

template <class T, class Mistake>
struct Kernel {
  Arrays<T> of;
  KOKKOS_FUNCTION void operator()(std::size_t i) const {
    of.y[i] = Mistake::template element<T>(of, i / of.outputs, i % of.outputs);
  }
};

template <class Mistake, bool bfloat16_factors = false>
struct Broken {
  template <ExecutionSpace Exec, class T>
    requires std::is_floating_point_v<T> && (!bfloat16_factors || std::same_as<T, float>)
  void operator()(Exec const& exec, InputOn<LayernormLinear, Exec, T> const& in,
                  OutputOn<LayernormLinear, Exec, T> const& out) const {
    Arrays<T> const of{in.x.data(), in.gamma.data(), in.beta.data(),
                       in.w.data(), in.bias.data(),  out.y.data(),
                       in.hidden(), in.outputs(),    static_cast<T>(in.parameters.eps)};
    Kokkos::parallel_for("tessera::tests::broken_layernorm_linear", Kokkos::RangePolicy<Exec>(exec, 0, out.y.size()),
                         Kernel<T, Mistake>{of});
  }
  [[nodiscard]] ReducedPrecision reduced_precision() const { return {.bfloat16_factors = bfloat16_factors}; }
};

struct SquareOfTheMean {
  static constexpr std::string_view name = "square_of_the_mean";
  template <class T>
  KOKKOS_FUNCTION static T element(Arrays<T> const& of, std::size_t row, std::size_t o) {
    T const mean = of.mean(row, of.hidden);
    T const variance = of.variance(row, T(0)) - mean * mean;
    return of.dot(row, o, mean, T(1) / Kokkos::sqrt(variance + of.eps), of.hidden, 1);
  }
};
struct UnbiasedVariance {
  static constexpr std::string_view name = "unbiased_variance";
  template <class T>
  KOKKOS_FUNCTION static T element(Arrays<T> const& of, std::size_t row, std::size_t o) {
    T const mean = of.mean(row, of.hidden);
    T const n = static_cast<T>(of.hidden);
    return of.dot(row, o, mean, T(1) / Kokkos::sqrt(of.variance(row, mean) * n / (n - 1) + of.eps), of.hidden, 1);
  }
};
struct MissesTail {
  static constexpr std::string_view name = "misses_tail";
  template <class T>
  KOKKOS_FUNCTION static T element(Arrays<T> const& of, std::size_t row, std::size_t o) {
    T const mean = of.mean(row, of.hidden / 4 * 4);
    return of.dot(row, o, mean, T(1) / Kokkos::sqrt(of.variance(row, mean) + of.eps), of.hidden, 1);
  }
};
struct EpsOutside {
  static constexpr std::string_view name = "eps_outside";
  template <class T>
  KOKKOS_FUNCTION static T element(Arrays<T> const& of, std::size_t row, std::size_t o) {
    T const mean = of.mean(row, of.hidden);
    return of.dot(row, o, mean, T(1) / (Kokkos::sqrt(of.variance(row, mean)) + of.eps), of.hidden, 1);
  }
};
struct TransposedWeights {
  static constexpr std::string_view name = "transposed_weights";
  template <class T>
  KOKKOS_FUNCTION static T element(Arrays<T> const& of, std::size_t row, std::size_t o) {
    T const mean = of.mean(row, of.hidden);
    return of.dot(row, o, mean, T(1) / Kokkos::sqrt(of.variance(row, mean) + of.eps), 1, of.outputs);
  }
};

ParameterMap const odd{{"rows", std::int64_t{7}}, {"hidden", std::int64_t{13}}, {"outputs", std::int64_t{5}}};

TEST(BrokenLayernormLinear, UnbiasedVariance) {
  testing::expect_caught<LayernormLinear>(Broken<UnbiasedVariance>{}, 7 * 13 * 5, odd, "y");
}
TEST(BrokenLayernormLinear, MissesTail) {
  testing::expect_caught<LayernormLinear>(Broken<MissesTail>{}, 7 * 13 * 5, odd, "y");
}
TEST(BrokenLayernormLinear, EpsOutside) {
  testing::expect_caught<LayernormLinear>(
      Broken<EpsOutside>{}, 7 * 13 * 5,
      {{"rows", std::int64_t{7}}, {"hidden", std::int64_t{13}}, {"outputs", std::int64_t{5}}, {"eps", 0.5}}, "y");
}
TEST(BrokenLayernormLinear, TransposedWeights) {
  testing::expect_caught<LayernormLinear>(Broken<TransposedWeights>{}, 7 * 13 * 5, odd, "y");
}

// The wider bounds for bfloat16 factors must catch the same mistakes.
TEST(BrokenLayernormLinear, WithBoundsForBFloat16) {
  testing::expect_caught<LayernormLinear>(Broken<TransposedWeights, true>{}, 7 * 13 * 5, odd, "y");
  testing::expect_caught<LayernormLinear>(
      Broken<EpsOutside, true>{}, 7 * 13 * 5,
      {{"rows", std::int64_t{7}}, {"hidden", std::int64_t{13}}, {"outputs", std::int64_t{5}}, {"eps", 0.5}}, "y");
}
// Mistake: bfloat16 factors, with and without a promise of float accuracy.
struct RoundedFactors {
  static constexpr std::string_view name = "rounded_factors";
  template <class T>
  KOKKOS_FUNCTION static T element(Arrays<T> const& of, std::size_t row, std::size_t o) {
    T const mean = of.mean(row, of.hidden);
    T const inv_std = T(1) / Kokkos::sqrt(of.variance(row, mean) + of.eps);
    T sum = of.bias[o];
    for (std::size_t h = 0; h < of.hidden; ++h) {
      T const ln = of.gamma[h] * (of.x[row * of.hidden + h] - mean) * inv_std + of.beta[h];
      sum += static_cast<float>(BFloat16(static_cast<float>(of.w[o * of.hidden + h]))) *
             static_cast<float>(BFloat16(static_cast<float>(ln)));
    }
    return sum;
  }
};
TEST(BrokenLayernormLinear, RoundsFactorsWithoutSaying) {
  testing::expect_caught<LayernormLinear>(Broken<RoundedFactors>{}, 7 * 13 * 5, odd, "y");
}

// The launches of fused_tensor and tensor_3xtf32, on hosts with emulated matrix units.
template <template <class> class PlanOn>
struct OnUnits {
  static constexpr VariantInfo info{.name = "on_units", .summary = "a layer on matrix units"};
  template <ExecutionSpace Exec, class T>
    requires std::same_as<T, float>
  using Plan = PlanOn<Exec>;
};
std::string outcome_on_units(std::size_t size, ParameterMap const& given) {
  App const app =
      testing::app_with({rows<LayernormLinear, OnUnits<TensorLayer>>(), rows<LayernormLinear, OnUnits<Tf32Layer>>(),
                         testing::rows_of<LayernormLinear>(Broken<RoundedFactors, true>{})});
  std::string outcomes;
  auto const problem_case = app.generate(DType::float32, size, 42, testing::with_defaults(app, given));
  auto const expected = problem_case->reference();
  for (Row const& row : app.rows) {
    if (row.dtype == DType::float32) outcomes += testing::run_row(row, *problem_case, expected, 2);
  }
  return outcomes;
}
TEST(LayernormLinear, OnMatrixUnits) {
  EXPECT_EQ(outcome_on_units(7 * 13 * 5, odd), "");
  for (std::size_t const size : {1, 1000, 1 << 15}) EXPECT_EQ(outcome_on_units(size, {}), "");
  for (std::int64_t const extent : {1, 17, 64, 130}) {
    EXPECT_EQ(outcome_on_units(1 << 14, {{"rows", extent}, {"hidden", std::int64_t{40}}}), "") << extent;
    EXPECT_EQ(outcome_on_units(1 << 14, {{"outputs", extent}, {"hidden", std::int64_t{33}}}), "") << extent;
    EXPECT_EQ(outcome_on_units(1 << 14, {{"hidden", extent}}), "") << extent;
  }
}

// Non-finite, very small and very large values: the result is right or the row is skipped.
TEST(LayernormLinear, PatternsOnMatrixUnits) {
  App const app =
      testing::app_with({rows<LayernormLinear, OnUnits<TensorLayer>>(), rows<LayernormLinear, OnUnits<Tf32Layer>>()});
  using testing::Pattern;
  for (Pattern const pattern :
       {Pattern::zeros, Pattern::ones, Pattern::alternating, Pattern::huge_range, Pattern::denormals,
        Pattern::negative_zero, Pattern::random, Pattern::nan_inside, Pattern::infinities}) {
    testing::PatternSource const source(app, pattern, {{9, 33}, {33}, {33}, {70, 33}, {70}});
    auto const problem_case = app.read(DType::float32, source, testing::with_defaults(app, {}));
    auto const expected = problem_case->reference();
    for (Row const& row : app.rows) {
      if (row.dtype != DType::float32) continue;
      std::string const outcome = testing::run_row(row, *problem_case, expected, 2);
      // Only inputs that must be refused are refused.
      bool const is_tame = pattern == Pattern::ones || pattern == Pattern::random || pattern == Pattern::denormals;
      bool const is_refused = !is_tame && outcome.starts_with("skipped: elements of w");
      EXPECT_EQ(is_refused ? "" : outcome, "") << testing::name_of(pattern);
    }
  }
}

// The elements of w round to infinity as factors, so their second terms would be NaN; all other values are small.
class LargestW final : public FieldSource {
 public:
  [[nodiscard]] Shape shape(FieldSpec const& spec) const override {
    if (spec.name == "x") return {3, 7};
    if (spec.name == "w") return {5, 7};
    return {spec.name == "bias" ? std::size_t{5} : std::size_t{7}};
  }
  void read(FieldSpec const& spec, void* destination) const override {
    float const value = spec.name == "w" ? std::numeric_limits<float>::max() : 0x1p-20F;
    std::fill_n(static_cast<float*>(destination), count_of(shape(spec)), value);
  }
};
TEST(LayernormLinear, FactorsBeyondTheirRange) {
  App const app =
      testing::app_with({rows<LayernormLinear, OnUnits<TensorLayer>>(), rows<LayernormLinear, OnUnits<Tf32Layer>>()});
  auto const problem_case = app.read(DType::float32, LargestW(), testing::with_defaults(app, {}));
  for (Row const& row : app.rows) {
    if (row.dtype != DType::float32) continue;
    std::string const outcome = testing::run_row(row, *problem_case, problem_case->reference(), 1);
    EXPECT_TRUE(outcome.starts_with("skipped: elements of w")) << outcome;
  }
  EXPECT_NE(testing::all_were_skipped(), "");
}

// x = 1000 + 0.01 i loses accuracy with E[x^2] - E[x]^2 and with a mean of x itself; all other inputs are ones and
// zeros.
class LargeMean final : public FieldSource {
 public:
  [[nodiscard]] Shape shape(FieldSpec const& spec) const override {
    if (spec.name == "x") return {3, 24};
    if (spec.name == "w") return {5, 24};
    return {spec.name == "bias" ? std::size_t{5} : std::size_t{24}};
  }
  void read(FieldSpec const& spec, void* destination) const override {
    if (spec.dtype == DType::float32) fill(spec, static_cast<float*>(destination));
    if (spec.dtype == DType::float64) fill(spec, static_cast<double*>(destination));
  }

 private:
  template <class T>
  void fill(FieldSpec const& spec, T* values) const {
    for (std::size_t i = 0; i < count_of(shape(spec)); ++i) {
      values[i] = static_cast<T>(spec.name == "x"   ? 1000 + 0.01 * static_cast<double>(i)
                                 : spec.name == "w" ? (i % 25 == 0 ? 1.0 : 0.0)
                                                    : (spec.name == "gamma" ? 1.0 : 0.0));
    }
  }
};

TEST(BrokenLayernormLinear, SquareOfTheMean) {
  App const app = testing::app_with({testing::rows_of<LayernormLinear>(Broken<SquareOfTheMean>{})});
  for (Row const& row : app.rows) {
    auto const problem_case = app.read(row.dtype, LargeMean(), testing::with_defaults(app, {}));
    std::string const outcome = testing::run_row(row, *problem_case, problem_case->reference(), 1);
    EXPECT_NE(outcome.find("y"), std::string::npos) << testing::name_of(app, row) << ": " << outcome;
  }
}

// For this input the reference must be accurate and the error bound small.
TEST(LayernormLinear, KeepsDigitsOfALargeMean) {
  App const app = testing::app_with({testing::rows_of<LayernormLinear>(Broken<SquareOfTheMean>{})});
  for (Row const& row : app.rows) {
    auto const problem_case = app.read(row.dtype, LargeMean(), testing::with_defaults(app, {}));
    ExpectedField const y = problem_case->reference().at(0);
    // w is ones on a diagonal: y[r, o] = xhat[r, o]. The deviation of 0 .. 23 is sqrt(575 / 12) = 6.922.
    for (std::size_t o = 0; o < 5; ++o) {
      double const deviation = 0.01 * (static_cast<double>(o) - 11.5);
      EXPECT_NEAR(y.value[o], deviation / std::sqrt(1e-4 * 575 / 12 + 1e-5), 2e-3);  // x is rounded, to 6e-5
      double const bound = std::expm1(60 * unit_roundoff(row.dtype)) * y.scale[o];
      EXPECT_LT(bound, 2e-4);
    }
  }
}

// Rows are processed by W lanes that hold Packs packs of N.
template <class Exec, class T, int W, bool in_packs, int Packs>
struct FixedLanes : kernels::LayerNormTuning<Exec, T> {
  template <class Body>
  static void with_lanes(std::size_t, bool, Body const& body) {
    body.template operator()<W, in_packs ? collective::pack_width<T> : 1, Packs>();
  }
  template <class Body>
  static bool with_team(std::size_t, bool, Body const&) {
    return false;
  }
};

template <int W, bool in_packs, int Packs>
struct ByLanes {
  static constexpr VariantInfo info{.name = "by_lanes", .summary = "kernels that a GPU takes, on every space"};
  template <ExecutionSpace Exec, class T>
    requires std::is_floating_point_v<T>
  struct Plan {
    Plan(Exec const& exec, InputOn<LayernormLinear, Exec, T> const& in)
        : layer_norm(exec, in.rows(), in.hidden(), in.parameters.eps, in.parameters.team),
          product(exec, in.rows(), in.outputs(), in.hidden()),
          ln("ln", in.rows(), in.hidden()) {}
    void operator()(Exec const& exec, InputOn<LayernormLinear, Exec, T> const& in,
                    OutputOn<LayernormLinear, Exec, T> const& out) const {
      layer_norm(exec, in.x, in.gamma, in.beta, ln);
      product(exec, ln, in.w, out.y, {.load = {}, .store = {in.bias.data()}});
    }
    [[nodiscard]] double rounding_steps() const { return layer_norm.rounding_steps() + 3 + product.rounding_steps(); }

    kernels::LayerNorm<Exec, T, FixedLanes<Exec, T, W, in_packs, Packs>> layer_norm;
    kernels::Gemm<Exec, T, kernels::ProductForm<false, true, kernels::AsStored, kernels::SumAndBias<T>>> product;
    Array<T**, typename Exec::memory_space> ln;
  };
};

void run_on_every_space(App const& app, std::vector<std::size_t> const& hidden) {
  for (std::size_t const h : hidden) {
    for (std::size_t const rows_of_x : {0, 1, 67}) testing::expect_passes(app, {{rows_of_x, h}, {h}, {h}, {4, h}, {4}});
  }
}

TEST(LayernormLinear, RowsByLanes) {
  run_on_every_space(
      testing::app_with({rows<LayernormLinear, ByLanes<8, true, 1>>(), rows<LayernormLinear, ByLanes<32, true, 2>>(),
                         rows<LayernormLinear, ByLanes<32, true, 8>>()}),
      {4, 8, 12, 32, 36, 128, 256, 260, 1024, 1028, 2052});
  run_on_every_space(testing::app_with({rows<LayernormLinear, ByLanes<8, false, 4>>(),
                                        rows<LayernormLinear, ByLanes<32, false, 8>>()}),
                     {1, 2, 7, 31, 32, 33, 255, 256, 257, 1023});
}

// The product in one launch; the statistics of rows are computed as a GPU's lane computes them.
template <bool in_packs>
struct InsideByOneLane {
  static constexpr VariantInfo info{.name = "inside_by_one_lane",
                                    .summary = "what fused does on a GPU, on every space"};
  template <ExecutionSpace Exec, class T>
    requires std::is_floating_point_v<T>
  struct Plan {
    using Load = NormaliseInside<Exec, T, 1, in_packs ? collective::pack_width<T> : 1, 8>;
    Plan(Exec const& exec, InputOn<LayernormLinear, Exec, T> const& in)
        : product(exec, in.rows(), in.outputs(), in.hidden()), hidden(in.hidden()) {}
    void operator()(Exec const& exec, InputOn<LayernormLinear, Exec, T> const& in,
                    OutputOn<LayernormLinear, Exec, T> const& out) const {
      Load const load{.x = in.x.data(),
                      .gamma = in.gamma.data(),
                      .beta = in.beta.data(),
                      .cols = hidden,
                      .eps = static_cast<T>(in.parameters.eps),
                      .in_packs = in_packs};
      product(exec, in.x, in.w, out.y, {.load = load, .store = {in.bias.data()}});
    }
    [[nodiscard]] double rounding_steps() const {
      return Load::ByElements::sum_steps(hidden) + 11 + product.rounding_steps();
    }

    kernels::Gemm<Exec, T, kernels::ProductForm<false, true, Load, kernels::SumAndBias<T>>> product;
    std::size_t hidden;
  };
};

// The check is not weak for many rows, because no sum runs over the rows.
TEST(LayernormLinear, ItsSumsAreOverARow) {
  EXPECT_EQ(LayernormLinear::terms({{16384, 1024}, {1024}, {1024}, {4096, 1024}, {4096}}, {}), 1024u);
}

TEST(LayernormLinear, StatisticsInsideTheProduct) {
  run_on_every_space(testing::app_with({rows<LayernormLinear, InsideByOneLane<true>>()}),
                     {4, 8, 12, 32, 36, 128, 256, 260, 1028});
  run_on_every_space(testing::app_with({rows<LayernormLinear, InsideByOneLane<false>>()}),
                     {1, 2, 7, 8, 9, 31, 255, 257, 1023});
}

}  // namespace
}  // namespace tessera::layernorm_linear
