// Wrong transformer blocks must be caught: by the bound that always holds, and at a user's size by the one for random
// data.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "broken_rows.hpp"

#include "../../apps/transformer_block/bf16_block.hpp"
#include "../../apps/transformer_block/block_memory.hpp"
#include "../../apps/transformer_block/places.hpp"
#include "../../apps/transformer_block/problem.hpp"
#include "../../apps/transformer_block/tf32_block.hpp"

#include <tessera/core/half.hpp>
#include <tessera/core/random.hpp>
#include <tessera/kernels/product_form.hpp>

namespace tessera::transformer_block {
namespace {

// The block is right with these values; each test changes one.
struct Mistake {
  int mask = 0;                // query i sees the keys 0 .. i + mask
  bool swapped_heads = false;  // the first two heads have each other's queries
  bool first_residual = true;
  bool second_residual = true;
  bool tanh = false;
  bool scaled = true;  // scores
  bool normalised_again = true;
  bool across_sequences = false;  // a query sees the keys of the sequence before
  bool last_unit = true;          // of the MLP
  int lost_key = -1;              // a key that no other token sees
  bool in_bf16 = false;           // right in itself: factors rounded to bfloat16
};

// Returns a factor of a product. In bfloat16 it is rounded as accurately as in the reference, but to other numbers: the
// two errors are independent.
template <class T>
KOKKOS_FUNCTION T factor(T x, bool in_bf16) {
  if constexpr (std::is_same_v<T, float>) {
    constexpr float scale = 1.37F;
    if (in_bf16) return static_cast<float>(BFloat16(x * scale)) / scale;
  }
  return x;
}

template <class T>
struct Normalise {
  T const* x;
  T const* gamma;
  T const* beta;
  T* ln;
  std::size_t d;
  T eps;
  bool skip;
  KOKKOS_FUNCTION void operator()(std::size_t r) const {
    T const* const row = x + r * d;
    T mean = 0;
    T squares = 0;
    for (std::size_t h = 0; h < d; ++h) mean += row[h] / static_cast<T>(d);
    for (std::size_t h = 0; h < d; ++h) squares += (row[h] - mean) * (row[h] - mean);
    T const inverse = 1 / Kokkos::sqrt(squares / static_cast<T>(d) + eps);
    for (std::size_t h = 0; h < d; ++h) {
      ln[r * d + h] = skip ? row[h] : gamma[h] * ((row[h] - mean) * inverse) + beta[h];
    }
  }
};

template <class T>
struct Multiply {
  T const* a;
  T const* w;
  T const* bias;
  T const* residual;
  T* c;
  std::size_t n, k;
  bool gelu;
  bool by_tanh;
  bool in_bf16;
  KOKKOS_FUNCTION void operator()(std::size_t i) const {
    T sum = 0;
    for (std::size_t h = 0; h < k; ++h) sum += factor(a[i / n * k + h], in_bf16) * factor(w[i % n * k + h], in_bf16);
    sum += bias[i % n];
    if (gelu && by_tanh) {
      sum = T(0.5) * sum * (1 + Kokkos::tanh(T(0.7978845608028654) * (sum + T(0.044715) * sum * sum * sum)));
    } else if (gelu) {
      sum = kernels::gelu(sum);
    }
    c[i] = sum + (residual != nullptr ? residual[i] : T(0));
  }
};

template <class T>
struct Attend {
  Mistake mistake;
  T const* q;
  T const* k;
  T const* v;
  T* mean;
  kernels::Heads of;
  T scale;
  KOKKOS_FUNCTION void operator()(std::size_t i) const {
    std::size_t const d = of.heads * of.dim;
    std::size_t const row = i / of.heads;
    std::size_t const head = i % of.heads;
    std::size_t const token = row % of.tokens;
    std::size_t const sequence = row - token;
    std::size_t const first = mistake.across_sequences && sequence > 0 ? sequence - 1 : sequence;
    std::size_t end = sequence + of.tokens;
    if (of.causal && token + 1 + mistake.mask < of.tokens) end = row + 1 + mistake.mask;
    if (end == first) end = first + 1;
    std::size_t const of_q = (mistake.swapped_heads && of.heads > 1 && head < 2 ? 1 - head : head) * of.dim;
    std::size_t const col = head * of.dim;
    T most = 0;
    bool const in_bf16 = mistake.in_bf16;
    for (int pass = 0; pass < 2; ++pass) {
      T total = 0;
      for (std::size_t c = 0; pass > 0 && c < of.dim; ++c) mean[row * d + col + c] = 0;
      for (std::size_t key = first; key < end; ++key) {
        if (mistake.lost_key >= 0 && key != row && key == sequence + static_cast<std::size_t>(mistake.lost_key))
          continue;
        T score = 0;
        for (std::size_t c = 0; c < of.dim; ++c) {
          score += factor(q[row * d + of_q + c], in_bf16) * factor(k[key * d + col + c], in_bf16);
        }
        if (mistake.scaled) score *= scale;
        if (pass == 0) {
          if (total == 0 || score > most) most = score;
          total = 1;
          continue;
        }
        T const weight = factor(Kokkos::exp(score - most), in_bf16);
        total += weight;
        for (std::size_t c = 0; c < of.dim; ++c) {
          mean[row * d + col + c] += weight * factor(v[key * d + col + c], in_bf16);
        }
      }
      for (std::size_t c = 0; pass > 0 && c < of.dim; ++c) mean[row * d + col + c] /= total;
    }
  }
};

// The last hidden unit of each row is lost.
template <class T>
struct Forget {
  T* hidden;
  std::size_t n;
  KOKKOS_FUNCTION void operator()(std::size_t r) const { hidden[(r + 1) * n - 1] = 0; }
};

struct Broken {
  Mistake mistake = {};

