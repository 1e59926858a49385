// The rows of bias_add on several ranks.

#include <cstdint>

#include "../rows.hpp"

#include <tessera/table/app.hpp>

namespace tessera::bias_add {

App app();

namespace {

TEST(RowsOnRanks, BiasAdd) { testing::expect_right_on_ranks(app(), {{}, {{"rows", std::int64_t{1}}}}); }

}  // namespace
}  // namespace tessera::bias_add
