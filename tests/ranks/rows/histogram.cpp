// The rows of histogram on several ranks.

#include "../rows.hpp"

#include <tessera/table/app.hpp>

namespace tessera::histogram {

App app();

namespace {

TEST(RowsOnRanks, Histogram) { testing::expect_right_on_ranks(app(), {{}, {{"bins", std::int64_t{1}}}}); }

}  // namespace
}  // namespace tessera::histogram
