// The rows of random on several ranks: blocks that begin and end within a counter.

#include <string>

#include "../rows.hpp"

#include <tessera/table/app.hpp>

namespace tessera::random {

App app();

namespace {

TEST(RowsOnRanks, Random) {
  using namespace std::string_literals;
  testing::expect_right_on_ranks(app(), {{},
                                         {{"distribution", "normal"s}},
                                         {{"distribution", "integers"s}},
                                         {{"generator", "threefry"s}, {"distribution", "bits"s}}});
}
TEST(RowsOnRanks, RandomAtAMillion) { testing::expect_right_on_ranks_at_a_million(app()); }

}  // namespace
}  // namespace tessera::random
