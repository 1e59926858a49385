// The rows of matmul on several ranks.

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "../../../apps/matmul/problem.hpp"
#include "../rows.hpp"

#include <tessera/ranks/part.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::matmul {

App app();

namespace {

int count() { return testing::world().count(); }

TEST(RowsOnRanks, Matmul) {
  std::vector<ParameterMap> parameters{{}};
  for (char const* const extent : {"m", "n", "k"}) {
    for (std::int64_t const n : {1, 2, 5, 1000}) parameters.push_back({{extent, n}});
  }
  testing::expect_right_on_ranks(app(), parameters);
  // Every possible grid; panels shorter than a rank's part of k.
  for (std::int64_t rows = 1; rows <= count(); ++rows) {
    if (count() % rows != 0) continue;
    for (DataKind const data : app().data) {
      EXPECT_EQ(testing::outcome_of(app(), 70001, data, {{"grid-rows", rows}}), "");
      EXPECT_EQ(testing::outcome_of(app(), 1, data, {{"grid-rows", rows}}), "");
    }
    EXPECT_EQ(testing::outcome_of(app(), 5 * 7 * 3001, DataKind::random,
                                  {{"grid-rows", rows}, {"m", std::int64_t{5}}, {"n", std::int64_t{7}}}),
              "");
  }
}

TEST(GridOfRanks, MovesTheLeastAndLeavesNoneIdle) {
  Matmul::Parameters const parameters;
  auto const grid = [&](std::size_t m, std::size_t n, int ranks) {
    return Matmul::grid({{m, 100}, {100, n}}, parameters, ranks);
  };
  EXPECT_EQ(grid(1000, 1000, 1), (ranks::Grid{1, 1}));
  EXPECT_EQ(grid(1000, 1000, 4), (ranks::Grid{2, 2}));
  EXPECT_EQ(grid(100000, 10, 4), (ranks::Grid{4, 1}));
  EXPECT_EQ(grid(10, 100000, 4), (ranks::Grid{1, 4}));
  EXPECT_EQ(grid(2, 3, 6), (ranks::Grid{2, 3}));
  EXPECT_EQ(grid(7, 1, 7), (ranks::Grid{7, 1}));
  EXPECT_EQ(grid(0, 0, 6).down * grid(0, 0, 6).across, 6);
  EXPECT_THROW((void)Matmul::grid({{9, 9}, {9, 9}}, {.grid_rows = 3}, 4), UserError);
  EXPECT_EQ(Matmul::grid({{9, 9}, {9, 9}}, {.grid_rows = 3}, 6), (ranks::Grid{3, 2}));
}

// A product over a grid of ranks with a mistake. All ranks receive a and b and multiply serially, panel by panel.
enum class Mistake {
  none,
  keeps_to_itself,  // uses only its own blocks
  leaves_out_last,  // omits the last panel
  stale,            // uses the previous panel
  overwrites,       // overwrites the sums of previous panels
  swaps_ranks,      // uses the rows of the farthest rank in its column
  swaps_columns     // the same for columns
};

struct BrokenPanels {
  static inline Mistake mistake = Mistake::none;  // of launches from now on
  static constexpr VariantInfo info{.name = "broken", .level = Level::ranks, .summary = "wrong on purpose"};
  template <ExecutionSpace Exec, class T>
  struct Plan {
    Plan(Exec const&, InputOn<Matmul, Exec, T> const& input, ranks::Part const& part)
        : ranks(part.ranks),
          grid(Matmul::grid(part.input, input.parameters, part.ranks.count())),
          m(part.input[0][0]),
          k(part.input[0][1]),
          n(part.input[1][1]) {}

