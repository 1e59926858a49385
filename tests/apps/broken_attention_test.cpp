// Wrong attention; and what GPUs choose, which hosts can run too: several groups of lanes in a thread, each with keys
// of its own, and the merge of pieces by teams of few columns. And the kernel that only GPUs run, on emulated matrix
// units, under teams that run their threads in the worst order.

#include "broken_rows.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "adversarial_league.hpp"
#include "adversarial_team.hpp"
#include "emulated_copies.hpp"
#include "guarded_array.hpp"

#include "../../apps/attention/problem.hpp"
#include "../../apps/attention/tensor_plan.hpp"

#include <tessera/collective/async_copy.hpp>
#include <tessera/core/half.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/key_stream_attention.hpp>
#include <tessera/kernels/tensor_attention.hpp>

namespace tessera::attention {

App app();

namespace {

enum class Mistake { none, no_rescaling, no_scale, padded_keys, per_piece, last_key, first_scores };

// One query after the other, with a running maximum. Factors rounded to bfloat16, or as they are.
template <class T, bool bfloat16>
struct OneQuery {
  [[nodiscard]] KOKKOS_FUNCTION static T factor_of(T x) {
    if constexpr (bfloat16) return static_cast<T>(static_cast<float>(BFloat16(static_cast<float>(x))));
    return x;
  }

  Mistake mistake;
  T const* q;
  T const* k;
  T const* v;
  T* out;
  int keys;
  int dim;
  T scale;

  KOKKOS_FUNCTION void operator()(int b) const {
    // A buffer that all queries share still has the first one's scores.
    int const query = mistake == Mistake::first_scores ? 0 : b;
    T const none = -Kokkos::reduction_identity<T>::min();  // the lowest
    int const pieces = mistake == Mistake::per_piece ? 2 : 1;
    for (int c = 0; c < dim; ++c) out[b * dim + c] = 0;
    for (int piece = 0; piece < pieces; ++piece) {
      T largest = none;
      T total = 0;
      int const begin = piece * keys / pieces;
      int const end = (piece + 1) * keys / pieces - (mistake == Mistake::last_key ? 1 : 0);
      int const padded = mistake == Mistake::padded_keys ? (end + 7) / 8 * 8 : end;
      for (int j = begin; j < padded; ++j) {
        T score = 0;
        if (j < end) {
          for (int c = 0; c < dim; ++c) score += factor_of(q[query * dim + c]) * factor_of(k[j * dim + c]);
          if (mistake != Mistake::no_scale) score *= scale;
        }
        T const raised = score > largest ? score : largest;
        T const factor = largest == none || mistake == Mistake::no_rescaling ? T(1) : Kokkos::exp(largest - raised);
        largest = raised;
        T const weight = factor_of(Kokkos::exp(score - largest));
        total = total * factor + weight;
        if (piece == 0) {
          for (int c = 0; c < dim; ++c) {
            out[b * dim + c] = out[b * dim + c] * factor + (j < end ? weight * factor_of(v[j * dim + c]) : T(0));
          }
        } else {
          // The second piece is normalised by itself, and the two are averaged.
          for (int c = 0; c < dim; ++c) out[b * dim + c] += j < end ? weight * factor_of(v[j * dim + c]) / 2 : T(0);
        }
      }
      for (int c = 0; c < dim; ++c) out[b * dim + c] /= piece == 0 ? total * T(pieces) : T(1);
    }
  }
};

template <bool bfloat16>
struct WithFactors {
  Mistake mistake;

