// The model's count of bytes and messages, against what the ranks counted in one launch.

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <sstream>
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

std::string traffic_beside_model(App const& app, Row const& row, Sent const& sent, ParameterMap const& given) {
  auto const count = static_cast<std::size_t>(world().count());
  std::optional<model::Talk> const talk = model::talk_of(study::model_case(app, row.dtype, traffic_size, given), count);
  if (!talk) return "the mini-app does not say what its ranks exchange";
  double const more = std::abs(sent.messages - talk->all_messages);
  // The model divides elements evenly.
  double share = 1e-3;
  bool right = more == 0;
  switch (app.info.traffic.pattern) {
    case Traffic::Pattern::shift:  // how many elements partition moves, and to how many ranks, depends on the data
      right = sent.messages <= talk->all_messages;
      share = 0.05;
      break;
    case Traffic::Pattern::sample_sort: {  // so does the number of rounds; the keys of ranks differ by chance
      auto const of_round = static_cast<double>(count * (count - 1));
      right = more <= of_round;
      share = 0.1 + of_round / std::max(1.0, sent.messages);
      break;
    }
    case Traffic::Pattern::runs: share = 0.1; break;  // so does the number of runs
    default: break;
  }
  right = right && std::abs(sent.bytes - talk->all_bytes) <= share * sent.bytes;
  if (right) return "";
  std::ostringstream text;
  text << name_of(app, row) << " on " << count << " ranks: " << sent.messages << " messages of " << sent.bytes
       << " bytes; the model has " << talk->all_messages << " of " << talk->all_bytes;
  return text.str();
}

void expect_traffic_of_model(App const& app) {
  for (Row const& row : app.rows) {
    bool const wanted = is_wanted(row) && is_wanted(row.dtype) && row.dtype == app.rows.front().dtype;
    if (row.info.name != "distributed" || !wanted) continue;
    ParameterMap const given = with_defaults(app, {}, traffic_size);
    auto const problem_case = app.generate_data(row.dtype, traffic_size, 42, app.data.front(), given);
    Sent const sent = sent_in_a_launch(row, *problem_case);
    EXPECT_EQ(traffic_beside_model(app, row, sent, given), "");
  }
}

}  // namespace tessera::testing
