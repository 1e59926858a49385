// The traffic that each mini-app declares: the model's bytes, messages and launches are compared with a run on two
// GPUs.

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "all_apps.hpp"
#include "harness.hpp"

#include <tessera/study/model.hpp>

namespace tessera {
namespace {

using nlohmann::json;

// They have a distributed row, but no report of two GPUs yet.
std::set<std::string_view> const not_yet_run{"monte_carlo", "reduce_by_key", "sort", "transformer_block"};

TEST(Traffic, IsWhatARunOnTwoGpusCounted) {
  for (App const& app : all_apps()) {
    bool const known = app.info.traffic.pattern != Traffic::Pattern::unknown;
    EXPECT_EQ(known, app.distributed) << app.info.name;
    int compared = 0;
    for (std::string const name : {"two-2p28-each", "two-2p28-each-bulk", "two-2p20-2p24"}) {
      json const report =
          json::parse(std::ifstream(std::string(TESSERA_SOURCE_DIR) + "/tests/data/nvidia-h200-x2/" + name + ".json"));
      for (json const& row : report["rows"]) {
        if (row["status"] != "passed" || row["app"] != app.info.name) continue;
        json const& of = report["input"].at(row["case"].get<std::size_t>());
        ParameterMap parameters = testing::with_defaults(app, {});
        for (auto const& [key, value] : of["parameters"].items()) {
          if (value.is_number_integer()) parameters[key] = value.get<std::int64_t>();
        }
        model::ModelCase c{.app = row["app"],
                           .work = {row["bytes"], row["flops"]},
                           .input = {},
                           .input_dtypes = {},
                           .output = {},
                           .parameters = parameters,
                           .traffic = app.info.traffic,
                           .output_split = app.output_split(parameters)};
        DType const dtype = app.rows.front().dtype;
        for (FieldSpec const& field : app.input_fields(dtype)) c.input.push_back(of["input_shapes"].at(field.name));
        for (FieldSpec const& field : app.output_fields(dtype)) c.output.push_back(of["output_shapes"].at(field.name));
        if (app.reach != nullptr) c.reach = app.reach(c.input, parameters);
        model::Talk const talk = *model::talk_of(c, 2);
        SCOPED_TRACE(c.app + " in " + name);
        ++compared;
        EXPECT_EQ(talk.all_messages, row["ranks"]["messages"].get<double>());
        double const bytes = row["ranks"]["bytes_sent"];
        // The elements that partition moves depend slightly on the data.
        EXPECT_NEAR(talk.all_bytes, bytes, app.info.traffic.pattern == Traffic::Pattern::shift ? 5e-3 * bytes : 0);
        EXPECT_LE(talk.bytes, std::max(talk.all_bytes, 1.0));
        double launches = 0;
        for (json const& kernel : row["kernels"]) launches += kernel["launches"].get<double>();
        // Gradients need one launch less if k is not split. The histogram of these reports gave and took its counts in
        // one launch.
        bool const one_less = app.info.traffic.launches > 6 || c.app == "histogram";
        EXPECT_NEAR(talk.launches, launches, one_less ? 1 : 0);
      }
    }
    // A mini-app that has no measurement yet must send nothing.
    bool const silent = app.info.traffic.pattern == Traffic::Pattern::nothing;
    bool const is_unmeasured = not_yet_run.contains(app.info.name);
    EXPECT_TRUE(compared > 0 || !app.distributed || silent || is_unmeasured) << app.info.name;
    EXPECT_TRUE(compared == 0 || app.distributed) << app.info.name;
  }
}

}  // namespace
}  // namespace tessera
