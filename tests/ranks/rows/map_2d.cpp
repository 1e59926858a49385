// The rows of map_2d on several ranks.

#include "../rows.hpp"

#include <tessera/table/app.hpp>

namespace tessera::map_2d {

App app();

namespace {

TEST(RowsOnRanks, Map2d) { testing::expect_right_on_ranks(app(), {{}, {{"rows", std::int64_t{1}}}}); }

}  // namespace
}  // namespace tessera::map_2d
