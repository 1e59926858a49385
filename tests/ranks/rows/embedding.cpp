// The rows of embedding on several ranks.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "../../../apps/embedding/problem.hpp"
#include "../rows.hpp"

#include <tessera/ranks/part.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::embedding {

App app();

namespace {

using Int = std::int64_t;

ParameterMap in_rows(ParameterMap given) {
  given["table"] = std::string("rows");
  return given;
}

TEST(RowsOnRanks, Embedding) { testing::expect_right_on_ranks(app(), {{}}); }

// Tables with one row that all ranks need, and with fewer, as many and more rows than ranks; rows that are whole packs
// or not; one sequence, so that all ranks but one have no index; no indices at all.
TEST(RowsOnRanks, EmbeddingOfATableInRows) {
  EXPECT_EQ(testing::outcome_of(app(), 70001, DataKind::random, in_rows({})), "");
  EXPECT_EQ(testing::outcome_of(app(), 10007, DataKind::random, in_rows({{"width", Int{1}}, {"batch", Int{1}}})), "");
  EXPECT_EQ(testing::outcome_of(app(), 0, DataKind::random, in_rows({{"width", Int{5}}})), "");
  for (Int const rows : {1, 3, 7, 50}) {
    for (Int const width : {1, 5, 8}) {
      ParameterMap const given = in_rows({{"vocabulary", rows}, {"width", width}});
      EXPECT_EQ(testing::outcome_of(app(), 8, DataKind::random, given), "");
      EXPECT_EQ(testing::outcome_of(app(), 1000, DataKind::adversarial, given), "");
    }
  }
}

// The memory need is known before the run: a table distributed by rows exists once, a whole table once per rank.
TEST(MemoryOnRanks, EmbeddingHasTheTableOnEachOrInRows) {
  auto const on_each = [](std::string const& where) {
    ParameterMap const given{{"table", where}, {"vocabulary", Int{50}}, {"width", Int{8}}};
    return app()
        .footprint_of_size(testing::dtypes_of_this_build().front(), 64, testing::with_defaults(app(), given))
        .input_bytes_on_each;
  };
  auto const element = static_cast<double>(size_of(testing::dtypes_of_this_build().front()));
  EXPECT_EQ(on_each("whole"), 50 * 8 * element);
  EXPECT_EQ(on_each("rows"), 0);
}

// An all-to-all exchange of rows with a mistake. Each rank asks and answers serially.
enum class Mistake {
  none,
  swaps_ranks,      // takes the rows of the ranks in the opposite order
  skips_empty,      // a rank that needs nothing sends nothing
  keeps_to_itself,  // knows only its own rows
  clamps,           // replaces a missing row by the nearest one
  stale,            // uses the rows of the previous launch
  keeps_numbers     // keeps the indices from its construction
};

struct BrokenRows {
  static inline Mistake mistake = Mistake::none;  // of launches from now on
  static constexpr VariantInfo info{.name = "broken", .level = Level::ranks, .summary = "wrong on purpose"};
  template <ExecutionSpace Exec, class T>
  struct Plan {
    Plan(Exec const&, InputOn<Embedding, Exec, T> const& input, ranks::Part const& part)
        : ranks(part.ranks), rows(part.input[1][0]), width(part.input[1][1]), numbers(numbers_of(input)) {}

    [[nodiscard]] static std::vector<std::int32_t> numbers_of(InputOn<Embedding, Exec, T> const& input) {
      auto const idx = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, input.idx);
      return {idx.data(), idx.data() + idx.size()};
    }

