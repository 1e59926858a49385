// The model's count of bytes and messages, against what the ranks counted in one launch.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "../../common/src/study/arguments.hpp"
#include "rows.hpp"

#include <tessera/study/model.hpp>

namespace tessera::testing {

Sent sent_in_a_launch(Row const& row, Case& problem_case) {
  std::unique_ptr<RowRun> const run = row.start(problem_case);
  run->enqueue();
  run->fence();
  ranks::Traffic const before = world().traffic();
  run->enqueue();
  run->fence();
  ranks::Traffic const after = world().traffic();
  return {world().sum(static_cast<double>(after.bytes - before.bytes)),
          world().sum(static_cast<double>(after.messages - before.messages))};
}

void expect_traffic_of_model(App const& app) {
  auto const count = static_cast<std::size_t>(world().count());
  std::size_t const size = 10007;
  for (Row const& row : app.rows) {
    bool const wanted = is_wanted(row) && is_wanted(row.dtype) && row.dtype == app.rows.front().dtype;
    if (row.info.name != "distributed" || !wanted) continue;
    ParameterMap const given = with_defaults(app, {}, size);
    std::optional<model::Talk> const talk = model::talk_of(study::model_case(app, row.dtype, size, given), count);
    ASSERT_TRUE(talk) << app.info.name << " does not say what its ranks exchange";
    auto const problem_case = app.generate_data(row.dtype, size, 42, app.data.front(), given);
    Sent const sent = sent_in_a_launch(row, *problem_case);
    std::string const where = name_of(app, row) + " on " + std::to_string(count) + " ranks";
    // The model divides elements evenly.
    double share = 1e-3;
    switch (app.info.traffic.pattern) {
      case Traffic::Pattern::shift:  // how many elements partition moves, and to how many ranks, depends on the data
        EXPECT_LE(sent.messages, talk->all_messages) << where;
        share = 0.05;
        break;
      case Traffic::Pattern::sample_sort: {  // so does the number of rounds; the keys of ranks differ by chance
        auto const of_round = static_cast<double>(count * (count - 1));
        EXPECT_NEAR(sent.messages, talk->all_messages, of_round) << where;
        share = 0.1 + of_round / std::max(1.0, sent.messages);
        break;
      }
      case Traffic::Pattern::runs:  // so does the number of runs
        share = 0.1;
        [[fallthrough]];
      default: EXPECT_EQ(sent.messages, talk->all_messages) << where;
    }
    EXPECT_NEAR(sent.bytes, talk->all_bytes, share * sent.bytes) << where;
  }
}

}  // namespace tessera::testing
