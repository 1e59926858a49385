// The rows of pooling on several ranks.

#include <cstdint>
#include <string>
#include <vector>

#include "../rows.hpp"

#include <tessera/table/app.hpp>

namespace tessera::pooling {

App app();

namespace {

// Windows of one element, as long as several ranks' blocks, and longer than the array.
TEST(RowsOnRanks, Pooling) {
  std::vector<ParameterMap> parameters;
  for (char const* const op : {"sum", "mean", "max"}) {
    for (std::int64_t const window : {1, 2, 3, 9, 700, 25000, 100000}) {
      parameters.push_back({{"op", std::string(op)}, {"window", window}});
    }
  }
  testing::expect_right_on_ranks(app(), parameters);
}

}  // namespace
}  // namespace tessera::pooling