  template <ExecutionSpace Exec, class T>
    requires std::is_floating_point_v<T> && (!bfloat16 || std::same_as<T, float>)
  void operator()(Exec const& exec, InputOn<Attention, Exec, T> const& in,
                  OutputOn<Attention, Exec, T> const& out) const {
    Kokkos::parallel_for("tessera::tests::broken_attention",
                         Kokkos::RangePolicy<Exec>(exec, 0, static_cast<int>(in.q.extent(0))),
                         OneQuery<T, bfloat16>{mistake, in.q.data(), in.k.data(), in.v.data(), out.out.data(),
                                               static_cast<int>(in.k.extent(0)), static_cast<int>(in.q.extent(1)),
                                               static_cast<T>(in.parameters.scale)});
  }
  [[nodiscard]] ReducedPrecision reduced_precision() const { return {.bfloat16_factors = bfloat16}; }
};

using Broken = WithFactors<false>;
using BrokenWithBFloat16 = WithFactors<true>;

ParameterMap const small{{"dim", std::int64_t{5}}, {"queries", std::int64_t{3}}, {"scale", 0.7}};
constexpr std::size_t size = 5 * 53;

// That the kernel is right where nothing is wrong with it: else the tests below say nothing.
TEST(BrokenAttention, IsRightWithoutAMistake) {
  testing::expect_right<Attention>(Broken{Mistake::none}, size, small, 2);
}
TEST(BrokenAttention, NoRescaling) {
  testing::expect_caught<Attention>(Broken{Mistake::no_rescaling}, size, small, "out");
}
TEST(BrokenAttention, NoScale) { testing::expect_caught<Attention>(Broken{Mistake::no_scale}, size, small, "out"); }
TEST(BrokenAttention, PaddedKeys) {
  testing::expect_caught<Attention>(Broken{Mistake::padded_keys}, size, small, "out");
}
TEST(BrokenAttention, PerPiece) { testing::expect_caught<Attention>(Broken{Mistake::per_piece}, size, small, "out"); }
TEST(BrokenAttention, FirstScores) {
  testing::expect_caught<Attention>(Broken{Mistake::first_scores}, size, small, "out");
}
TEST(BrokenAttention, LastKey) { testing::expect_caught<Attention>(Broken{Mistake::last_key}, size, small, "out"); }

// The bounds for factors of bfloat16 are wider, and see the same mistakes.
void expect_caught_with_bfloat16(Mistake mistake) {
  testing::expect_caught<Attention>(BrokenWithBFloat16{mistake}, size, small, "out");
}
TEST(BrokenAttention, IsRightWithBFloat16) {
  for (double const scale : {0.0, 0.7, -3.0, 10.0}) {
    ParameterMap const map{{"dim", std::int64_t{5}}, {"queries", std::int64_t{3}}, {"scale", scale}};
    testing::expect_right<Attention>(BrokenWithBFloat16{Mistake::none}, size, map, 2);
  }
}
TEST(BrokenAttention, NoRescalingWithBFloat16) { expect_caught_with_bfloat16(Mistake::no_rescaling); }
TEST(BrokenAttention, NoScaleWithBFloat16) { expect_caught_with_bfloat16(Mistake::no_scale); }
TEST(BrokenAttention, PaddedKeysWithBFloat16) { expect_caught_with_bfloat16(Mistake::padded_keys); }
TEST(BrokenAttention, PerPieceWithBFloat16) { expect_caught_with_bfloat16(Mistake::per_piece); }
TEST(BrokenAttention, FirstScoresWithBFloat16) { expect_caught_with_bfloat16(Mistake::first_scores); }
TEST(BrokenAttention, LastKeyWithBFloat16) { expect_caught_with_bfloat16(Mistake::last_key); }
// Factors of bfloat16 where float is promised.
struct BFloat16WithoutSaying : BrokenWithBFloat16 {
  [[nodiscard]] ReducedPrecision reduced_precision() const { return {}; }
};
TEST(BrokenAttention, BFloat16WithoutSaying) {
  testing::expect_caught<Attention>(BFloat16WithoutSaying{{Mistake::none}}, size, small, "out");
}

// Compiled extents and those of the run, around them: one key more or less,
// one column more or less are another kernel's.
TEST(Attention, FixedAndAnyLength) {
  App const all = app();
  int fixed = 0;
  int any = 0;
  for (DType const dtype : testing::dtypes_of_this_build()) {
    if (std::ranges::find(all.rows, dtype, &Row::dtype) == all.rows.end()) continue;
    for (std::int64_t const dim : {15, 16, 17}) {
      for (std::int64_t const keys : {1, 15, 16, 17, 32, 33, 63, 64, 65}) {
        for (std::int64_t const queries : {1, 3, 301}) {
          ParameterMap map = testing::with_defaults(all, {{"dim", dim}, {"queries", queries}, {"scale", 0.7}});
          auto const problem_case = all.generate(dtype, static_cast<std::size_t>(keys * dim), 1, map);
          std::vector<ExpectedField> const expected = problem_case->reference();
          for (std::int64_t const team : {0, 2, 3}) {
            // A team's barriers take the time: of many queries on two numbers of keys.
            if (queries == 301 && team != 0 && keys != 16 && keys != 17) continue;
            map["team"] = team;
            problem_case->tune(map);
            for (Row const& row : all.rows) {
              bool const is_fixed = row.info.name == "fixed_length";
              if (row.dtype != dtype || !testing::is_wanted(row) || (!is_fixed && row.info.name != "any_length"))
                continue;
              std::string const outcome = testing::run_row(row, *problem_case, expected, testing::repeats(3));
              bool const compiled = dim == 16 && (keys == 16 || keys == 32 || keys == 64);
              if (outcome.find("a team of") != std::string::npos) continue;  // so many threads there are not
              if (is_fixed && !compiled) {
                EXPECT_TRUE(outcome.starts_with("skipped: " + std::to_string(keys) + " keys of")) << outcome;
                continue;
              }
              EXPECT_EQ(outcome, "") << testing::name_of(all, row) << ", " << queries << " queries, " << keys
                                     << " keys of " << dim << ", team " << team;
              ++(is_fixed ? fixed : any);
            }
          }
        }
      }
    }
  }
  EXPECT_GT(fixed, 0);
  EXPECT_GT(any, fixed);
}

// Values of which a few leave the range when they are added up: columns of half the largest number, of both signs, of
// denormals, and of a few units. q and k are small, so that all keys count.
class HugeValues final : public FieldSource {
 public:
  HugeValues(std::size_t queries, std::size_t keys, std::size_t dim) : queries_(queries), keys_(keys), dim_(dim) {}
  [[nodiscard]] Shape shape(FieldSpec const& spec) const override {
    return {spec.name == "q" ? queries_ : keys_, dim_};
  }
  void read(FieldSpec const& spec, void* destination) const override {
    if (spec.dtype == DType::float32) fill(spec, static_cast<float*>(destination));
    if (spec.dtype == DType::float64) fill(spec, static_cast<double*>(destination));
  }

