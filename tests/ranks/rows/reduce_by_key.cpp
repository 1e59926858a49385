// The rows of reduce_by_key on several ranks.

#include <cstdint>
#include <string>

#include "../../../apps/reduce_by_key/problem.hpp"
#include "../rows.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::reduce_by_key {

App app();

namespace {

ParameterMap of(char const* mode, char const* op, std::int64_t mean) {
  return {{"mode", std::string(mode)}, {"op", std::string(op)}, {"mean", mean}};
}

// One run crosses all ranks (a mean of 0); runs cross some or none of few elements; each element is a run.
TEST(RowsOnRanks, ReduceByKey) {
  testing::expect_right_on_ranks(app(), {of("reduce", "sum", 32), of("reduce", "sum", 0), of("reduce", "sum", 1),
                                         of("reduce", "max", 2), of("reduce", "min", 256)});
}

TEST(RowsOnRanks, ReduceByKeyToLengthsAndKeys) {
  testing::expect_right_on_ranks(
      app(), {of("lengths", "sum", 2), of("lengths", "sum", 0), of("unique", "sum", 2), of("unique", "sum", 0)});
}

}  // namespace
}  // namespace tessera::reduce_by_key
