// The rows of conv1d on several ranks.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "../../../apps/conv1d/problem.hpp"
#include "../rows.hpp"

#include <tessera/ranks/halo.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::conv1d {

App app();

namespace {

// Kernels with one tap, as long as several ranks' blocks, and longer than the array.
TEST(RowsOnRanks, Conv1d) {
  std::vector<ParameterMap> parameters;
  for (std::int64_t const kernel : {1, 2, 4, 20, 300}) parameters.push_back({{"kernel", kernel}});
  testing::expect_right_on_ranks(app(), parameters);
}

// A correlation over ranks with a mistake in the halo; each rank applies it serially.
enum class Mistake {
  none,
  wrong_side,      // takes the elements before its own instead of those behind
  one_too_few,     // the halo's last element is missing
  neighbour_only,  // takes only the next rank's elements, although the halo spans several ranks
  swaps_ranks,     // also takes the ranks in the opposite order
  stale            // uses data of the previous launch
};

struct BrokenHalo {
  static inline Mistake mistake = Mistake::none;  // of launches from now on
  static constexpr VariantInfo info{.name = "broken", .level = Level::ranks, .summary = "wrong on purpose"};
  template <ExecutionSpace Exec, class T>
  struct Plan {
    Plan(Exec const&, InputOn<Conv1d, Exec, T> const& input, ranks::Part const& part)
        : ranks(part.ranks), n(part.input[0][0]), right(Conv1d::reach(part.input, input.parameters).behind) {}

    void operator()(Exec const& exec, InputOn<Conv1d, Exec, T> const& input, OutputOn<Conv1d, Exec, T> const& output) {
      auto const a = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, input.a);
      auto const k = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, input.k);
      auto const out = Kokkos::create_mirror_view(output.out);
      std::vector<T> values(a.data(), a.data() + a.size());
      for (T const value : beside(values)) values.push_back(value);
      for (std::size_t i = 0; i < a.size(); ++i) {
        collective::Accumulator<T> sum = 0;
        for (std::size_t j = 0; j < k.size() && i + j < values.size(); ++j) sum += product(values[i + j], k(j));
        out(i) = static_cast<T>(sum);
      }
      Kokkos::deep_copy(exec, output.out, out);
      exec.fence();
    }

    [[nodiscard]] std::vector<T> beside(std::vector<T> const& own) {
      ranks::Reach reach{.behind = right};
      if (mistake == Mistake::wrong_side) reach = {.before = right};
      if (mistake == Mistake::one_too_few) reach.behind -= 1;
      ranks::Halo halo(ranks, n, reach, sizeof(T));
      std::vector<T> before(halo.before());
      std::vector<T> behind(halo.behind());
      auto* const given = const_cast<T*>(own.data());  // data to be sent are not modified
      halo.lies_at(given, given + (own.size() - halo.tail()), before.data(), behind.data());
      halo.exchange();
      if (mistake == Mistake::wrong_side) return before;
      int const next = ranks.rank() + 1;
      std::size_t const of_next = next < ranks.count() ? ranks::block_of(n, ranks.count(), next).size() : 0;
      if (of_next < behind.size()) {
        if (mistake == Mistake::neighbour_only) behind.resize(of_next);
        if (mistake == Mistake::swaps_ranks) {
          std::rotate(behind.begin(), behind.begin() + static_cast<std::ptrdiff_t>(of_next), behind.end());
        }
      }
      if (mistake == Mistake::stale) {
        told.resize(behind.size());
        std::swap(told, behind);
      }
      return behind;
    }

    ranks::Ranks const& ranks;
    std::size_t n;
    std::size_t right;
    std::vector<T> told;
  };
};

// With a kernel of 4 taps. One launch only: a rank whose part is wrong stops after the first launch, and the others
// would wait for it in the next.
std::string outcome_of_broken(Mistake mistake, std::size_t size) {
  BrokenHalo::mistake = mistake;
  App const broken = testing::with_rows(app(), {rows<Conv1d, BrokenHalo>()});
  return testing::outcome_of(broken, size, broken.data.front(), {}, 1);
}
bool is_caught(Mistake mistake, std::size_t size) { return !outcome_of_broken(mistake, size).empty(); }

bool several() { return testing::world().count() > 1; }

TEST(BrokenHalo, IsRightWithoutAMistake) {
  EXPECT_EQ(outcome_of_broken(Mistake::none, 10007), "");
  EXPECT_EQ(outcome_of_broken(Mistake::none, 10), "");
}
TEST(BrokenHalo, WrongSide) { EXPECT_EQ(is_caught(Mistake::wrong_side, 10007), several()); }
TEST(BrokenHalo, OneTooFew) { EXPECT_EQ(is_caught(Mistake::one_too_few, 10007), several()); }
TEST(BrokenHalo, Stale) { EXPECT_EQ(is_caught(Mistake::stale, 10007), several()); }
// 10 elements on 4 ranks: [0, 3) [3, 6) [6, 8) [8, 10).
TEST(BrokenHalo, NeighbourOnly) { EXPECT_EQ(is_caught(Mistake::neighbour_only, 10), testing::world().count() > 3); }
TEST(BrokenHalo, SwapsRanks) { EXPECT_EQ(is_caught(Mistake::swaps_ranks, 10), testing::world().count() > 3); }

}  // namespace
}  // namespace tessera::conv1d
