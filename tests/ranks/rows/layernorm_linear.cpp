// The rows of layernorm_linear on several ranks.

#include <cstdint>

#include "../rows.hpp"

#include <tessera/table/app.hpp>

namespace tessera::layernorm_linear {

App app();

namespace {

TEST(RowsOnRanks, LayernormLinear) {
  testing::expect_right_on_ranks(app(), {{}, {{"rows", std::int64_t{1}}}, {{"hidden", std::int64_t{1}}}});
}

}  // namespace
}  // namespace tessera::layernorm_linear
