// The rows of embedding on several ranks.

#include "../rows.hpp"

#include <tessera/table/app.hpp>

namespace tessera::embedding {

App app();

namespace {

TEST(RowsOnRanks, Embedding) { testing::expect_right_on_ranks(app(), {{}}); }

}  // namespace
}  // namespace tessera::embedding
