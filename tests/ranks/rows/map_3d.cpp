// The rows of map_3d on several ranks.

#include <cstdint>

#include "../rows.hpp"

#include <tessera/table/app.hpp>

namespace tessera::map_3d {

App app();

namespace {

TEST(RowsOnRanks, Map3d) {
  testing::expect_right_on_ranks(app(), {{}, {{"planes", std::int64_t{1}}}, {{"rows", std::int64_t{1}}}});
}

}  // namespace
}  // namespace tessera::map_3d
