// The rows of moving_average on several ranks.

#include <cstdint>
#include <vector>

#include "../rows.hpp"

#include <tessera/table/app.hpp>

namespace tessera::moving_average {

App app();

namespace {

// Segments that end at or near a rank's end, and segments that contain whole ranks.
TEST(RowsOnRanks, MovingAverage) {
  std::vector<ParameterMap> parameters;
  for (std::int64_t const segment : {0, 1, 2, 3, 4, 7, 1000, 40000}) parameters.push_back({{"segment", segment}});
  testing::expect_right_on_ranks(app(), parameters);
}

}  // namespace
}  // namespace tessera::moving_average
