// The rows of axis_sum on several ranks.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "../../../apps/axis_sum/problem.hpp"
#include "../rows.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::axis_sum {

App app();

namespace {

TEST(RowsOnRanks, AxisSum) {
  for (std::int64_t const axis : {0, 1}) {
    testing::expect_right_on_ranks(app(), {{{"axis", axis}}});
    for (std::int64_t const rows : {1, 2, 5, 1000}) {
      testing::expect_right_on_ranks(app(), {{{"axis", axis}, {"rows", rows}}}, static_cast<std::size_t>(rows));
    }
  }
}

// Sums of columns over ranks with a mistake. Each rank sums its rows serially.
enum class Mistake {
  none,
  keeps_to_itself,     // ignores all other ranks
  leaves_out_last,     // omits the last rank's sums
  counts_first_twice,  // uses rank 0's sums in place of the last rank's
  stale                // uses data of the previous launch
};

struct BrokenColumns {
  static inline Mistake mistake = Mistake::none;  // of launches from now on
  static constexpr VariantInfo info{.name = "broken", .level = Level::ranks, .summary = "wrong on purpose"};
  template <ExecutionSpace Exec, class T>
  struct Plan {
    Plan(Exec const&, InputOn<AxisSum, Exec, T> const& input, ranks::Part const& part)
        : ranks(part.ranks), told(input.a.extent(1)) {}

    void operator()(Exec const& exec, InputOn<AxisSum, Exec, T> const& input,
                    OutputOn<AxisSum, Exec, T> const& output) {
      auto const a = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, input.a);
      auto const out = Kokkos::create_mirror_view(output.out);
      std::vector<Accumulator<T>> own(a.extent(1));
      for (std::size_t r = 0; r < a.extent(0); ++r) {
        for (std::size_t c = 0; c < a.extent(1); ++c) own[c] += static_cast<Accumulator<T>>(a(r, c));
      }
      std::vector<std::vector<Accumulator<T>>> all = ranks.all_gather(own);
      if (mistake == Mistake::leaves_out_last) all.pop_back();
      if (mistake == Mistake::counts_first_twice) all.back() = all.front();
      std::vector<Accumulator<T>> sums(own.size());
      for (auto const& of_rank : all) {
        for (std::size_t c = 0; c < sums.size(); ++c) sums[c] += of_rank[c];
      }
      if (mistake == Mistake::keeps_to_itself) sums = own;
      if (mistake == Mistake::stale) std::swap(sums, told);
      for (std::size_t c = 0; c < sums.size(); ++c) out(c) = static_cast<T>(sums[c]);
      Kokkos::deep_copy(exec, output.out, out);
      exec.fence();
    }

    ranks::Ranks const& ranks;
    std::vector<Accumulator<T>> told;
  };
};

// One launch only: a rank whose part is wrong stops after the first launch, and the others would wait for it in the
// next.
std::string outcome_of_broken(Mistake mistake) {
  BrokenColumns::mistake = mistake;
  App const broken = testing::with_rows(app(), {rows<AxisSum, BrokenColumns>()});
  return testing::outcome_of(broken, 10007, broken.data.front(), {{"axis", std::int64_t{0}}}, 1);
}
bool is_caught(Mistake mistake) { return !outcome_of_broken(mistake).empty(); }
bool several() { return testing::world().count() > 1; }

TEST(BrokenColumns, AreRightWithoutAMistake) { EXPECT_EQ(outcome_of_broken(Mistake::none), ""); }
TEST(BrokenColumns, KeepToThemselves) { EXPECT_EQ(is_caught(Mistake::keeps_to_itself), several()); }
TEST(BrokenColumns, LeaveOutTheLast) { EXPECT_TRUE(is_caught(Mistake::leaves_out_last)); }
TEST(BrokenColumns, CountTheFirstTwice) { EXPECT_EQ(is_caught(Mistake::counts_first_twice), several()); }
TEST(BrokenColumns, Stale) { EXPECT_TRUE(is_caught(Mistake::stale)); }

}  // namespace
}  // namespace tessera::axis_sum
