// The rows of transformer_block on several ranks.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "../../../apps/transformer_block/fused_block.hpp"
#include "../../../apps/transformer_block/problem.hpp"
#include "../rows.hpp"

#include <tessera/ranks/part.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::transformer_block {

App app();

namespace {

using Int = std::int64_t;

// One head, so that all ranks but one have none; fewer heads than ranks, and more; one hidden unit; a few sequences.
TEST(RowsOnRanks, TransformerBlock) {
  testing::expect_right_on_ranks(app(), {{},
                                         {{"d-model", Int{24}}, {"heads", Int{1}}},
                                         {{"d-model", Int{24}}, {"heads", Int{3}}, {"tokens", Int{5}}},
                                         {{"d-model", Int{24}}, {"heads", Int{8}}, {"d-ff", Int{1}}},
                                         {{"d-model", Int{10}}, {"heads", Int{5}}, {"causal", false}}});
}
// Also where no extent is round: 2^20 + 131 is 963 tokens of 33 columns.
TEST(RowsOnRanks, TransformerBlockAtAMillion) {
  testing::expect_right_on_ranks_at_a_million(
      app(), {{},
              {{"causal", false}, {"batch", Int{3}}, {"heads", Int{4}}},
              {{"tokens", Int{963}}, {"d-model", Int{33}}, {"heads", Int{3}}, {"d-ff", Int{100}}}});
}

// Sums over ranks with a mistake. Each rank computes the whole block, and gives its share of it to the sum.
enum class Mistake {
  none,
  keeps_to_itself,     // a rank's own term without the others
  residual_on_all,     // every rank adds x to its term
  leaves_out_the_last  // the last rank's term is missing
};

struct BrokenSums {
  static inline Mistake mistake = Mistake::none;  // of launches from now on
  static constexpr VariantInfo info{.name = "broken", .level = Level::ranks, .summary = "wrong on purpose"};
  template <ExecutionSpace Exec, class T>
    requires std::is_floating_point_v<T>
  struct Plan : FusedBlock<Exec, T> {
    Plan(Exec const& exec, InputOn<TransformerBlock, Exec, T> const& input, ranks::Part const& part)
        : Plan::FusedBlock(exec, input, "broken"), ranks(part.ranks) {}

    void operator()(Exec const& exec, InputOn<TransformerBlock, Exec, T> const& input,
                    OutputOn<TransformerBlock, Exec, T> const& output) {
      Plan::FusedBlock::operator()(exec, input, output);
      exec.fence();
      auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, output.y);
      auto const x = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, input.x);
      std::vector<T> sums(host.data(), host.data() + host.size());
      bool const last = ranks.rank() + 1 == ranks.count();
      for (std::size_t i = 0; i < sums.size(); ++i) {
        if (mistake == Mistake::residual_on_all && ranks.rank() > 0) sums[i] += x.data()[i];
        sums[i] /= static_cast<T>(ranks.count());
        if (mistake == Mistake::leaves_out_the_last && last) sums[i] = 0;
      }
      if (mistake != Mistake::keeps_to_itself) ranks.sum(std::span<T>(sums));
      std::copy(sums.begin(), sums.end(), host.data());
      Kokkos::deep_copy(output.y, host);
    }

    /// The ranks' terms are added in any order.
    [[nodiscard]] double rounding_steps() const { return Plan::FusedBlock::rounding_steps() + ranks.count() + 1; }

    ranks::Ranks const& ranks;
  };
};

std::string outcome_of_broken(Mistake mistake) {
  BrokenSums::mistake = mistake;
  App const broken = testing::with_rows(app(), {rows<TransformerBlock, BrokenSums>()});
  return testing::outcome_of(broken, 10007, DataKind::random, {}, 1);
}
bool several() { return testing::world().count() > 1; }

TEST(BrokenSums, AreRightWithoutAMistake) { EXPECT_EQ(outcome_of_broken(Mistake::none), ""); }
TEST(BrokenSums, KeepToThemselves) { EXPECT_EQ(!outcome_of_broken(Mistake::keeps_to_itself).empty(), several()); }
TEST(BrokenSums, ResidualOnAll) { EXPECT_EQ(!outcome_of_broken(Mistake::residual_on_all).empty(), several()); }
TEST(BrokenSums, LeaveOutTheLast) { EXPECT_NE(outcome_of_broken(Mistake::leaves_out_the_last), ""); }

}  // namespace
}  // namespace tessera::transformer_block