 private:
  template <class T>
  void fill(FieldSpec const& spec, T* to) const {
    for (std::size_t i = 0; i < count_of(shape(spec)); ++i) {
      T const small = random_value<T>(3, spec.name == "q" ? 0 : spec.name == "k" ? 1 : 2, i);
      T const most = std::numeric_limits<T>::max() * T(0.45);
      std::size_t const col = i % dim_;
      if (spec.name != "v") {
        to[i] = small / 4;
      } else {
        to[i] = col % 4 == 0   ? most
                : col % 4 == 1 ? most * small
                : col % 4 == 2 ? std::numeric_limits<T>::denorm_min() * std::round(900 * small)
                               : small;
      }
    }
  }

  std::size_t queries_;
  std::size_t keys_;
  std::size_t dim_;
};

TEST(Attention, SumsMayLeaveTheRangeIfMeansDoNot) {
  App const all = app();
  int compared = 0;
  for (std::size_t const dim : {1, 3, 4, 16, 33, 64, 100, 200}) {
    for (std::size_t const keys : {2, 3, 17, 64, 700}) {
      for (std::int64_t const team : {0, 3}) {
        for (std::int64_t const chunks : {0, 3}) {
          for (DType const dtype : testing::dtypes_of_this_build()) {
            if (dtype != DType::float32 && dtype != DType::float64) continue;
            ParameterMap const map{{"team", team}, {"chunks", chunks}, {"scale", 0.5}};
            auto const problem_case =
                all.read(dtype, HugeValues(std::size_t{5}, keys, dim), testing::with_defaults(all, map));
            auto const reference = problem_case->reference();
            for (double const scale : reference[0].scale) ASSERT_TRUE(std::isfinite(scale));
            for (Row const& row : all.rows) {
              if (row.dtype != dtype || !testing::is_wanted(row)) continue;
              std::string const outcome = testing::run_row(row, *problem_case, reference, 1);
              if (outcome.starts_with("skipped: ")) continue;
              EXPECT_EQ(outcome, "") << testing::name_of(all, row) << ", " << keys << " keys of " << dim << ", team "
                                     << team << ", " << chunks << " chunks";
              ++compared;
            }
          }
        }
      }
    }
  }
  EXPECT_GT(compared, 0);
}

// The key stream with a Tuning of its own, for rows of at most `most` columns.
template <template <class, class> class Tuning, int most>
struct Streamed {
  static constexpr VariantInfo info{.name = "streamed", .summary = "keys stream by, as another space would choose"};
  template <ExecutionSpace Exec, class T>
    requires std::is_floating_point_v<T>
  struct Plan {
    kernels::KeyStreamAttention<Exec, T, Tuning<Exec, T>> attend;

    Plan(Exec const& exec, InputOn<Attention, Exec, T> const& in)
        : attend((check(in.q.extent(1)), exec), in.q.extent(0), in.k.extent(0), in.q.extent(1), in.parameters.chunks,
                 in.parameters.team) {}
    void operator()(Exec const& exec, InputOn<Attention, Exec, T> const& in,
                    OutputOn<Attention, Exec, T> const& out) const {
      attend(exec, in.q, in.k, in.v, out.out, static_cast<T>(in.parameters.scale));
    }
    [[nodiscard]] double rounding_steps() const { return attend.rounding_steps(); }

