// The rows of random on several ranks: blocks that begin and end within a counter.

#include <cstdint>
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
TEST(RowsOnRanks, RandomAtAMillion) {
  using namespace std::string_literals;
  testing::expect_right_on_ranks_at_a_million(
      app(), {{},
              {{"distribution", "normal"s}, {"stream", std::int64_t{7}}, {"generator", "threefry"s}},
              {{"distribution", "uniform_positive"s}, {"offset", (std::int64_t{1} << 33) + 1}},
              {{"distribution", "integers"s}, {"lo", std::int64_t{-5}}, {"hi", std::int64_t{1000}}}});
}

}  // namespace
}  // namespace tessera::random
