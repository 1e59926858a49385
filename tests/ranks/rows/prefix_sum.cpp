// The rows of prefix_sum on several ranks.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "../../../apps/prefix_sum/problem.hpp"
#include "../rows.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::prefix_sum {

App app();

namespace {

TEST(RowsOnRanks, PrefixSum) {
  std::vector<ParameterMap> parameters;
  for (char const* const op : {"sum", "max", "min"}) {
    for (bool const exclusive : {false, true}) {
      for (std::int64_t const segment : {0, 1, 3, 1000, 40000}) {
        parameters.push_back({{"op", std::string(op)}, {"exclusive", exclusive}, {"segment", segment}});
      }
    }
  }
  testing::expect_right_on_ranks(app(), parameters);
}

// A scan over ranks with a mistake. Each rank scans its block serially.
enum class Mistake {
  none,
  keeps_to_itself,  // ignores all other ranks
  includes_itself,  // uses an inclusive scan over the ranks
  takes_neighbour,  // adds only the total of the previous rank
  swaps_ranks,      // adds the totals of the following ranks
  stale             // uses data of the previous launch
};

struct BrokenScan {
  static inline Mistake mistake = Mistake::none;  // of launches from now on
  static constexpr VariantInfo info{.name = "broken", .level = Level::ranks, .summary = "wrong on purpose"};
  template <ExecutionSpace Exec, class T>
  struct Plan {
    Plan(Exec const&, InputOn<PrefixSum, Exec, T> const&, ranks::Part const& part) : ranks(part.ranks) {}

    void operator()(Exec const& exec, InputOn<PrefixSum, Exec, T> const& input,
                    OutputOn<PrefixSum, Exec, T> const& output) {
      auto const in = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, input.in);
      auto const out = Kokkos::create_mirror_view(output.out);
      T total = 0;
      for (std::size_t i = 0; i < in.extent(0); ++i) total += in(i);
      std::vector<T> const all = ranks.all_gather(total);
      T sum = before(all);
      for (std::size_t i = 0; i < in.extent(0); ++i) out(i) = sum += in(i);
      Kokkos::deep_copy(exec, output.out, out);
      exec.fence();
    }

    [[nodiscard]] T before(std::vector<T> const& totals) {
      auto const own = static_cast<std::size_t>(ranks.rank());
      T sum = 0;
      std::size_t const end = mistake == Mistake::includes_itself ? own + 1 : own;
      for (std::size_t r = mistake == Mistake::swaps_ranks ? own + 1 : 0;
           r < (mistake == Mistake::swaps_ranks ? totals.size() : end); ++r) {
        if (mistake == Mistake::takes_neighbour && r + 1 != own) continue;
        sum += totals[r];
      }
      if (mistake == Mistake::keeps_to_itself) sum = 0;
      if (mistake == Mistake::stale) std::swap(sum, told);
      return sum;
    }

    ranks::Ranks const& ranks;
    T told = 0;
  };
};

std::string outcome_of_broken(Mistake mistake, std::size_t size) {
  BrokenScan::mistake = mistake;
  App const broken = testing::with_rows(app(), {rows<PrefixSum, BrokenScan>()});
  // One launch only: a rank whose part is wrong stops after the first launch, and the others would wait for it in the
  // next.
  return testing::outcome_of(broken, size, broken.data.front(), {}, 1);
}

TEST(BrokenScan, IsRightWithoutAMistake) { EXPECT_EQ(outcome_of_broken(Mistake::none, 10007), ""); }
TEST(BrokenScan, KeepsToItself) {
  if (testing::world().count() > 1) {
    EXPECT_NE(outcome_of_broken(Mistake::keeps_to_itself, 10007), "");
  }
}
TEST(BrokenScan, IncludesItself) { EXPECT_NE(outcome_of_broken(Mistake::includes_itself, 10007), ""); }
TEST(BrokenScan, TakesNeighbour) {
  if (testing::world().count() > 2) {
    EXPECT_NE(outcome_of_broken(Mistake::takes_neighbour, 10007), "");
  }
}
TEST(BrokenScan, SwapsRanks) {
  if (testing::world().count() > 1) {
    EXPECT_NE(outcome_of_broken(Mistake::swaps_ranks, 10007), "");
  }
}
TEST(BrokenScan, Stale) {
  if (testing::world().count() > 1) {
    EXPECT_NE(outcome_of_broken(Mistake::stale, 10007), "");
  }
}

}  // namespace
}  // namespace tessera::prefix_sum