  template <ExecutionSpace Exec, class T>
    requires std::is_floating_point_v<T>
  void operator()(Exec const& exec, InputOn<TransformerBlock, Exec, T> const& in,
                  OutputOn<TransformerBlock, Exec, T> const& out) const {
    BlockMemory<Exec, T> const at(in, "tessera::tests::broken_transformer_block");
    std::size_t const d = in.d_model();
    std::size_t const hidden = in.d_ff();
    auto const eps = static_cast<T>(in.parameters.eps);
    auto const run = [&](std::size_t count, auto const& kernel) {
      Kokkos::parallel_for("tessera::tests::broken_transformer_block", Kokkos::RangePolicy<Exec>(exec, 0, count),
                           kernel);
    };
    auto const layer = [&](T const* a, auto const& w, auto const& bias, T const* residual, T* c, bool gelu = false) {
      run(in.rows() * w.extent(0), Multiply<T>{a, w.data(), bias.data(), residual, c, w.extent(0), w.extent(1), gelu,
                                               mistake.tanh, mistake.in_bf16});
    };
    T const* const x = in.x.data();
    run(in.rows(), Normalise<T>{x, in.gamma1.data(), in.beta1.data(), at.ln.data(), d, eps, false});
    layer(at.ln.data(), in.wq, in.bq, nullptr, at.q.data());
    layer(at.ln.data(), in.wk, in.bk, nullptr, at.k.data());
    layer(at.ln.data(), in.wv, in.bv, nullptr, at.v.data());
    run(in.rows() * in.heads(), Attend<T>{mistake, at.q.data(), at.k.data(), at.v.data(), at.mean.data(),
                                          in.template attention<kernels::Heads>(), static_cast<T>(in.score_scale())});
    layer(at.mean.data(), in.wo, in.bo, mistake.first_residual ? x : nullptr, at.a.data());
    run(in.rows(),
        Normalise<T>{at.a.data(), in.gamma2.data(), in.beta2.data(), at.ln.data(), d, eps, !mistake.normalised_again});
    layer(at.ln.data(), in.w1, in.b1, nullptr, at.hidden.data(), true);
    if (!mistake.last_unit) {
      Kokkos::parallel_for("tessera::tests::broken_transformer_block", Kokkos::RangePolicy<Exec>(exec, 0, in.rows()),
                           Forget<T>{at.hidden.data(), hidden});
    }
    layer(at.hidden.data(), in.w2, in.b2, mistake.second_residual ? at.a.data() : nullptr, out.y.data());
    exec.fence("tessera: the memory is freed here");
  }
};

using testing::expect_caught;
using Int = std::int64_t;
ParameterMap const small{
    {"batch", Int{3}}, {"tokens", Int{11}}, {"d-model", Int{24}}, {"heads", Int{3}}, {"d-ff", Int{40}}};
ParameterMap const wide{{"batch", Int{1}}, {"tokens", Int{70}}, {"d-model", Int{128}}, {"heads", Int{2}}};
constexpr std::size_t small_size = 3 * 11 * 24 * 24;
constexpr std::size_t wide_size = 70 * 128 * 128;

TEST(BrokenTransformerBlock, RightOnePasses) {
  testing::expect_right<TransformerBlock>(Broken{}, small_size, small);
  testing::expect_right<TransformerBlock>(Broken{}, wide_size, wide);
}
TEST(BrokenTransformerBlock, MissesOwnKey) {
  expect_caught<TransformerBlock>(Broken{{.mask = -1}}, small_size, small, "y");
  expect_caught<TransformerBlock>(Broken{{.mask = -1}}, wide_size, wide, "y");
}
TEST(BrokenTransformerBlock, SeesNextKey) {
  expect_caught<TransformerBlock>(Broken{{.mask = 1}}, small_size, small, "y");
  expect_caught<TransformerBlock>(Broken{{.mask = 1}}, wide_size, wide, "y");
}
TEST(BrokenTransformerBlock, SwappedHeads) {
  expect_caught<TransformerBlock>(Broken{{.swapped_heads = true}}, small_size, small, "y");
  expect_caught<TransformerBlock>(Broken{{.swapped_heads = true}}, wide_size, wide, "y");
}
TEST(BrokenTransformerBlock, LosesAResidual) {
  expect_caught<TransformerBlock>(Broken{{.first_residual = false}}, small_size, small, "y");
  expect_caught<TransformerBlock>(Broken{{.second_residual = false}}, small_size, small, "y");
}
TEST(BrokenTransformerBlock, GeluByTanh) {
  expect_caught<TransformerBlock>(Broken{{.tanh = true}}, small_size, small, "y");
}
TEST(BrokenTransformerBlock, UnscaledScores) {
  expect_caught<TransformerBlock>(Broken{{.scaled = false}}, small_size, small, "y");
}
TEST(BrokenTransformerBlock, NormalisesOnce) {
  expect_caught<TransformerBlock>(Broken{{.normalised_again = false}}, small_size, small, "y");
}
TEST(BrokenTransformerBlock, SeesTheSequenceBefore) {
  expect_caught<TransformerBlock>(Broken{{.across_sequences = true}}, small_size, small, "y");
}
TEST(BrokenTransformerBlock, LosesHiddenUnit) {
  expect_caught<TransformerBlock>(Broken{{.last_unit = false}}, small_size, small, "y");
}

// A graph is captured again if any field moves: its kernels keep the addresses of all.
TEST(TransformerBlock, PlacesOfAllFields) {
  using Exec = Kokkos::DefaultHostExecutionSpace;
  InputOn<TransformerBlock, Exec, float> input{};
  OutputOn<TransformerBlock, Exec, float> output{};
  auto const first = places_of(input, output);
  EXPECT_EQ(first.size(), TransformerBlock::count_ + 1);
  float elsewhere = 0;
  auto const moved = [&](auto& field) {
    auto const before = field;
    field = std::remove_reference_t<decltype(field)>(&elsewhere, before.layout());
    EXPECT_NE(places_of(input, output), first);
    field = before;
    EXPECT_EQ(places_of(input, output), first);
  };
  std::apply([&](auto&... field) { (moved(field), ...); },
             std::tuple_cat(decltype(input)::fields(input), decltype(output)::fields(output)));
}

// The reference's estimate of single roundings needs chains of 64 or more, also of narrow rows.
TEST(TransformerBlock, StatesChainsThatTheEstimateNeeds) {
  struct {
    [[nodiscard]] std::size_t d_head() const { return 4; }
  } const narrow;
  EXPECT_EQ(longest_stage(narrow, {3}), 64);
  EXPECT_EQ(longest_stage(narrow, {3, 100}), 100);
}

// The launches of tensor_3xtf32, on hosts with emulated matrix units.
struct OnUnits {
  static constexpr VariantInfo info{.name = "on_units", .summary = "a block on matrix units"};
  template <ExecutionSpace Exec, std::same_as<float> T>
  using Plan = Tf32Block<Exec>;
};
TEST(TransformerBlock, OnMatrixUnits) {
  testing::expect_right<TransformerBlock>(OnUnits{}, small_size, small, 2);
  testing::expect_right<TransformerBlock>(OnUnits{}, wide_size, wide, 2);
  testing::expect_right<TransformerBlock>(OnUnits{}, 1, {}, 2);
}

// The launches of tensor_bf16, on hosts with emulated matrix units. TensorHeads has its own test: like here, it chooses
// its teams itself.
template <ExecutionSpace Exec>
struct OnHosts : Bf16Products<Exec> {
  struct Attention : kernels::MultiHeadAttention<Exec, float> {
    Attention(Exec const& exec, kernels::Heads const& heads, Int team, std::string label)
        : Attention::MultiHeadAttention(exec, heads, team, std::move(label)) {
      EXPECT_EQ(team, 0);
    }
  };
};
struct InBf16 {
  static constexpr VariantInfo info{.name = "in_bf16", .summary = "a block with factors of bfloat16"};
  template <ExecutionSpace Exec, std::same_as<float> T>
  using Plan = Bf16Block<Exec, OnHosts<Exec>>;
};
TEST(TransformerBlock, InBf16) {
  testing::expect_right<TransformerBlock>(InBf16{}, small_size, small, 2);
  testing::expect_right<TransformerBlock>(InBf16{}, wide_size, wide, 2);
  testing::expect_right<TransformerBlock>(InBf16{}, 1, {{"team", Int{1}}}, 2);
}

// The driver's verdicts on rows with factors of bfloat16, on generated floats with a user's default options.
struct Short : Broken {
  std::size_t longest = 4096;  // sum of products
  [[nodiscard]] ReducedPrecision reduced_precision() const {
    return {.relative = 8 * kernels::error_of_unit_sums(longest), .bfloat16_factors = true};
  }
};
class Judge {
 public:
  Judge(std::size_t size, ParameterMap const& given)
      : app_(all_apps().front()),
        case_(app_.generate_data(DType::float32, size, 42, app_.data.front(), testing::with_defaults(app_, given))) {
    oracle_.reference = case_->reference_by_parts();
  }

