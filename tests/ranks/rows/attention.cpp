// The rows of attention on several ranks.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "../../../apps/attention/problem.hpp"
#include "../rows.hpp"

#include <tessera/ranks/part.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::attention {

App app();

namespace {

// With fewer queries than keys, results are merged; otherwise keys travel around the ranks.
TEST(RowsOnRanks, Attention) {
  std::vector<ParameterMap> parameters{{}};
  for (std::int64_t const queries : {1, 3, 700}) {
    for (std::int64_t const dim : {1, 5}) parameters.push_back({{"queries", queries}, {"dim", dim}});
  }
  for (ParameterMap const& given : parameters) {
    for (std::size_t const size : {0, 5, 7, 64, 1000, 5003}) {
      for (DataKind const data : app().data) EXPECT_EQ(testing::outcome_of(app(), size, data, given), "");
    }
  }
  EXPECT_EQ(testing::outcome_of(app(), 70001, DataKind::random, {{"dim", std::int64_t{67}}}), "");
  EXPECT_EQ(testing::outcome_of(app(), 5003, DataKind::exact,
                                {{"queries", std::int64_t{1}}, {"dim", std::int64_t{5}}, {"chunks", std::int64_t{3}}}),
            "");
  EXPECT_EQ(
      testing::outcome_of(app(), 5003, DataKind::exact,
                          {{"queries", std::int64_t{900}}, {"dim", std::int64_t{8}}, {"chunks", std::int64_t{3}}}),
      "");
  testing::expect_traffic_of_model(app());
}

// Attention over ranks with a mistake: each rank sums over its own keys serially, and the pieces are merged.
enum class Mistake {
  none,
  keeps_to_itself,     // ignores all other ranks
  adds_as_they_are,    // adds the ranks' sums, although each is relative to its own largest score
  mean_of_answers,     // gives each rank's answer the same weight
  leaves_out_last,     // omits the last rank's keys
  empty_rank_has_one,  // a rank without keys contributes a key with score 0 and value 0
  stale                // uses data of the previous launch
};

struct BrokenMerge {
  static inline Mistake mistake = Mistake::none;  // of launches from now on
  static constexpr VariantInfo info{.name = "broken", .level = Level::ranks, .summary = "wrong on purpose"};
  template <ExecutionSpace Exec, class T>
    requires std::is_floating_point_v<T>
  struct Plan {
    Plan(Exec const&, InputOn<Attention, Exec, T> const&, ranks::Part const& part)
        : ranks(part.ranks), queries(part.input[0][0]), dim(part.input[0][1]) {}

