// The rows of monte_carlo on several ranks: each has its share of the blocks of points.

#include <cstdint>
#include <string>

#include "../rows.hpp"

#include <tessera/table/app.hpp>

namespace tessera::monte_carlo {

App app();

namespace {

TEST(RowsOnRanks, MonteCarlo) {
  using namespace std::string_literals;
  testing::expect_right_on_ranks(
      app(),
      {{}, {{"points", "sobol"s}}, {{"quantity", "call"s}, {"variates", "antithetic"s}, {"team", std::int64_t{1}}}});
}
TEST(RowsOnRanks, MonteCarloAtAMillion) {
  using namespace std::string_literals;
  testing::expect_right_on_ranks_at_a_million(
      app(), {{},
              {{"quantity", "coin"s}, {"generator", "threefry"s}},
              {{"quantity", "call"s}, {"points", "sobol"s}, {"variates", "control"s}, {"strike", 110.0}},
              {{"points", "sobol"s}, {"variates", "antithetic"s}}});
}

}  // namespace
}  // namespace tessera::monte_carlo