  [[nodiscard]] Status status_of(Mistake const& mistake) const {
    Mistake in_bf16 = mistake;
    in_bf16.in_bf16 = true;
    for (Row const& row : testing::rows_of<TransformerBlock>(Short{{in_bf16}}).rows) {
      if (row.dtype != DType::float32 || !testing::is_wanted(row)) continue;
      Verified verified;
      auto const report = tessera::run_row(
          row, *case_, oracle_, {.warmup = 0, .samples = 1, .min_time = 0}, RowReport{}, [] { return false; }, {},
          verified);
      return report ? report->status : Status::failed;
    }
    return Status::skipped;
  }

 private:
  App app_;
  std::unique_ptr<Case> case_;
  Oracle oracle_;
};
bool has_floats() { return std::ranges::count(testing::dtypes_of_this_build(), DType::float32) > 0; }

// Right rows pass, and are not weak. A wide row's bound is near what a lost tile of 256 of 4096 hidden units changes.
TEST(BrokenTransformerBlock, InBf16) {
  if (!has_floats()) GTEST_SKIP() << "no float in this build";
  struct {
    std::int64_t d_model;
    std::size_t size;
  } const cases[] = {{64, 1 << 17}, {256, 1 << 19}, {1024, 1 << 24}};
  for (auto const& [d_model, size] : cases) {
    Judge const judge(size, {{"d-model", d_model}});
    EXPECT_EQ(judge.status_of({}), Status::passed) << d_model;
    EXPECT_EQ(judge.status_of({.swapped_heads = true}), d_model > 64 ? Status::failed : Status::passed) << d_model;
    EXPECT_EQ(judge.status_of({.lost_key = 1}), Status::failed) << d_model;
    if (d_model == 1024) continue;  // the others take time
    EXPECT_EQ(judge.status_of({.mask = -1}), Status::failed) << d_model;
    EXPECT_EQ(judge.status_of({.mask = 1}), Status::failed) << d_model;
    EXPECT_EQ(judge.status_of({.first_residual = false}), Status::failed) << d_model;
    EXPECT_EQ(judge.status_of({.second_residual = false}), Status::failed) << d_model;
    EXPECT_EQ(judge.status_of({.scaled = false}), Status::failed) << d_model;
  }
  Judge const short_ones(40 * 2 * 24 * 24,
                         {{"batch", Int{40}}, {"tokens", Int{2}}, {"d-model", Int{24}}, {"heads", Int{3}}});
  EXPECT_EQ(short_ones.status_of({}), Status::passed);
  EXPECT_EQ(short_ones.status_of({.across_sequences = true}), Status::failed);
}

// Data of a file: scores are `of_scores` times as large, and so is the first row of wo and w2 with `of_first_row`.
class FromFile final : public FieldSource {
 public:
  FromFile(std::vector<Shape> shapes, double of_scores, float of_first_row = 1)
      : shapes_(std::move(shapes)), of_scores_(static_cast<float>(std::sqrt(of_scores))), of_first_row_(of_first_row) {}
  [[nodiscard]] Shape shape(FieldSpec const& spec) const override { return shapes_[at(spec)]; }
  [[nodiscard]] std::size_t longest_sum() const { return shapes_[TransformerBlock::w2_][1]; }
  void read(FieldSpec const& spec, void* destination) const override {
    auto* const to = static_cast<float*>(destination);
    std::size_t const field = at(spec);
    Shape const& shape = shapes_[field];
    for (std::size_t i = 0; i < count_of(shape); ++i) {
      auto const value = random_value<float>(3, field, i);
      // Rows of weights have a norm of about 1.
      to[i] = value * (shape.size() == 2 ? std::sqrt(3 / static_cast<float>(shape[1])) : 1);
      if (is(field, TransformerBlock::gamma1_, TransformerBlock::gamma2_)) to[i] = 1 + value / 4;
      if (is(field, TransformerBlock::wq_, TransformerBlock::wk_)) to[i] *= of_scores_;
      if (is(field, TransformerBlock::wo_, TransformerBlock::w2_) && i < shape[1]) to[i] *= of_first_row_;
    }
  }

