// The rows of conv2d on several ranks.

#include <cstdint>
#include <vector>

#include "../rows.hpp"

#include <tessera/table/app.hpp>

namespace tessera::conv2d {

App app();

namespace {

TEST(RowsOnRanks, Conv2d) {
  testing::expect_right_on_ranks(app(), {{}});
  for (std::int64_t const rows : {1, 2, 9, 1000}) {
    std::vector<ParameterMap> parameters;
    for (std::int64_t const kernel_rows : {1, 2, 5, 40}) {
      parameters.push_back({{"rows", rows}, {"kernel-rows", kernel_rows}, {"kernel-cols", std::int64_t{2}}});
    }
    testing::expect_right_on_ranks(app(), parameters, static_cast<std::size_t>(rows));
  }
}

}  // namespace
}  // namespace tessera::conv2d
