// The rows of sort on several ranks.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "../../../apps/sort/problem.hpp"
#include "../rows.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::sort {

App app();

namespace {

ParameterMap of(char const* distribution, char const* values = "index", bool descending = false) {
  return {{"distribution", std::string(distribution)}, {"values", std::string(values)}, {"descending", descending}};
}

// Values are indices: ties in another order show. Cuts fall between any keys, into one run of equal keys, and into a
// few of them; all keys of a rank stay, or leave.
TEST(RowsOnRanks, Sort) {
  testing::expect_right_on_ranks(
      app(), {of("uniform", "none"), of("uniform", "index", true), of("sorted"), of("reversed"), of("constant"),
              of("few", "other"), of("zipf", "index", true)});
}

// Keys that differ may be equal in these bits.
TEST(RowsOnRanks, SortBySomeBits) {
  testing::expect_right_on_ranks(app(), {{{"begin-bit", std::int64_t{20}}, {"end-bit", std::int64_t{27}}}});
}

// A launch shows samples in a few rounds. Then it sends each key, and its value, at most once: if another rank owns its
// place.
TEST(RowsOnRanks, SortSendsKeysOnce) {
  std::size_t const n = 10007;
  auto const p = static_cast<double>(testing::world().count());
  App const sort = app();
  for (Row const& row : sort.rows) {
    if (row.info.level != Level::ranks || row.dtype != DType::float32) continue;
    for (ParameterMap const& given :
         {of("uniform", "none"), of("sorted"), of("reversed"), of("constant"), of("few", "other")}) {
      auto const problem_case =
          sort.generate_data(row.dtype, n, 42, DataKind::random, testing::with_defaults(sort, given));
      testing::Sent const sent = testing::sent_in_a_launch(row, *problem_case);
      std::vector<float> const keys = testing::joined_blocks<float>(problem_case->input().front());
      std::vector<std::size_t> order(n);
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::ranges::stable_sort(order, {}, [&](std::size_t i) { return keys[i]; });
      testing::Moved moved(n);
      for (std::size_t place = 0; place < n; ++place) moved.add(moved.owner(order[place]), place);
      double fields = 0;
      double bytes = 0;
      for (HostField const& field : problem_case->input_shapes()) {
        if (field.count() == 0) continue;
        ++fields;
        bytes += moved.elements() * static_cast<double>(size_of(field.dtype));
      }
      // 32 samples of each of p - 1 cuts, from each rank to each other one.
      double const of_round = p * (p - 1);
      double const rounds = p == 1 ? 0 : (sent.messages - fields * moved.pairs()) / of_round;
      std::string const what = testing::said(given) + ", rounds " + std::to_string(rounds);
      EXPECT_EQ(rounds, std::floor(rounds)) << what;
      EXPECT_EQ(sent.bytes, bytes + rounds * of_round * (p - 1) * 32 * sizeof(float)) << what;
      // A round leaves at most a quarter of a rank's keys, and 32 are all shown.
      double const most = 1 + std::ceil(std::log2(std::ceil(static_cast<double>(n) / p) / 32) / 2);
      EXPECT_TRUE(p == 1 || (rounds >= 1 && rounds <= most)) << what;
    }
  }
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