 private:
  static std::size_t at(FieldSpec const& spec) {
    auto const& names = TransformerBlock::Input<float, Kokkos::HostSpace>::names;
    return static_cast<std::size_t>(std::ranges::find(names, spec.name) - names.begin());
  }
  static bool is(std::size_t field, std::size_t first, std::size_t second) { return field == first || field == second; }
  std::vector<Shape> shapes_;
  float of_scores_;
  float of_first_row_;
};

// Expects that right rows with factors of bfloat16 pass. Returns the part of the elements that are checked.
double checked_of_right_rows(FromFile const& file, Int heads) {
  App const app = all_apps().front();
  auto const problem_case = app.read(DType::float32, file, testing::with_defaults(app, {{"heads", heads}}));
  auto const reference = problem_case->reference();
  for (Row const& row : testing::rows_of<TransformerBlock>(Short{{{.in_bf16 = true}}, file.longest_sum()}).rows) {
    if (row.dtype != DType::float32 || !testing::is_wanted(row)) continue;
    EXPECT_EQ(testing::run_row(row, *problem_case, reference, 1), "");
  }
  auto const& offset = reference[0].bfloat16_offset;
  auto const checked = static_cast<double>(std::ranges::count_if(offset, [](double x) { return std::isfinite(x); }));
  return checked / static_cast<double>(offset.size());
}

// Errors of large scores grow faster than the scores: their rows must not be called wrong. Very large ones cannot be
// checked.
TEST(BrokenTransformerBlock, InBf16WithLargeScores) {
  if (!has_floats()) GTEST_SKIP() << "no float in this build";
  for (double const factor : {0.1, 1.0, 4.0, 64.0, 4096.0}) {
    SCOPED_TRACE(factor);
    double const checked = checked_of_right_rows({TransformerBlock::shapes(4, 100, 32, 64), factor}, 2);
    if (factor == 0.1 || factor == 4096) {
      EXPECT_EQ(checked, factor < 1 ? 1 : 0);
    }
  }
}

// An output of large weights has large errors. One error of a row, squared, is no estimate of its variance.
TEST(BrokenTransformerBlock, InBf16WithALargeRowOfWeights) {
  if (!has_floats()) GTEST_SKIP() << "no float in this build";
  EXPECT_EQ(checked_of_right_rows({TransformerBlock::shapes(1, 512, 64, 256), 0.1, 30}, 1), 1);
}

}  // namespace
}  // namespace tessera::transformer_block
