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
        Runs const runs{42, static_cast<std::uint64_t>(mean)};
        testing::Moved moved(n);
        std::size_t place = 0;
        for (std::size_t i = 0; i < n; ++i) {
          bool const head = i == 0 || runs.key_of<std::int64_t>(i) != runs.key_of<std::int64_t>(i - 1);
          if (head) moved.add(moved.owner(i), place++);
        }
        std::string const name = mode;
        auto const of_key = static_cast<double>(size_of(row.dtype));  // a value is as wide
        double const of_result = name == "reduce" ? of_key : 4;
        double const fields = name == "unique" ? 1 : 2;
        double const ends = 8 + 2 * of_key + 2 * of_result;
        double const width = of_key + (name == "unique" ? 0 : of_result);
        std::string const what = testing::name_of(of_app, row) + testing::said(given);
        EXPECT_EQ(sent.messages, (1 + fields) * p * (p - 1) + fields * moved.pairs()) << what;
        EXPECT_EQ(sent.bytes, (ends + fields * 8) * p * (p - 1) + width * moved.elements()) << what;
      }
    }
  }
}

// The model counts the results of runs once: models of other lengths, modes and dtypes do not fit what ranks send.
TEST(RowsOnRanks, ReduceByKeyTrafficOfWrongModels) {
  App const of_app = app();
  for (Row const& row : of_app.rows) {
    if (row.info.level != Level::ranks || !testing::is_wanted(row) || !testing::is_wanted(row.dtype)) continue;
    auto const given = [&](char const* mode, std::int64_t mean) {
      return testing::with_defaults(of_app, of(mode, "sum", mean), testing::traffic_size);
    };
    auto const problem_case =
        of_app.generate_data(row.dtype, testing::traffic_size, 42, of_app.data.front(), given("reduce", 32));
    testing::Sent const sent = testing::sent_in_a_launch(row, *problem_case);
    auto const beside = [&](testing::Sent const& counted, ParameterMap const& model) {
      return testing::traffic_beside_model(of_app, row, counted, model);
    };
    EXPECT_EQ(beside(sent, given("reduce", 32)), "");
    if (testing::world().count() == 1) continue;  // nothing is sent
    EXPECT_NE(beside(sent, given("reduce", 16)), "");
    EXPECT_NE(beside(sent, given("reduce", 0)), "");
    EXPECT_NE(beside(sent, given("unique", 32)), "");
    testing::Sent const twice{2 * sent.bytes, sent.messages};
    EXPECT_NE(beside(twice, given("reduce", 32)), "");
  }
}

}  // namespace
}  // namespace tessera::reduce_by_key
