// The rows of reduce_by_key on several ranks.

#include <cstdint>
#include <string>

#include "../../../apps/reduce_by_key/problem.hpp"
#include "../rows.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::reduce_by_key {

App app();

namespace {

ParameterMap of(char const* mode, char const* op, std::int64_t mean) {
  return {{"mode", std::string(mode)}, {"op", std::string(op)}, {"mean", mean}};
}

// One run crosses all ranks (a mean of 0); runs cross some or none of few elements; each element is a run.
TEST(RowsOnRanks, ReduceByKey) {
  testing::expect_right_on_ranks(app(), {of("reduce", "sum", 32), of("reduce", "sum", 0), of("reduce", "sum", 1),
                                         of("reduce", "max", 2), of("reduce", "min", 256)});
}

TEST(RowsOnRanks, ReduceByKeyToLengthsAndKeys) {
  testing::expect_right_on_ranks(
      app(), {of("lengths", "sum", 2), of("lengths", "sum", 0), of("unique", "sum", 2), of("unique", "sum", 0)});
}

// Ranks tell each other their first and last runs, and how many runs they have. Each run's key and result are sent at
// most once: from the rank on which the run begins to the rank that owns its place.
TEST(RowsOnRanks, ReduceByKeySendsResultsOnce) {
  std::size_t const n = 10007;
  auto const p = static_cast<double>(testing::world().count());
  App const of_app = app();
  for (Row const& row : of_app.rows) {
    if (row.info.level != Level::ranks || !testing::is_wanted(row.dtype)) continue;
    for (char const* const mode : {"reduce", "lengths", "unique"}) {
      for (std::int64_t const mean : {0, 1, 2, 32}) {
        ParameterMap const given = testing::with_defaults(of_app, of(mode, "sum", mean));
        auto const problem_case = of_app.generate_data(row.dtype, n, 42, of_app.data.front(), given);
        testing::Sent const sent = testing::sent_in_a_launch(row, *problem_case);
        auto const keys = testing::joined_blocks<std::int32_t>(problem_case->input().front());
        testing::Moved moved(n);
        std::size_t place = 0;
        for (std::size_t i = 0; i < n; ++i) {
          if (i == 0 || keys[i] != keys[i - 1]) moved.add(moved.owner(i), place++);
        }
        std::string const name = mode;
        double const of_result = name == "reduce" ? static_cast<double>(size_of(row.dtype)) : 4;
        double const fields = name == "unique" ? 1 : 2;
        double const ends = 16 + 2 * of_result;
        double const width = 4 + (name == "unique" ? 0 : of_result);
        std::string const what = testing::name_of(of_app, row) + testing::said(given);
        EXPECT_EQ(sent.messages, (1 + fields) * p * (p - 1) + fields * moved.pairs()) << what;
        EXPECT_EQ(sent.bytes, (ends + fields * 8) * p * (p - 1) + width * moved.elements()) << what;
      }
    }
  }
}

}  // namespace
}  // namespace tessera::reduce_by_key
