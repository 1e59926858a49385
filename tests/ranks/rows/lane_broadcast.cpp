// The rows of lane_broadcast on several ranks.

#include <cstdint>
#include <string>
#include <vector>

#include "../rows.hpp"

#include <tessera/table/app.hpp>

namespace tessera::lane_broadcast {

App app();

namespace {

// Segments that ranks' ends cut, those of several ranks, and one that is longer than the array.
TEST(RowsOnRanks, LaneBroadcast) {
  std::vector<ParameterMap> parameters;
  for (char const* const op : {"basic", "conditional", "shuffle"}) {
    for (std::int64_t const segment : {1, 2, 3, 4, 32, 33, 1000, 1024}) {
      parameters.push_back({{"op", std::string(op)}, {"segment", segment}});
    }
  }
  testing::expect_right_on_ranks(app(), parameters);
}

TEST(RowsOnRanks, LaneBroadcastOfOneSegment) {
  std::string const outcome = testing::outcome_of(app(), 1000, DataKind::random,
                                                  {{"op", std::string("basic")}, {"segment", std::int64_t{0}}}, 1);
  EXPECT_EQ(outcome.find("skipped: segment 0") != std::string::npos, testing::world().count() > 1) << outcome;
}

}  // namespace
}  // namespace tessera::lane_broadcast
