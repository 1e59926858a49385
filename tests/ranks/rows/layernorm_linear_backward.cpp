// The rows of layernorm_linear_backward on several ranks.

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "../../../apps/layernorm_linear_backward/problem.hpp"
#include "../../../apps/layernorm_linear_backward/two_stage_gradients.hpp"
#include "../rows.hpp"

#include <tessera/ranks/part.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::layernorm_linear_backward {

App app();

namespace {

// One row, so that all ranks but one have none; one column; one output; a few longer rows.
TEST(RowsOnRanks, LayernormLinearBackward) {
  testing::expect_right_on_ranks(app(), {{},
                                         {{"rows", std::int64_t{1}}},
                                         {{"hidden", std::int64_t{1}}},
                                         {{"outputs", std::int64_t{1}}},
                                         {{"rows", std::int64_t{5}}, {"hidden", std::int64_t{67}}}});
}

// Gradients over ranks with a mistake. Each rank computes its own as two_stage does.
enum class Mistake {
  none,
  keeps_to_itself,  // a rank's own sums without the others
  forgets_dbias,    // one of the four gradients is not summed
  first_rank_only,  // all other ranks keep their own sums
  twice,            // the received sums already contain the rank's own, which are added again
  stale             // uses data of the previous launch
};

struct BrokenGradients {
  static inline Mistake mistake = Mistake::none;  // of launches from now on
  static constexpr VariantInfo info{.name = "broken", .level = Level::ranks, .summary = "wrong on purpose"};
  template <ExecutionSpace Exec, class T>
    requires std::is_floating_point_v<T>
  struct Plan {
    Plan(Exec const& exec, InputOn<LayernormLinearBackward, Exec, T> const& input, ranks::Part const& part)
        : ranks(part.ranks), gradients(exec, input, "broken"), told(4) {}

    void operator()(Exec const& exec, InputOn<LayernormLinearBackward, Exec, T> const& input,
                    OutputOn<LayernormLinearBackward, Exec, T> const& output) {
      gradients.rows_and_columns(exec, input, output);
      gradients.weights(exec, input, output);
      exec.fence();
      add_up(0, output.dgamma);
      add_up(1, output.dbeta);
      add_up(2, output.dw);
      if (mistake != Mistake::forgets_dbias) add_up(3, output.dbias);
    }

    template <class View>
    void add_up(std::size_t field, View const& view) {
      auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, view);
      std::span<T> const values(host.data(), host.size());
      std::vector<T> sums(values.begin(), values.end());
      ranks.sum(std::span<T>(sums));
      if (mistake == Mistake::stale) {
        told[field].resize(sums.size());
        std::swap(sums, told[field]);
      }
      if (mistake == Mistake::keeps_to_itself || (mistake == Mistake::first_rank_only && !ranks.first())) return;
      if (mistake == Mistake::twice) {
        for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += values[i];
      }
      std::ranges::copy(sums, values.begin());
      Kokkos::deep_copy(view, host);
    }

    /// A larger bound than needed, because the ranks' sums are added in any order.
    [[nodiscard]] double rounding_steps() const {
      LayernormLinearBackward::Steps steps = gradients.steps();
      for (double* const sums : {&steps.columns, &steps.dw, &steps.dbias}) *sums += ranks.count();
      return LayernormLinearBackward::chain(steps);
    }

    ranks::Ranks const& ranks;
    TwoStageGradients<Exec, T> gradients;
    std::vector<std::vector<T>> told;
  };
};

// One launch only: a rank whose part is wrong stops after the first launch, and the others would wait for it in the
// next.
std::string outcome_of_broken(Mistake mistake) {
  BrokenGradients::mistake = mistake;
  App const broken = testing::with_rows(app(), {rows<LayernormLinearBackward, BrokenGradients>()});
  return testing::outcome_of(broken, 10007, DataKind::random, {}, 1);
}
bool is_caught(Mistake mistake) { return !outcome_of_broken(mistake).empty(); }
bool several() { return testing::world().count() > 1; }

TEST(BrokenGradients, AreRightWithoutAMistake) { EXPECT_EQ(outcome_of_broken(Mistake::none), ""); }
TEST(BrokenGradients, KeepToThemselves) { EXPECT_EQ(is_caught(Mistake::keeps_to_itself), several()); }
TEST(BrokenGradients, ForgetDbias) { EXPECT_EQ(is_caught(Mistake::forgets_dbias), several()); }
TEST(BrokenGradients, OfTheFirstRankOnly) { EXPECT_EQ(is_caught(Mistake::first_rank_only), several()); }
TEST(BrokenGradients, Twice) { EXPECT_TRUE(is_caught(Mistake::twice)); }
TEST(BrokenGradients, Stale) { EXPECT_TRUE(is_caught(Mistake::stale)); }

}  // namespace
}  // namespace tessera::layernorm_linear_backward
