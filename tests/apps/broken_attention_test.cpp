// Wrong attention; and what GPUs choose, which hosts can run too: several groups of lanes in a thread, each with keys of
// its own, and the merge of pieces by teams of few columns.

#include "broken_rows.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <type_traits>

#include "../../apps/attention/problem.hpp"

#include <tessera/kernels/key_stream_attention.hpp>

namespace tessera::attention {

App app();  // apps/attention/variants.cpp

namespace {

enum class Mistake { none, no_rescaling, no_scale, padded_keys, per_piece, last_key, first_scores };

// One query after the other, with a running maximum.
template <class T, Mistake mistake>
struct OneQuery {
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
          for (int c = 0; c < dim; ++c) score += q[query * dim + c] * k[j * dim + c];
          if (mistake != Mistake::no_scale) score *= scale;
        }
        T const raised = score > largest ? score : largest;
        T const factor = largest == none || mistake == Mistake::no_rescaling ? T(1) : Kokkos::exp(largest - raised);
        largest = raised;
        T const weight = Kokkos::exp(score - largest);
        total = total * factor + weight;
        if (piece == 0) {
          for (int c = 0; c < dim; ++c) {
            out[b * dim + c] = out[b * dim + c] * factor + (j < end ? weight * v[j * dim + c] : T(0));
          }
        } else {
          // The second piece is normalised by itself, and the two are averaged.
          for (int c = 0; c < dim; ++c) out[b * dim + c] += j < end ? weight * v[j * dim + c] / 2 : T(0);
        }
      }
      for (int c = 0; c < dim; ++c) out[b * dim + c] /= piece == 0 ? total * T(pieces) : T(1);
    }
  }
};

template <Mistake mistake>
struct Broken {
  static constexpr VariantInfo info{.name = "broken", .summary = "wrong on purpose"};
  template <ExecutionSpace Exec, class T>
    requires std::is_floating_point_v<T>
  struct Plan {
    Plan(Exec const&, InputOn<Attention, Exec, T> const&) {}
    void operator()(Exec const& exec, InputOn<Attention, Exec, T> const& in,
                    OutputOn<Attention, Exec, T> const& out) const {
      Kokkos::parallel_for(
          "tessera::tests::broken_attention", Kokkos::RangePolicy<Exec>(exec, 0, static_cast<int>(in.q.extent(0))),
          OneQuery<T, mistake>{in.q.data(), in.k.data(), in.v.data(), out.out.data(), static_cast<int>(in.k.extent(0)),
                               static_cast<int>(in.q.extent(1)), static_cast<T>(in.parameters.scale)});
    }
  };
};

ParameterMap const small{{"dim", std::int64_t{5}}, {"queries", std::int64_t{3}}, {"scale", 0.7}};
constexpr std::size_t size = 5 * 53;

// That the kernel is right where nothing is wrong with it: else the tests below say nothing.
TEST(BrokenAttention, IsRightWithoutAMistake) {
  testing::expect_right<Attention, Broken<Mistake::none>>(size, small, 2);
}
TEST(BrokenAttention, NoRescaling) {
  testing::expect_caught<Attention, Broken<Mistake::no_rescaling>>(size, small, "out");
}
TEST(BrokenAttention, NoScale) { testing::expect_caught<Attention, Broken<Mistake::no_scale>>(size, small, "out"); }
TEST(BrokenAttention, PaddedKeys) {
  testing::expect_caught<Attention, Broken<Mistake::padded_keys>>(size, small, "out");
}
TEST(BrokenAttention, PerPiece) { testing::expect_caught<Attention, Broken<Mistake::per_piece>>(size, small, "out"); }
TEST(BrokenAttention, FirstScores) {
  testing::expect_caught<Attention, Broken<Mistake::first_scores>>(size, small, "out");
}
TEST(BrokenAttention, LastKey) { testing::expect_caught<Attention, Broken<Mistake::last_key>>(size, small, "out"); }

// Compiled extents and those of the run, around them: one key more or less, one column more or less are another kernel's.
TEST(Attention, FixedAndAnyLength) {
  App const all = app();
  int fixed = 0;
  int any = 0;
  for (Row const& row : all.rows) {
    bool const is_fixed = row.info.name == "fixed_length";
    if (!testing::is_wanted(row) || (!is_fixed && row.info.name != "any_length")) continue;
    for (std::int64_t const dim : {15, 16, 17}) {
      for (std::int64_t const keys : {1, 15, 16, 17, 32, 33, 63, 64, 65}) {
        for (std::int64_t const queries : {1, 3, 301}) {
          for (std::int64_t const team : {0, 2, 3}) {
            ParameterMap const map{{"dim", dim}, {"queries", queries}, {"team", team}, {"scale", 0.7}};
            auto const problem_case =
                all.generate(row.dtype, static_cast<std::size_t>(keys * dim), 1, testing::with_defaults(all, map));
            std::string const outcome =
                testing::run_row(row, *problem_case, problem_case->reference(), testing::repeats(3));
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
  EXPECT_GT(fixed, 0);
  EXPECT_GT(any, fixed);
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
  App const app = make_app<Attention>(
      {rows<Attention, InGroups<4, 4, 4>::Variant>(), rows<Attention, InGroups<4, 4, 1>::Variant>(),
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
  App const app = make_app<Attention>({rows<Attention, Streamed<MergedBy<across>::template Tuning, 256>>()});
  int compared = 0;
  for (Row const& row : app.rows) {
    if (!testing::is_wanted(row)) continue;
    for (std::int64_t const dim : {1, 4, 7, 8, 12, 16, 17, 20, 33, 64, 100}) {
      for (std::int64_t const chunks : {2, 3, 8, 9, 17, 40, 100}) {
        for (std::int64_t const team : {0, 2, 3, 4}) {
          ParameterMap const map{
              {"dim", dim}, {"queries", std::int64_t{5}}, {"scale", 3.0}, {"chunks", chunks}, {"team", team}};
          auto const keys = static_cast<std::size_t>(3 * chunks - 1);  // the last piece is short
          auto const problem_case =
              app.generate(row.dtype, keys * static_cast<std::size_t>(dim), 1, testing::with_defaults(app, map));
          std::string const outcome =
              testing::run_row(row, *problem_case, problem_case->reference(), testing::repeats(2));
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

TEST(AttentionMerge, TeamsOfSixteenColumns) { expect_merges<16>(); }
TEST(AttentionMerge, TeamsOfEightColumns) { expect_merges<8>(); }
TEST(AttentionMerge, TeamsOfFourColumns) { expect_merges<4>(); }

}  // namespace
}  // namespace tessera::attention
