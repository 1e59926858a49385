// The rows of broadcast_add on several ranks.

#include "../rows.hpp"

#include <tessera/table/app.hpp>

namespace tessera::broadcast_add {

App app();

namespace {

TEST(RowsOnRanks, BroadcastAdd) { testing::expect_right_on_ranks(app(), {{}, {{"rows", std::int64_t{1}}}}); }

}  // namespace
}  // namespace tessera::broadcast_add
