// The rows of partition on several ranks.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "../../../apps/partition/problem.hpp"
#include "../rows.hpp"

#include <tessera/ranks/part.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::partition {

App app();

namespace {

// Both sides; only right elements; only left elements; and one segment longer than the array (at least one element,
// because an empty array has no segment).
TEST(RowsOnRanks, Partition) {
  testing::expect_right_on_ranks(app(), {{}, {{"pivot", -1e9}}, {{"pivot", 1e9}}});
  testing::expect_right_on_ranks(app(), {{{"pivot", 0.5}, {"segment", std::int64_t{100000}}}}, 1);
}

// Rows refuse several segments and no segment. Without elements the row for both sides has nothing to do and passes.
TEST(RowsOnRanks, PartitionOfSegmentsIsSkipped) {
  ParameterMap const given{{"segment", std::int64_t{7}}};
  std::string const many = testing::outcome_of(app(), 1000, DataKind::random, given, 1);
  EXPECT_NE(many.find("skipped: segments of 7"), std::string::npos) << many;
  EXPECT_NE(many.find("skipped: 143 segments"), std::string::npos) << many;
  std::string const none = testing::outcome_of(app(), 0, DataKind::random, given, 1);
  EXPECT_NE(none.find("distributed_compact"), std::string::npos) << none;
  EXPECT_NE(none.find("skipped: 0 segments"), std::string::npos) << none;
  EXPECT_EQ(none.find("distributed/"), std::string::npos) << none;
}

// The reference of a part, which no row compares if there are several segments: each value must be on its side of the
// pivot, and the counts must be those of the whole array.
TEST(ReferenceOfPart, OfSegmentsOfPartition) {
  constexpr std::size_t n = 1000;
  for (std::size_t const segment : {1, 2, 7, 100, 999, 1000}) {
    ParameterMap const given{{"segment", static_cast<std::int64_t>(segment)}};
    auto const problem_case =
        app().generate_data(DType::float32, n, 42, DataKind::random, testing::with_defaults(app(), given));
    std::vector<ExpectedField> const fields = problem_case->reference();
    ranks::Block const own = testing::world().block(n);
    ASSERT_EQ(fields.at(0).value.size(), own.size());
    bool right = fields.at(1).value.size() == (n + segment - 1) / segment;
    double lefts = 0;
    for (std::size_t i = 0; i < own.size(); ++i) {
      std::size_t const at = own.begin + i;
      right = right && (fields[0].value[i] < 0) == (static_cast<double>(at % segment) < fields[1].value[at / segment]);
      lefts += fields[0].value[i] < 0 ? 1 : 0;
    }
    for (double const count : fields[1].value) lefts -= testing::world().first() ? count : 0;
    EXPECT_TRUE(right) << "segments of " << segment;
    EXPECT_EQ(testing::world().sum(lefts), 0) << "segments of " << segment;
  }
}

// Positions over ranks with a mistake. Each rank finds the positions of its elements serially, and all ranks receive
// all of them.
enum class Mistake {
  none,
  includes_itself,    // uses an inclusive scan over the ranks' counts
  swaps_ranks,        // uses the counts of the following ranks instead of the previous ones
  forgets_the_total,  // right elements begin behind the left ones of ranks up to this one
  stale,              // uses data of the previous launch
  stays,              // a rank's left elements go to its own first positions
  fills_the_rest      // a compaction also writes the right elements
};

// With both sides, or as a compaction.
template <bool compacts>
struct BrokenPlaces {
  static inline Mistake mistake = Mistake::none;  // of launches from now on
  static constexpr VariantInfo info{.name = "broken", .level = Level::ranks, .summary = "wrong on purpose"};
  template <ExecutionSpace Exec, class T>
  struct Plan {
    struct Moved {
      std::size_t to;
      T value;
    };

    Plan(Exec const&, InputOn<Partition, Exec, T> const& input, ranks::Part const& part)
        : ranks(part.ranks), n(part.input[0][0]), pivot(input.parameters.pivot) {}