   private:
    static void check(std::size_t dim) {
      if (dim > most) throw Skip("rows that the kernel does not take");
    }
  };
};

// Rows that few lanes hold between them: a host's thread of 8 lanes then has several groups, as a GPU's has.
template <int of_row, int of_lane, int together>
struct InGroups {
  template <class Exec, class T>
  struct Tuning : kernels::KeyStreamTuning<Exec, T> {
    static constexpr int share[] = {of_row, of_row, of_row, of_row};
    static constexpr int columns[] = {of_lane, of_lane, of_lane, of_lane};
    static constexpr int queries = together;
    static constexpr bool any_row = false;
    static_assert(Tuning::lanes > of_row);
  };
  using Variant = Streamed<Tuning, of_row * of_lane>;
};

TEST(AttentionLanes, SeveralGroupsOfAThread) {
  App const app =
      testing::app_with({rows<Attention, InGroups<4, 4, 4>::Variant>(), rows<Attention, InGroups<4, 4, 1>::Variant>(),
                         rows<Attention, InGroups<4, 4, 2>::Variant>(), rows<Attention, InGroups<2, 8, 1>::Variant>(),
                         rows<Attention, InGroups<2, 4, 2>::Variant>(), rows<Attention, InGroups<1, 8, 1>::Variant>()});
  int compared = 0;
  for (Row const& row : app.rows) {
    if (!testing::is_wanted(row)) continue;
    for (std::int64_t const dim : {1, 3, 4, 8, 13, 16}) {
      for (std::size_t const keys : {1, 2, 7, 8, 9, 16, 33, 250}) {
        for (std::int64_t const team : {1, 3, 4}) {
          for (double const scale : {0.3, 30.0}) {
            ParameterMap const map{{"dim", dim},
                                   {"queries", std::int64_t{5}},
                                   {"scale", scale},
                                   {"chunks", std::int64_t{1}},
                                   {"team", team}};
            auto const problem_case =
                app.generate(row.dtype, keys * static_cast<std::size_t>(dim), 1, testing::with_defaults(app, map));
            std::string const outcome = testing::run_row(row, *problem_case, problem_case->reference(), 1);
            if (outcome.starts_with("skipped: ")) continue;
            EXPECT_EQ(outcome, "") << testing::name_of(app, row) << ", " << keys << " keys of " << dim
                                   << " columns, scale " << scale << ", team " << team;
            ++compared;
          }
        }
      }
    }
  }
  EXPECT_GT(compared, 0);
}

template <int across>
struct MergedBy {
  template <class Exec, class T>
  struct Tuning : kernels::KeyStreamTuning<Exec, T> {
    static constexpr int merge_across = across;
  };
};

// Several teams a query, the last of which may have fewer columns; and several slices of the pieces.
template <int across>
void expect_merges() {
  App const app = testing::app_with({rows<Attention, Streamed<MergedBy<across>::template Tuning, 256>>()});
  int compared = 0;
  for (Row const& row : app.rows) {
    if (!testing::is_wanted(row)) continue;
    for (std::int64_t const dim : {1, 4, 7, 8, 12, 16, 17, 20, 33, 64, 100}) {
      for (std::int64_t const chunks : {2, 3, 8, 9, 17, 40, 100}) {
        // All numbers of pieces on whole packs and one column more, some on all columns.
        if (dim != 16 && dim != 17 && chunks != 2 && chunks != 9 && chunks != 100) continue;
        ParameterMap map = testing::with_defaults(
            app, {{"dim", dim}, {"queries", std::int64_t{5}}, {"scale", 3.0}, {"chunks", chunks}});
        auto const keys = static_cast<std::size_t>(3 * chunks - 1);  // the last piece is short
        auto const problem_case = app.generate(row.dtype, keys * static_cast<std::size_t>(dim), 1, map);
        std::vector<ExpectedField> const expected = problem_case->reference();
        for (std::int64_t const team : {0, 2, 3, 4}) {
          map["team"] = team;
          problem_case->tune(map);
          std::string const outcome = testing::run_row(row, *problem_case, expected, testing::repeats(2));
          if (outcome.starts_with("skipped: ")) continue;
          EXPECT_EQ(outcome, "") << testing::name_of(app, row) << ", " << dim << " columns, " << chunks
                                 << " pieces, team " << team;
          ++compared;
        }
      }
    }
  }
  EXPECT_GT(compared, 0);
}
// A variant's own buffers are not in the driver's estimate: those of the scores are asked for by their variants.
TEST(AttentionScores, ThatDoNotFitAreSkippedBeforeTheyAreMade) {
  int tried = 0;
  for (Row const& row : app().rows) {
    std::string const variant(row.info.name);
    if (row.dtype != DType::float32 || !testing::is_wanted(row)) continue;
    if (variant != "stored_scores" && variant != "composed") continue;
    ++tried;
    // 65536 keys of one column: inputs of less than a megabyte, and scores of more than 16 GiB.
    ParameterMap const map{{"dim", std::int64_t{1}}, {"queries", std::int64_t{65537 * 2}}};
    auto const problem_case = app().generate(row.dtype, 65536, 1, testing::with_defaults(app(), map));
    try {
      (void)row.start(*problem_case);
      ADD_FAILURE() << variant << " took them";
    } catch (Skip const& skip) {
      EXPECT_NE(std::string(skip.what()).find("the scores take 32 GiB"), std::string::npos) << skip.what();
    }
  }
  if (tried == 0) GTEST_SKIP() << "no such row in this build";
}

using test::Arrival;
using Late = test::EmulatedCopies<Arrival::at_wait>;
using Early = test::EmulatedCopies<Arrival::at_once>;
using Lanes = lane::Emulated<32>;

// What the kernels of fused_tensor and fused_bf16x3 are given wrong. A value, because each type of a variant compiles
// another kernel.
enum class Given { right, lost_tile, doubled_key, swapped_values, zeros_as_keys };
Given given = Given::right;

// The kernels of both, on emulated lanes and matrix units. Each launch runs the threads of a team in another order.
template <class Tile, class Copies = Late, class L = Lanes>
struct OnEmulatedUnits {
  static constexpr VariantInfo info{.name = "emulated", .summary = "attention on emulated matrix units"};
  template <ExecutionSpace Exec, class T>
    requires std::same_as<T, float>
  struct Plan {
    std::size_t keys;

    Plan(Exec const& exec, InputOn<Attention, Exec, T> const& in) : keys(in.k.extent(0)) {
      using Whole = TensorPlan<Exec, Tile::terms>;
      if constexpr (!std::same_as<typename Exec::memory_space, Kokkos::HostSpace>) {
        throw Skip("a host");
      } else if (!Whole::takes(in.parameters.scale) ||
                 Whole::outside(exec, in.q) + Whole::outside(exec, in.k) + Whole::outside(exec, in.v) > 0) {
        throw Skip("elements of 2^-40 to 2^40");
      }
    }
    void operator()(Exec const&, InputOn<Attention, Exec, T> const& in, OutputOn<Attention, Exec, T> const& out) const {
      if constexpr (std::same_as<typename Exec::memory_space, Kokkos::HostSpace>) run(in, out);
    }
    [[nodiscard]] double rounding_steps() const { return Tile::rounding_steps(keys); }
    [[nodiscard]] ReducedPrecision reduced_precision() const { return Tile::reduced_precision(keys); }