    void operator()(Exec const& exec, InputOn<Embedding, Exec, T> const& input,
                    OutputOn<Embedding, Exec, T> const& output) {
      auto const w = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, input.w);
      auto const out = Kokkos::create_mirror_view(output.out);
      if (mistake != Mistake::keeps_numbers) numbers = numbers_of(input);
      auto const count = static_cast<std::size_t>(ranks.count());
      std::vector<std::vector<std::size_t>> wanted(count);  // per rank, counted from its first row
      std::vector<std::vector<std::size_t>> places(count);
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        std::int64_t number = numbers[i];
        auto const last = static_cast<std::int64_t>(rows) - 1;
        if (mistake == Mistake::clamps) number = std::clamp<std::int64_t>(number, 0, last);
        if (number < 0 || number > last) continue;
        auto const row = static_cast<std::size_t>(number);
        int const owner = ranks::owner_of(row, rows, ranks.count());
        wanted[static_cast<std::size_t>(owner)].push_back(row - ranks::block_of(rows, ranks.count(), owner).begin);
        places[static_cast<std::size_t>(owner)].push_back(i);
      }
      auto const asked = exchanged(wanted);
      std::vector<std::vector<T>> answers(count);
      for (std::size_t r = 0; r < count; ++r) {
        for (std::size_t const row : asked[r]) {
          for (std::size_t e = 0; e < width; ++e) answers[r].push_back(w(row, e));
        }
      }
      auto const got = exchanged(answers);
      std::vector<std::size_t> const wants = ranks.all_gather(numbers.size());
      std::vector<T> all;  // in rank order
      for (std::size_t r = 0; r < count; ++r) {
        auto const& of_rank = got[mistake == Mistake::swaps_ranks ? count - 1 - r : r];
        bool const nothing = (mistake == Mistake::skips_empty && wants[r] == 0) ||
                             (mistake == Mistake::keeps_to_itself && static_cast<int>(r) != ranks.rank());
        if (nothing) {
          all.insert(all.end(), of_rank.size(), T(0));
        } else {
          all.insert(all.end(), of_rank.begin(), of_rank.end());
        }
      }
      if (mistake == Mistake::stale) {
        told.resize(all.size());
        std::swap(all, told);
      }
      Kokkos::deep_copy(out, T(0));
      auto next = all.begin();
      for (auto const& of_rank : places) {
        for (std::size_t const place : of_rank) {
          for (std::size_t e = 0; e < width; ++e) out.data()[place * width + e] = *next++;
        }
      }
      Kokkos::deep_copy(exec, output.out, out);
      exec.fence();
    }

    // One list to each rank, and one from each rank.
    template <class Value>
    [[nodiscard]] std::vector<std::vector<Value>> exchanged(std::vector<std::vector<Value>>& lists) const {
      auto const own = static_cast<std::size_t>(ranks.rank());
      std::vector<std::size_t> lengths;
      for (auto const& list : lists) lengths.push_back(list.size());
      std::vector<std::vector<std::size_t>> const lengths_of_all = ranks.all_gather(lengths);
      std::vector<std::vector<Value>> got(lists.size());
      std::vector<ranks::Message> sent;
      std::vector<ranks::Message> received;
      for (std::size_t r = 0; r < lists.size(); ++r) {
        got[r].resize(lengths_of_all[r][own]);
        sent.push_back({static_cast<int>(r), lists[r].data(), lists[r].size() * sizeof(Value)});
        received.push_back({static_cast<int>(r), got[r].data(), got[r].size() * sizeof(Value)});
      }
      ranks.exchange(sent, received);
      return got;
    }

    ranks::Ranks const& ranks;
    std::size_t rows;
    std::size_t width;
    std::vector<std::int32_t> numbers;
    std::vector<T> told;
  };
};

// One launch, or two if the mistake shows only in the second. A rank whose part is wrong stops, and the others would
// wait for it in the next launch.
std::string outcome_of_broken(Mistake mistake, ParameterMap const& given = {}, int launches = 1) {
  BrokenRows::mistake = mistake;
  App const broken = testing::with_rows(app(), {rows<Embedding, BrokenRows>()});
  ParameterMap table = in_rows(given);
  table["vocabulary"] = Int{50};
  table["width"] = Int{5};
  return testing::outcome_of(broken, 10000, DataKind::random, table, launches);
}
bool is_caught(Mistake mistake, ParameterMap const& given = {}, int launches = 1) {
  return !outcome_of_broken(mistake, given, launches).empty();
}
bool several() { return testing::world().count() > 1; }

TEST(BrokenRows, AreRightWithoutAMistake) {
  EXPECT_EQ(outcome_of_broken(Mistake::none, {}, 2), "");
  EXPECT_EQ(outcome_of_broken(Mistake::none, {{"batch", Int{1}}}, 2), "");
}
TEST(BrokenRows, SwapRanks) { EXPECT_EQ(is_caught(Mistake::swaps_ranks), several()); }
TEST(BrokenRows, SkipEmpty) { EXPECT_EQ(is_caught(Mistake::skips_empty, {{"batch", Int{1}}}), several()); }
TEST(BrokenRows, KeepToThemselves) { EXPECT_EQ(is_caught(Mistake::keeps_to_itself), several()); }
TEST(BrokenRows, Clamp) { EXPECT_TRUE(is_caught(Mistake::clamps)); }
TEST(BrokenRows, Stale) { EXPECT_TRUE(is_caught(Mistake::stale)); }
TEST(BrokenRows, KeepNumbers) {
  EXPECT_EQ(outcome_of_broken(Mistake::keeps_numbers), "");
  EXPECT_TRUE(is_caught(Mistake::keeps_numbers, {}, 2));
}

}  // namespace
}  // namespace tessera::embedding
