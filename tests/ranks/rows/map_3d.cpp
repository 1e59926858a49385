// The rows of map_3d on several ranks.

#include <cstddef>
#include <cstdint>

#include "../rows.hpp"

#include <tessera/table/app.hpp>

namespace tessera::map_3d {

App app();

namespace {

TEST(RowsOnRanks, Map3d) {
  testing::expect_right_on_ranks(app(), {{}, {{"planes", std::int64_t{1}}}, {{"rows", std::int64_t{1}}}});
}

// A View holds a rank's part: strides up to 2^60. Kokkos 4 holds extents below 2^32.
TEST(RowsOnRanks, Map3dShapesOfParts) {
  App const map = app();
  DType const dtype = map.rows.front().dtype;
  auto const look_at = [&](std::size_t planes) {
    testing::PatternSource const source(map, testing::Pattern::random, {{planes, std::size_t{1} << 31, 0}});
    (void)map.footprint_of_source(dtype, source, testing::with_defaults(map, {}));
  };
  std::size_t const most = static_cast<std::size_t>(testing::world().count()) << 29;
  EXPECT_NO_THROW(look_at(most));
  EXPECT_THROW(look_at(most + 1), UserError);
}

}  // namespace
}  // namespace tessera::map_3d
