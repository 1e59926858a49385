// The rows of softmax on several ranks.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "../../../apps/softmax/problem.hpp"
#include "../rows.hpp"

#include <tessera/collective/online_sum.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::softmax {

App app();

namespace {

TEST(RowsOnRanks, Softmax) {
  for (char const* const axis : {"all", "rows", "cols"}) {
    testing::expect_right_on_ranks(app(), {{{"axis", std::string(axis)}}});
    for (std::int64_t const rows : {1, 2, 5, 1000}) {
      testing::expect_right_on_ranks(app(), {{{"axis", std::string(axis)}, {"rows", rows}}},
                                     static_cast<std::size_t>(rows));
    }
  }
}

// A softmax of all elements over ranks with a mistake. Each rank processes its part serially.
enum class Mistake {
  none,
  keeps_to_itself,     // ignores all other ranks
  adds_as_they_are,    // adds the ranks' sums, although each is relative to its own maximum
  empty_rank_has_one,  // a rank without elements contributes a 0
  stale                // uses data of the previous launch
};

struct BrokenSoftmax {
  static inline Mistake mistake = Mistake::none;  // of launches from now on
  static constexpr VariantInfo info{.name = "broken", .level = Level::ranks, .summary = "wrong on purpose"};
  template <ExecutionSpace Exec, class T>
    requires std::is_floating_point_v<T>
  struct Plan {
    using Sum = collective::OnlineSum<T>;

    Plan(Exec const&, InputOn<Softmax, Exec, T> const&, ranks::Part const& part) : ranks(part.ranks) {}

    void operator()(Exec const& exec, InputOn<Softmax, Exec, T> const& input,
                    OutputOn<Softmax, Exec, T> const& output) {
      auto const x = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, input.x);
      auto const y = Kokkos::create_mirror_view(output.y);
      Sum own;
      for (std::size_t i = 0; i < x.size(); ++i) own.add(x.data()[i]);
      if (mistake == Mistake::empty_rank_has_one && x.size() == 0) own.add(T(0));
      Sum sum = of_all(own);
      if (mistake == Mistake::stale) std::swap(sum, told);
      for (std::size_t i = 0; i < x.size(); ++i) {
        y.data()[i] = collective::exp_nonpositive(x.data()[i] - sum.max) * sum.inverse();
      }
      Kokkos::deep_copy(exec, output.y, y);
      exec.fence();
    }

    [[nodiscard]] Sum of_all(Sum const& own) const {
      if (mistake == Mistake::keeps_to_itself) return own;
      if (mistake == Mistake::adds_as_they_are) {
        return ranks.fold(own,
                          [](Sum const& a, Sum const& b) { return Sum{a.max > b.max ? a.max : b.max, a.sum + b.sum}; });
      }
      return ranks.fold(own, collective::MergeOnlineSums<T>{});
    }

    ranks::Ranks const& ranks;
    Sum told;
  };
};

// `size` elements in as many rows: random values in [-8, 8). One launch only: a rank whose part is wrong stops after
// the first launch, and the others would wait for it in the next.
std::string outcome_of_broken(Mistake mistake, std::int64_t size) {
  BrokenSoftmax::mistake = mistake;
  App const broken = testing::with_rows(app(), {rows<Softmax, BrokenSoftmax>()});
  ParameterMap const given{{"axis", std::string("all")}, {"rows", size}};
  return testing::outcome_of(broken, static_cast<std::size_t>(size), DataKind::random, given, 1);
}
bool is_caught(Mistake mistake, std::int64_t size) { return !outcome_of_broken(mistake, size).empty(); }
int count() { return testing::world().count(); }

TEST(BrokenSoftmax, IsRightWithoutAMistake) {
  EXPECT_EQ(outcome_of_broken(Mistake::none, 1000), "");
  EXPECT_EQ(outcome_of_broken(Mistake::none, 2), "");
}
TEST(BrokenSoftmax, KeepsToItself) { EXPECT_EQ(is_caught(Mistake::keeps_to_itself, 1000), count() > 1); }
TEST(BrokenSoftmax, AddsAsTheyAre) { EXPECT_EQ(is_caught(Mistake::adds_as_they_are, 1000), count() > 1); }
TEST(BrokenSoftmax, EmptyRankHasOne) { EXPECT_EQ(is_caught(Mistake::empty_rank_has_one, 2), count() > 2); }
TEST(BrokenSoftmax, Stale) { EXPECT_TRUE(is_caught(Mistake::stale, 1000)); }

}  // namespace
}  // namespace tessera::softmax
