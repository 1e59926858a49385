// The rows of sort on several ranks.

#include <cstdint>
#include <string>
#include <vector>

#include "../../../apps/sort/problem.hpp"
#include "../rows.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::sort {

App app();

namespace {

ParameterMap of(char const* distribution, bool with_values = true, bool descending = false) {
  return {{"distribution", std::string(distribution)},
          {"values", std::string(with_values ? "index" : "none")},
          {"descending", descending}};
}

// Values are indices: ties in another order show. Cuts fall between any keys, into one run of equal keys, and into a
// few of them; all keys of a rank stay, or leave.
TEST(RowsOnRanks, Sort) {
  testing::expect_right_on_ranks(app(), {of("uniform", false), of("uniform", true, true), of("sorted"), of("reversed"),
                                         of("constant"), of("few"), of("zipf", true, true)});
}

// Keys that differ may be equal in these bits.
TEST(RowsOnRanks, SortBySomeBits) {
  testing::expect_right_on_ranks(app(), {{{"begin-bit", std::int64_t{20}}, {"end-bit", std::int64_t{27}}}});
}

// Cuts take several rounds of samples.
TEST(RowsOnRanks, SortOfManyKeys) {
  if (testing::world().count() != 3) return;
  for (char const* const distribution : {"uniform", "few"}) {
    EXPECT_EQ(testing::outcome_of(app(), (std::size_t{1} << 20) + 3, DataKind::random, of(distribution), 1), "");
  }
}

}  // namespace
}  // namespace tessera::sort