    void operator()(Exec const& exec, InputOn<Partition, Exec, T> const& input,
                    OutputOn<Partition, Exec, T> const& output) {
      auto const in = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, input.in);
      auto const values = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, output.values);  // a part stays
      std::size_t own_lefts = 0;
      for (std::size_t i = 0; i < in.extent(0); ++i) own_lefts += is_left(in(i)) ? 1 : 0;
      auto const [before, total] = counts(own_lefts);
      ranks::Block const own = ranks.block(n);
      std::vector<Moved> moved(ranks::block_of(n, ranks.count(), 0).size(), Moved{n, T(0)});  // as many on all ranks
      std::size_t lefts = before;
      for (std::size_t i = 0; i < in.extent(0); ++i) {
        std::size_t const to = is_left(in(i)) ? lefts : total + own.begin + i - lefts;
        bool const writes = !compacts || is_left(in(i)) || mistake == Mistake::fills_the_rest;
        moved[i] = {writes ? to % n : n, in(i)};  // a mistake must not write outside the array
        lefts += is_left(in(i)) ? 1 : 0;
      }
      for (auto const& of_rank : ranks.all_gather(moved)) {
        for (Moved const& element : of_rank) {
          if (own.begin <= element.to && element.to < own.end) values(element.to - own.begin) = element.value;
        }
      }
      Kokkos::deep_copy(exec, output.values, values);
      Kokkos::deep_copy(exec, output.left_count, static_cast<std::int64_t>(sum));
      exec.fence();
    }

    [[nodiscard]] std::vector<WrittenField> outputs() const {
      if (!compacts) return {};
      return {{.field = "values", .count_field = "left_count", .first = ranks.block(n).begin}, {.field = "left_count"}};
    }

    [[nodiscard]] bool is_left(T value) const { return static_cast<double>(value) < pivot; }

    // Counts of the previous ranks, and of all ranks.
    [[nodiscard]] std::pair<std::size_t, std::size_t> counts(std::size_t own) {
      std::vector<std::size_t> const all = ranks.all_gather(own);
      auto const rank = static_cast<std::size_t>(ranks.rank());
      std::size_t before = 0;
      std::size_t behind = 0;
      for (std::size_t r = 0; r < rank; ++r) before += all[r];
      for (std::size_t r = rank + 1; r < all.size(); ++r) behind += all[r];
      sum = before + own + behind;
      std::size_t result = mistake == Mistake::swaps_ranks ? behind : before;
      if (mistake == Mistake::includes_itself) result += own;
      if (mistake == Mistake::stale) std::swap(result, told);
      if (mistake == Mistake::stays) result = ranks.block(n).begin;
      return {result, mistake == Mistake::forgets_the_total ? before + own : sum};
    }

    ranks::Ranks const& ranks;
    std::size_t n;
    double pivot;
    std::size_t sum = 0;
    std::size_t told = 0;
  };
};

// One launch only: a rank whose part is wrong stops after the first launch, and the others would wait for it in the
// next.
template <bool compacts = false>
std::string outcome_of_broken(Mistake mistake) {
  BrokenPlaces<compacts>::mistake = mistake;
  // Not only a list: nvcc then writes an initialisation that g++ refuses.
  App const broken = testing::with_rows(app(), std::vector<VariantRows>{rows<Partition, BrokenPlaces<compacts>>()});
  return testing::outcome_of(broken, 10007, DataKind::random, {}, 1);
}
template <bool compacts = false>
bool is_caught(Mistake mistake) {
  return !outcome_of_broken<compacts>(mistake).empty();
}
bool several() { return testing::world().count() > 1; }

TEST(BrokenPlaces, AreRightWithoutAMistake) { EXPECT_EQ(outcome_of_broken(Mistake::none), ""); }
TEST(BrokenPlaces, IncludeThemselves) { EXPECT_TRUE(is_caught(Mistake::includes_itself)); }
TEST(BrokenPlaces, SwapRanks) { EXPECT_EQ(is_caught(Mistake::swaps_ranks), several()); }
TEST(BrokenPlaces, ForgetTheTotal) { EXPECT_EQ(is_caught(Mistake::forgets_the_total), several()); }
TEST(BrokenPlaces, Stale) { EXPECT_EQ(is_caught(Mistake::stale), several()); }

TEST(BrokenCompaction, IsRightWithoutAMistake) { EXPECT_EQ(outcome_of_broken<true>(Mistake::none), ""); }
TEST(BrokenCompaction, IncludesItself) { EXPECT_TRUE(is_caught<true>(Mistake::includes_itself)); }
TEST(BrokenCompaction, SwapsRanks) { EXPECT_EQ(is_caught<true>(Mistake::swaps_ranks), several()); }
TEST(BrokenCompaction, Stale) { EXPECT_EQ(is_caught<true>(Mistake::stale), several()); }
TEST(BrokenCompaction, StaysWhereItWas) { EXPECT_EQ(is_caught<true>(Mistake::stays), several()); }
TEST(BrokenCompaction, FillsTheRest) { EXPECT_TRUE(is_caught<true>(Mistake::fills_the_rest)); }

}  // namespace
}  // namespace tessera::partition