    void operator()(Exec const& exec, InputOn<Attention, Exec, T> const& input,
                    OutputOn<Attention, Exec, T> const& output) {
      auto const q = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, input.q);
      auto const k = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, input.k);
      auto const v = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, input.v);
      auto const out = Kokkos::create_mirror_view(output.out);
      // All queries, on all ranks.
      std::vector<T> all(queries * dim);
      ranks::Block const own = ranks.block(queries);
      std::copy(q.data(), q.data() + q.size(), all.begin() + static_cast<std::ptrdiff_t>(own.begin * dim));
      ranks.sum(std::span<T>(all));
      std::vector<double> pieces;  // largest, total and sums of each query
      for (std::size_t b = 0; b < queries; ++b) {
        std::vector<double> score;
        for (std::size_t j = 0; j < k.extent(0); ++j) {
          double sum = 0;
          for (std::size_t c = 0; c < dim; ++c) sum += static_cast<double>(all[b * dim + c]) * k(j, c);
          score.push_back(sum * input.parameters.scale);
        }
        if (mistake == Mistake::empty_rank_has_one && score.empty()) score.push_back(0);
        double const largest =
            score.empty() ? -std::numeric_limits<double>::infinity() : *std::ranges::max_element(score);
        double total = 0;
        std::vector<double> sums(dim);
        for (std::size_t j = 0; j < score.size(); ++j) {
          double const weight = std::exp(score[j] - largest);
          total += weight;
          for (std::size_t c = 0; c < dim && j < k.extent(0); ++c) sums[c] += weight * v(j, c);
        }
        pieces.push_back(largest);
        pieces.push_back(total);
        pieces.insert(pieces.end(), sums.begin(), sums.end());
      }
      std::vector<std::vector<double>> of_ranks = ranks.all_gather(pieces);
      if (mistake == Mistake::keeps_to_itself) of_ranks = {pieces};
      if (mistake == Mistake::leaves_out_last && ranks.count() > 1) of_ranks.pop_back();
      if (mistake == Mistake::stale) {
        if (told.empty()) told.assign(of_ranks.size(), std::vector<double>(pieces.size(), 0));
        std::swap(of_ranks, told);
      }
      for (std::size_t b = own.begin; b < own.end; ++b) {
        double largest = -std::numeric_limits<double>::infinity();
        for (auto const& of_rank : of_ranks) largest = std::max(largest, of_rank[b * (dim + 2)]);
        double total = 0;
        std::vector<double> sums(dim);
        for (auto const& of_rank : of_ranks) {
          double const* const piece = of_rank.data() + b * (dim + 2);
          if (piece[1] == 0) continue;
          double weight = mistake == Mistake::adds_as_they_are ? 1 : std::exp(piece[0] - largest);
          if (mistake == Mistake::mean_of_answers) weight = 1 / piece[1];
          total += weight * piece[1];
          for (std::size_t c = 0; c < dim; ++c) sums[c] += weight * piece[2 + c];
        }
        for (std::size_t c = 0; c < dim; ++c) out(b - own.begin, c) = static_cast<T>(sums[c] / total);
      }
      Kokkos::deep_copy(exec, output.out, out);
      exec.fence();
    }

    ranks::Ranks const& ranks;
    std::size_t queries;
    std::size_t dim;
    std::vector<std::vector<double>> told;
  };
};

// One launch only: a rank whose part is wrong stops after the first launch, and the others would wait for it in the
// next.
std::string outcome_of_broken(Mistake mistake, std::size_t keys, DataKind data = DataKind::random) {
  BrokenMerge::mistake = mistake;
  App const broken = testing::with_rows(app(), {rows<Attention, BrokenMerge>()});
  return testing::outcome_of(broken, keys * 16, data, {{"queries", std::int64_t{9}}, {"dim", std::int64_t{16}}}, 1);
}
bool is_caught(Mistake mistake, std::size_t keys) { return !outcome_of_broken(mistake, keys).empty(); }
int count() { return testing::world().count(); }

TEST(BrokenMerge, IsRightWithoutAMistake) {
  EXPECT_EQ(outcome_of_broken(Mistake::none, 200), "");
  EXPECT_EQ(outcome_of_broken(Mistake::none, 2), "");
  EXPECT_EQ(outcome_of_broken(Mistake::none, 200, DataKind::exact), "");
}
TEST(BrokenMerge, KeepsToItself) { EXPECT_EQ(is_caught(Mistake::keeps_to_itself, 200), count() > 1); }
TEST(BrokenMerge, AddsAsTheyAre) { EXPECT_EQ(is_caught(Mistake::adds_as_they_are, 200), count() > 1); }
TEST(BrokenMerge, MeanOfAnswers) { EXPECT_EQ(is_caught(Mistake::mean_of_answers, 200), count() > 1); }
TEST(BrokenMerge, LeavesOutTheLast) { EXPECT_EQ(is_caught(Mistake::leaves_out_last, 200), count() > 1); }
TEST(BrokenMerge, EmptyRankHasOne) { EXPECT_EQ(is_caught(Mistake::empty_rank_has_one, 2), count() > 2); }
TEST(BrokenMerge, Stale) { EXPECT_TRUE(is_caught(Mistake::stale, 200)); }

}  // namespace
}  // namespace tessera::attention