   private:
    static void run(InputOn<Attention, Exec, T> const& in, OutputOn<Attention, Exec, T> const& out) {
      using Kernel = kernels::detail::AttendTiles<test::AdversarialSpace, L, Tile, Copies>;
      using Matrix = kernels::detail::RowsOfFloats;
      static std::size_t launches = 0;
      test::Order const order = test::all_orders[launches++ % std::size(test::all_orders)];
      std::size_t const dim = in.q.extent(1);
      std::size_t key_count = in.k.extent(0);
      std::vector<float> k(in.k.data(), in.k.data() + in.k.size());
      std::vector<float> v(in.v.data(), in.v.data() + in.v.size());
      if (given == Given::doubled_key) {
        k.insert(k.end(), in.k.data() + in.k.size() - dim, in.k.data() + in.k.size());
        v.insert(v.end(), in.v.data() + in.v.size() - dim, in.v.data() + in.v.size());
        ++key_count;
      }
      if (given == Given::swapped_values) std::swap_ranges(v.begin(), v.begin() + dim, v.begin() + dim);
      std::size_t const tiles = tiles_of(key_count, Tile::keys);
      std::size_t const teams = tiles_of(in.q.extent(0), Tile::queries);
      std::size_t const query_packs = tiles_of(in.q.extent(0), Tile::edge) * Tile::packs_of_strip;
      std::size_t const packs = query_packs + tiles * Tile::packs_of_tile;
      test::GuardedArray<kernels::detail::BlockPack> of_packs(packs);
      kernels::detail::BlockPack* const packed = of_packs.last(packs);
      auto const [sign, factor, slack] = kernels::detail::ScoreFactor::of<Tile>(in.parameters.scale);
      kernels::detail::PackAttention<Tile> const pack{Matrix{in.q.data(), in.q.extent(0), dim},
                                                      Matrix{k.data(), key_count, dim},
                                                      Matrix{v.data(), key_count, dim},
                                                      sign,
                                                      query_packs,
                                                      packed};
      for (std::size_t i = 0; i < packs; ++i) pack(i);
      if (given == Given::lost_tile) key_count -= Tile::keys;
      if (given == Given::zeros_as_keys) key_count = tiles * Tile::keys;
      Kernel const kernel{packed,
                          packed + query_packs,
                          out.out.data(),
                          in.q.extent(0),
                          key_count,
                          static_cast<int>(dim),
                          factor,
                          slack,
                          dim % 4 == 0 && collective::is_aligned_for_packs<4>(out.out.data())};
      test::run_league(kernel, static_cast<int>(teams), Tile::threads, order);
    }
  };
};

// What the harness says of a variant on hosts: nothing if it is right, to a part of the bound that is said.
template <class Variant>
std::string outcome_of(std::int64_t queries, std::size_t keys, std::int64_t dim, double scale, DataKind data,
                       int runs = 4, double part = 1) {
  App const app = testing::app_with({testing::rows_of<Attention>(Variant{})});
  std::string outcome = "no row";
  for (Row const& row : app.rows) {
    if (row.space != "serial" && row.space != "openmp") continue;
    ParameterMap const map{{"dim", dim}, {"queries", queries}, {"scale", scale}};
    auto const problem_case =
        app.generate_data(row.dtype, keys * static_cast<std::size_t>(dim), 1, data, testing::with_defaults(app, map));
    std::vector<ExpectedField> expected = problem_case->reference();
    for (double& bound : expected.at(0).scale) bound *= part;
    for (double& bound : expected.at(0).offset) bound *= part;
    outcome = testing::run_row(row, *problem_case, expected, runs);
    break;  // the space is only where the data are
  }
  return outcome;
}

// The units are emulated on hosts: a build for GPUs alone has nothing to run here.
class TensorAttention : public ::testing::Test {
 protected:
  void SetUp() override {
    App const app = testing::app_with({testing::rows_of<Attention>(Broken{Mistake::none})});
    if (std::ranges::none_of(app.rows, [](Row const& row) { return row.space == "serial" || row.space == "openmp"; })) {
      GTEST_SKIP() << "no host space in this build";
    }
  }
};
class BrokenTensorAttention : public TensorAttention {};

// Around the edges of tiles, of queries as of keys.
template <class Tile, class Copies = Late>
void expect_right_on_units(std::int64_t dim) {
  for (std::int64_t const queries : {1, 16, 17, 65}) {
    for (std::size_t const keys : {1, 64, 65, 130}) {
      for (auto const& [data, scale] : {std::pair{DataKind::exact, 1.0}, {DataKind::random, -0.3}}) {
        std::string const outcome = outcome_of<OnEmulatedUnits<Tile, Copies>>(queries, keys, dim, scale, data, 1);
        EXPECT_EQ(outcome, "") << queries << " queries, " << keys << " keys of " << dim << ", scale " << scale;
      }
    }
  }
}

// Two threads in the queries with two strips each, two in the keys of a tile of 32; or four and one.
template <int dim>
using TwoByTwo = kernels::TensorAttentionTile<dim, 2, 2, 2, 1, 2>;
template <int dim>
using FourByOne = kernels::TensorAttentionTile<dim, 4, 1, 1, 2, 3>;

TEST_F(TensorAttention, SixteenColumns) {
  expect_right_on_units<TwoByTwo<16>>(16);
  expect_right_on_units<FourByOne<16>, Early>(16);
}
TEST_F(TensorAttention, ThirtyTwoColumns) { expect_right_on_units<TwoByTwo<32>, Early>(32); }
TEST_F(TensorAttention, SixtyFourColumns) { expect_right_on_units<FourByOne<64>>(64); }
TEST_F(TensorAttention, ColumnsThatAreNoBlocks) {
  expect_right_on_units<TwoByTwo<16>>(5);
  expect_right_on_units<FourByOne<32>>(20);
}

// Three terms: float's accuracy, from 48 columns on.
template <int dim>
using ThreeTerms = kernels::TensorAttentionTile<dim, 2, 2, 1, 1, 2, 3>;
using ThreeTermsInSteps = kernels::TensorAttentionTile<64, 2, 2, 1, 1, 3, 3, 2>;
TEST_F(TensorAttention, ThreeTerms) {
  expect_right_on_units<ThreeTerms<48>>(48);
  expect_right_on_units<ThreeTerms<64>, Early>(50);
  expect_right_on_units<ThreeTerms<96>>(96);
  expect_right_on_units<ThreeTermsInSteps>(60);
  expect_right_on_units<ThreeTermsInSteps, Early>(64);
}
TEST_F(TensorAttention, ThreeTermsOfLargeScores) {
  for (double const scale : {0.0, 3.0, 30.0, -30.0, 1000.0}) {
    for (DataKind const data : {DataKind::exact, DataKind::random}) {
      EXPECT_EQ((outcome_of<OnEmulatedUnits<ThreeTerms<48>>>(35, 300, 48, scale, data)), "") << scale;
    }
  }
}
TEST_F(TensorAttention, ThreeTermsOfManyKeys) {
  EXPECT_EQ((outcome_of<OnEmulatedUnits<ThreeTerms<48>>>(32, 1 << 12, 48, 1, DataKind::exact, 1)), "");
}
// Of each sum of its indices all products of terms, the smallest first.
TEST_F(TensorAttention, PairsOfTerms) {
  std::vector<std::pair<int, int>> pairs;
  for (int i = 0; i < ThreeTermsInSteps::products; ++i) {
    auto const pair = ThreeTermsInSteps::pair(i);
    pairs.emplace_back(pair.of_a, pair.of_b);
  }
  EXPECT_EQ(pairs, (std::vector<std::pair<int, int>>{{2, 0}, {1, 1}, {0, 2}, {1, 0}, {0, 1}, {0, 0}}));
}

template <class Tile>
void expect_patterns(std::size_t dim) {
  App const app = testing::app_with({rows<Attention, OnEmulatedUnits<Tile>>()});
  for (Row const& row : app.rows) {
    if (row.space != "serial" && row.space != "openmp") continue;
    for (testing::Pattern const pattern :
         {testing::Pattern::zeros, testing::Pattern::ones, testing::Pattern::alternating, testing::Pattern::huge_range,
          testing::Pattern::denormals, testing::Pattern::negative_zero, testing::Pattern::random,
          testing::Pattern::nan_inside, testing::Pattern::infinities}) {
      bool const is_taken = pattern != testing::Pattern::huge_range && pattern != testing::Pattern::denormals &&
                            pattern != testing::Pattern::nan_inside && pattern != testing::Pattern::infinities;
      for (double const scale : {0.0, 0.01, 1.0, -1.0}) {
        testing::PatternSource const source(app, pattern, {{20, dim}, {77, dim}, {77, dim}});
        auto const problem_case = app.read(row.dtype, source, testing::with_defaults(app, {{"scale", scale}}));
        std::string const outcome = testing::run_row(row, *problem_case, problem_case->reference(), 1);
        EXPECT_EQ(outcome, is_taken ? "" : "skipped: elements of 2^-40 to 2^40")
            << testing::name_of(pattern) << ", scale " << scale;
      }
    }
    break;
  }
}
TEST_F(TensorAttention, Patterns) { expect_patterns<FourByOne<32>>(20); }
TEST_F(TensorAttention, PatternsOfThreeTerms) { expect_patterns<ThreeTerms<96>>(52); }
// As GPUs run it.
template <class Tile>
void expect_right_as_on_gpus(std::int64_t dim) {
  for (std::size_t const keys : {64, 130}) {
    for (std::int64_t const queries : {17, 129}) {
      EXPECT_EQ((outcome_of<OnEmulatedUnits<Tile>>(queries, keys, dim, 0.125, DataKind::random, 1)), "")
          << queries << " queries, " << keys << " keys of " << dim;
    }
  }
}
template <int terms>
void expect_tuning_right(std::initializer_list<int> dims) {
  using Tuning = kernels::TensorAttentionTuning<Kokkos::DefaultHostExecutionSpace, terms>;
  for (int const dim : dims) {
    for (bool const few : {false, true}) {
      Tuning::choose(static_cast<std::size_t>(dim), few, [&]<class Tile>() { expect_right_as_on_gpus<Tile>(dim); });
    }
  }
}
TEST_F(TensorAttention, TilesOfGpus) { expect_tuning_right<1>({16, 30, 64, 90, 128}); }
TEST_F(TensorAttention, TilesOfGpusOfThreeTerms) { expect_tuning_right<3>({48, 64, 100}); }
// Scores that rise from tile to tile: weights are brought to others, in each order of the threads.
TEST_F(TensorAttention, LargeScores) {
  for (double const scale : {0.0, 3.0, 30.0, -30.0, 1000.0}) {
    for (DataKind const data : {DataKind::exact, DataKind::random}) {
      EXPECT_EQ((outcome_of<OnEmulatedUnits<TwoByTwo<16>>>(65, 300, 16, scale, data)), "") << scale;
    }
  }
}

// As many keys as users have, by default data: every other query is random, and its weights are brought to a larger
// score far behind the first tiles. Its bound is close enough to see that.
TEST_F(TensorAttention, ManyKeys) {
  EXPECT_EQ((outcome_of<OnEmulatedUnits<kernels::TensorAttentionTile<64, 2, 2, 2, 2, 2>>>(64, 1 << 14, 64, 1,
                                                                                          DataKind::exact, 1)),
            "");
}
TEST_F(TensorAttention, BoundsAreClose) {
  App const app = testing::app_with({rows<Attention, OnEmulatedUnits<TwoByTwo<16>>>()});
  ParameterMap const map{{"dim", std::int64_t{64}}, {"queries", std::int64_t{64}}};
  auto const problem_case =
      app.generate_data(DType::float32, 64 << 14, 42, DataKind::exact, testing::with_defaults(app, map));
  ExpectedField const out = problem_case->reference().at(0);
  double worst = 0;
  for (std::size_t i = 0; i < out.value.size(); ++i) {
    bool const is_exact = i / 64 % 2 == 0;
    EXPECT_EQ(out.bfloat16_scale[i] == 0, is_exact) << i;
    if (!is_exact) worst = std::max(worst, out.bfloat16_offset[i] / out.value[i]);
  }
  EXPECT_LT(worst, 0.05);
  EXPECT_GT(worst, 0x1p-9);  // a weight's rounding alone may be as much
}

// Waits for one group too few.
struct WaitsTooLittle : Late {
  template <int N>
  KOKKOS_FUNCTION void wait() const {
    Late::wait<N + 1>();
  }
};
// The lanes of a row do not tell each other their largest score.
struct WithoutExchange : Lanes {
  template <class T>
  [[nodiscard]] KOKKOS_FUNCTION Value<T> exchange(Value<T> const& value, int) const {
    return value;
  }
};

template <class Variant>
void expect_caught_on_units(std::size_t keys, DataKind data, double scale = 1) {
  std::string const outcome = outcome_of<Variant>(33, keys, 16, scale, data);
  EXPECT_NE(outcome.find("out: "), std::string::npos) << keys << " keys: " << (outcome.empty() ? "passed" : outcome);
}
void expect_given_caught(Given wrong, std::size_t keys, DataKind data) {
  given = wrong;
  expect_caught_on_units<OnEmulatedUnits<TwoByTwo<16>>>(keys, data);
  given = Given::right;
}
// Exact data see each of 2^14 keys; random ones what is more than 2^-8 of 128.
TEST_F(BrokenTensorAttention, LosesATile) {
  expect_given_caught(Given::lost_tile, 128, DataKind::random);
  expect_given_caught(Given::lost_tile, 1 << 14, DataKind::exact);
}
TEST_F(BrokenTensorAttention, TakesAKeyTwice) { expect_given_caught(Given::doubled_key, 1 << 14, DataKind::exact); }
TEST_F(BrokenTensorAttention, SwapsTwoValues) { expect_given_caught(Given::swapped_values, 1 << 14, DataKind::exact); }
TEST_F(BrokenTensorAttention, TakesZerosForKeys) {
  expect_given_caught(Given::zeros_as_keys, 130, DataKind::random);
  expect_given_caught(Given::zeros_as_keys, 16, DataKind::exact);
}
TEST_F(BrokenTensorAttention, WaitsTooLittle) {
  expect_caught_on_units<OnEmulatedUnits<TwoByTwo<16>, WaitsTooLittle>>(128, DataKind::random);
}
TEST_F(BrokenTensorAttention, LanesDoNotExchange) {
  expect_caught_on_units<OnEmulatedUnits<TwoByTwo<16>, Late, WithoutExchange>>(128, DataKind::random, 3);
}

// The case inputs/attention/long.h5: its values rise from key to key,
// so that also a row with factors of bfloat16 sees lost keys.
testing::GivenFields long_case() {
  auto const matrix = [](std::size_t rows, std::size_t cols, std::size_t step, std::size_t period, double divisor) {
    std::vector<double> values(rows * cols);
    for (std::size_t i = 0; i < values.size(); ++i) {
      auto const place = static_cast<std::int64_t>(i * step % period) - static_cast<std::int64_t>(period / 2);
      values[i] = static_cast<double>(place) / 8 / divisor;
    }
    return values;
  };
  std::vector<double> v = matrix(1500, 12, 29, 97, 1);
  for (std::size_t i = 0; i < v.size(); ++i) v[i] += std::floor(static_cast<double>(i / 12) * (128.0 / 1500)) / 8;
  return testing::GivenFields({{"q", {{2, 12}, matrix(2, 12, 37, 101, 4)}},
                               {"k", {{1500, 12}, matrix(1500, 12, 11, 53, 4)}},
                               {"v", {{1500, 12}, v}}});
}
std::string verdict_on_the_long_case(Given wrong) {
  given = wrong;
  App const app = testing::app_with({rows<Attention, OnEmulatedUnits<TwoByTwo<16>>>()});
  std::string verdict = "no row";
  for (Row const& row : app.rows) {
    if (row.space != "serial" && row.space != "openmp") continue;
    auto const problem_case = app.read(row.dtype, long_case(), testing::with_defaults(app, {}));
    verdict = testing::verdict_of(row, *problem_case, problem_case->reference(), false);
  }
  given = Given::right;
  return verdict;
}
TEST_F(TensorAttention, TheLongCaseIsNotWeak) { EXPECT_EQ(verdict_on_the_long_case(Given::right), ""); }
TEST_F(BrokenTensorAttention, LosesATileOfTheLongCase) {
  EXPECT_NE(verdict_on_the_long_case(Given::lost_tile).find("elements are wrong"), std::string::npos);
}

// A product of terms that is left out. The three smallest are half of what float's own bound is, whose worst case
// random data are far from: so a part of the bound, which the kernel keeps.
constexpr double part_of_bound = 0.125;
TEST_F(TensorAttention, ThreeTermsKeepAPartOfTheBound) {
  EXPECT_EQ((outcome_of<OnEmulatedUnits<ThreeTerms<48>>>(33, 3, 48, 1, DataKind::random, 1, part_of_bound)), "");
}
struct LosesAProduct : ThreeTerms<48> {
  static constexpr int products = 5;
  static inline int lost = 0;
  [[nodiscard]] static Pair pair(int i) { return ThreeTerms<48>::pair(i < lost ? i : i + 1); }
};
void expect_lost_product_caught(int lost) {
  LosesAProduct::lost = lost;
  std::string const outcome =
      outcome_of<OnEmulatedUnits<LosesAProduct>>(33, 3, 48, 1, DataKind::random, 1, part_of_bound);
  EXPECT_NE(outcome.find("out: "), std::string::npos) << (outcome.empty() ? "passed" : outcome);
}
TEST_F(BrokenTensorAttention, LosesLowHigh) { expect_lost_product_caught(0); }
TEST_F(BrokenTensorAttention, LosesMiddleMiddle) { expect_lost_product_caught(1); }
TEST_F(BrokenTensorAttention, LosesHighLow) { expect_lost_product_caught(2); }
TEST_F(BrokenTensorAttention, LosesMiddleHigh) { expect_lost_product_caught(3); }
TEST_F(BrokenTensorAttention, LosesHighMiddle) { expect_lost_product_caught(4); }
TEST_F(BrokenTensorAttention, LosesHighHigh) { expect_lost_product_caught(5); }
// Factors of one term where float's accuracy is promised.
struct OneTermWithoutSaying : kernels::TensorAttentionTile<48, 2, 2, 1, 1, 2> {
  [[nodiscard]] static ReducedPrecision reduced_precision(std::size_t keys) {
    return ThreeTerms<48>::reduced_precision(keys);
  }
};
TEST_F(BrokenTensorAttention, OneTermWithoutSaying) {
  std::string const outcome = outcome_of<OnEmulatedUnits<OneTermWithoutSaying>>(33, 300, 48, 1, DataKind::random);
  EXPECT_NE(outcome.find("out: "), std::string::npos) << (outcome.empty() ? "passed" : outcome);
}
template <class Tile>
void expect_short_wait_caught() {
  std::string const outcome = outcome_of<OnEmulatedUnits<Tile, WaitsTooLittle>>(33, 128, 48, 1, DataKind::random);
  EXPECT_NE(outcome.find("out: "), std::string::npos) << (outcome.empty() ? "passed" : outcome);
}
TEST_F(BrokenTensorAttention, ThreeTermsWaitTooLittle) { expect_short_wait_caught<ThreeTerms<48>>(); }
// Keys and values in steps of their own, as on GPUs.
TEST_F(BrokenTensorAttention, StepsWaitTooLittle) {
  expect_short_wait_caught<kernels::TensorAttentionTile<48, 2, 2, 1, 1, 3, 3, 2>>();
}

TEST(AttentionMerge, TeamsOfSixteenColumns) { expect_merges<16>(); }
TEST(AttentionMerge, TeamsOfEightColumns) { expect_merges<8>(); }
TEST(AttentionMerge, TeamsOfFourColumns) { expect_merges<4>(); }

}  // namespace
}  // namespace tessera::attention
