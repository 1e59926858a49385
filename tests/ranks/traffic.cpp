// The model's count of bytes and messages, against what the ranks counted in one launch.

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "../../common/src/study/arguments.hpp"
#include "rows.hpp"

#include <tessera/study/model.hpp>

namespace tessera::testing {

namespace {

// The model has only their largest messages: the samples of a sort, and the runs of a rank, depend on the keys.
std::set<std::string> const in_part{"sort", "reduce_by_key"};

}  // namespace

void expect_traffic_of_model(App const& app) {
  auto const count = static_cast<std::size_t>(world().count());
  if (count > 1 && in_part.contains(std::string(app.info.name))) return;
  std::size_t const size = 10007;
  for (Row const& row : app.rows) {
    if (row.info.name != "distributed" || row.dtype != app.rows.front().dtype || !is_wanted(row.dtype)) continue;
    ParameterMap const given = with_defaults(app, {}, size);
    std::optional<model::Talk> const talk = model::talk_of(study::model_case(app, row.dtype, size, given), count);
    ASSERT_TRUE(talk) << app.info.name << " does not say what its ranks exchange";
    auto const problem_case = app.generate_data(row.dtype, size, 42, app.data.front(), given);
    std::unique_ptr<RowRun> const run = row.start(*problem_case);
    run->enqueue();
    run->fence();
    ranks::Traffic const before = world().traffic();
    run->enqueue();
    run->fence();
    ranks::Traffic const after = world().traffic();
    double const bytes = world().sum(static_cast<double>(after.bytes - before.bytes));
    double const messages = world().sum(static_cast<double>(after.messages - before.messages));
    std::string const where = name_of(app, row) + " on " + std::to_string(count) + " ranks";
    // How many elements partition moves, and to how many ranks, depends on the data.
    bool const depends = app.info.traffic.pattern == Traffic::Pattern::shift;
    if (depends) EXPECT_LE(messages, talk->all_messages) << where;
    if (!depends) EXPECT_EQ(messages, talk->all_messages) << where;
    // The model divides elements evenly.
    EXPECT_NEAR(bytes, talk->all_bytes, (depends ? 0.05 : 1e-3) * bytes) << where;
  }
}

}  // namespace tessera::testing
