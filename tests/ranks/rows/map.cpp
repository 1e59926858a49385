// The rows of map on several ranks.

#include <string>

#include "../rows.hpp"

#include <tessera/table/app.hpp>

namespace tessera::map {

App app();

namespace {

TEST(RowsOnRanks, Map) { testing::expect_right_on_ranks(app(), {{}}); }

// On several ranks, rows for one rank must report that they do not apply.
TEST(RowsOfOneRank, AreSkippedOnSeveral) {
  App const map = app();
  for (Row const& row : map.rows) {
    if (row.info.level == Level::ranks) continue;
    auto const problem_case = map.generate(row.dtype, 1000, 1, testing::with_defaults(map, {}));
    std::string const outcome = testing::run_row(row, *problem_case, problem_case->reference(), 1);
    EXPECT_EQ(outcome.starts_with("skipped: it runs on one rank"), testing::world().count() > 1) << outcome;
  }
}

}  // namespace
}  // namespace tessera::map