    void operator()(Exec const& exec, InputOn<Matmul, Exec, T> const& input, OutputOn<Matmul, Exec, T> const& output) {
      std::vector<T> const a = all_of(m, k, input.a);
      std::vector<T> const b = all_of(k, n, input.b);
      auto const c = Kokkos::create_mirror_view(output.c);
      auto const box = [&](int row, int col) {
        return ranks::Box{ranks::block_of(m, grid.down, row), ranks::block_of(n, grid.across, col)};
      };
      int const row = ranks.rank() / grid.across;
      int const col = ranks.rank() % grid.across;
      ranks::Box const own = box(row, col);
      ranks::Box const of = box(mistake == Mistake::swaps_ranks ? grid.down - 1 - row : row,
                                mistake == Mistake::swaps_columns ? grid.across - 1 - col : col);
      Kokkos::deep_copy(c, T(0));
      std::size_t const width = 4;
      for (std::size_t begin = 0; begin < k; begin += width) {
        if (mistake == Mistake::leaves_out_last && begin + width >= k) break;
        std::size_t const first = mistake == Mistake::stale && begin > 0 ? begin - width : begin;
        for (std::size_t i = 0; i < std::min(own.rows.size(), of.rows.size()); ++i) {
          for (std::size_t j = 0; j < std::min(own.cols.size(), of.cols.size()); ++j) {
            Accumulator<T> sum = mistake == Mistake::overwrites ? 0 : static_cast<Accumulator<T>>(c(i, j));
            for (std::size_t l = first; l < std::min(k, first + width); ++l) {
              sum += collective::product(a[(of.rows.begin + i) * k + l], b[l * n + of.cols.begin + j]);
            }
            c(i, j) = static_cast<T>(sum);
          }
        }
      }
      Kokkos::deep_copy(exec, output.c, c);
      exec.fence();
    }

    template <class View>
    [[nodiscard]] std::vector<T> all_of(std::size_t rows, std::size_t cols, View const& block) const {
      auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, block);
      ranks::Box const own = ranks::box_of({rows, cols}, Split::grid, grid, ranks);
      std::vector<T> all(rows * cols);
      for (std::size_t i = 0; i < own.rows.size(); ++i) {
        for (std::size_t j = 0; j < own.cols.size(); ++j) {
          all[(own.rows.begin + i) * cols + own.cols.begin + j] = host(i, j);
        }
      }
      if (mistake != Mistake::keeps_to_itself) ranks.sum(std::span<T>(all));
      return all;
    }

    ranks::Ranks const& ranks;
    ranks::Grid grid;
    std::size_t m;
    std::size_t k;
    std::size_t n;
  };
};

// One launch only: a rank whose part is wrong stops after the first launch, and the others would wait for it in the
// next.
std::string outcome_of_broken(Mistake mistake, ParameterMap const& given = {}) {
  BrokenPanels::mistake = mistake;
  App const broken = testing::with_rows(app(), {rows<Matmul, BrokenPanels>()});
  return testing::outcome_of(broken, 10007, DataKind::exact, given, 1);
}
bool is_caught(Mistake mistake, ParameterMap const& given = {}) { return !outcome_of_broken(mistake, given).empty(); }

TEST(BrokenPanels, AreRightWithoutAMistake) { EXPECT_EQ(outcome_of_broken(Mistake::none), ""); }
TEST(BrokenPanels, KeepToThemselves) { EXPECT_EQ(is_caught(Mistake::keeps_to_itself), count() > 1); }
TEST(BrokenPanels, LeaveOutTheLast) { EXPECT_TRUE(is_caught(Mistake::leaves_out_last)); }
TEST(BrokenPanels, Stale) { EXPECT_TRUE(is_caught(Mistake::stale)); }
TEST(BrokenPanels, Overwrite) { EXPECT_TRUE(is_caught(Mistake::overwrites)); }
TEST(BrokenPanels, SwapRanks) {
  EXPECT_EQ(is_caught(Mistake::swaps_ranks, {{"grid-rows", std::int64_t{count()}}}), count() > 1);
}
TEST(BrokenPanels, SwapColumns) {
  EXPECT_EQ(is_caught(Mistake::swaps_columns, {{"grid-rows", std::int64_t{1}}}), count() > 1);
}

}  // namespace
}  // namespace tessera::matmul
