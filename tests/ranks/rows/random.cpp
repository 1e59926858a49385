// The rows of random on several ranks: blocks that begin and end within a counter.

#include <string>
#include <vector>

#include "../rows.hpp"

#include <tessera/table/app.hpp>

namespace tessera::random {

App app();

namespace {

TEST(RowsOnRanks, Random) {
  std::vector<ParameterMap> all{{}};
  for (std::string const generator : {"philox", "threefry"}) {
    for (std::string const distribution : {"bits", "uniform_positive", "normal", "integers"}) {
      all.push_back({{"generator", generator}, {"distribution", distribution}});
    }
  }
  testing::expect_right_on_ranks(app(), all);
}

}  // namespace
}  // namespace tessera::random
