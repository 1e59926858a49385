// The rows of zip on several ranks.

#include "../rows.hpp"

#include <tessera/table/app.hpp>

namespace tessera::zip {

App app();

namespace {

TEST(RowsOnRanks, Zip) { testing::expect_right_on_ranks(app(), {{}}); }

}  // namespace
}  // namespace tessera::zip
