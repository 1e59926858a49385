// The rows of lane_broadcast on several ranks.

#include <cstdint>
#include <string>
#include <vector>

#include "../rows.hpp"

#include <tessera/table/app.hpp>

namespace tessera::lane_broadcast {

App app();

namespace {

// Segments cut by a rank's end, segments that span several ranks, and one longer than the array.
TEST(RowsOnRanks, LaneBroadcast) {
  std::vector<ParameterMap> parameters;
  for (char const* const op : {"basic", "conditional", "shuffle"}) {
    for (std::int64_t const segment : {1, 2, 3, 4, 32, 33, 1000, 1024}) {
      parameters.push_back({{"op", std::string(op)}, {"segment", segment}});
    }
  }
  testing::expect_right_on_ranks(app(), parameters);
}

// The whole array: its head lies on one or several ranks, and the neighbour of each rank's last element is on another
// rank.
TEST(RowsOnRanks, LaneBroadcastOfOneSegment) {
  std::vector<ParameterMap> parameters;
  for (char const* const op : {"basic", "conditional", "shuffle"}) {
    parameters.push_back({{"op", std::string(op)}, {"segment", std::int64_t{0}}});
  }
  testing::expect_right_on_ranks(app(), parameters);
}

}  // namespace
}  // namespace tessera::lane_broadcast
