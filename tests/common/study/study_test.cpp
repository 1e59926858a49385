// tessera study: the launches of a study, and the errors in its file.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <tessera/cli/nearest.hpp>
#include <tessera/core/types.hpp>
#include <tessera/study/study.hpp>

namespace tessera::study {
namespace {

using Words = std::vector<std::string>;

std::string text_of(Step const& step) {
  std::string text = step.launcher.empty() ? "" : join(step.launcher, " ") + " : ";
  return text + step.apps + " " + join(step.arguments, " ");
}

Words names_of(std::vector<Step> const& steps) {
  Words names;
  for (Step const& step : steps) names.push_back(step.name);
  return names;
}

std::string complaint(std::string const& json) {
  try {
    (void)steps_of(parse_study(json, "s.json"));
  } catch (UserError const& error) {
    return error.what();
  }
  return "none";
}

// Returns a complete study file to which `what` is added.
std::string with(std::string const& what) {
  return R"({"schema": "tessera-study/1", "name": "mine", "apps": ["dot", "map"])" + (what.empty() ? "" : ", " + what) +
         "}";
}

TEST(Study, repeats_go_forwards_and_backwards) {
  Study const study = parse_study(with(R"("sizes": "2^10:2^11", "repeats": 3, "variants": ["a+b", "c"])"), "s.json");
  std::vector<Step> const steps = steps_of(study);
  Words const once{"dot-2p10-r1-a+b", "dot-2p10-r1-c", "dot-2p11-r1-a+b", "dot-2p11-r1-c",
                   "map-2p10-r1-a+b", "map-2p10-r1-c", "map-2p11-r1-a+b", "map-2p11-r1-c"};
  Words expected;
  for (std::string const repeat : {"-1", "-2", "-3"}) {
    Words these = once;
    if (repeat == "-2") std::ranges::reverse(these);
    for (std::string const& name : these) expected.push_back(name + repeat);
  }
  EXPECT_EQ(names_of(steps), expected);
  EXPECT_EQ(text_of(steps.front()), "dot --size 2^10 --variant a,b");
  EXPECT_EQ(steps.back().repeat, 3u);
}

TEST(Study, the_launcher_starts_the_ranks) {
  Study study = parse_study(with(R"("ranks": [1, 4], "repeats": 1, "sizes_per_rank": 1000, "apps": "dot")"), "s.json");
  std::vector<Step> steps = steps_of(study);
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(text_of(steps[0]), "dot --size-per-rank 1000");
  EXPECT_EQ(text_of(steps[1]), "mpirun -n 4 : dot --size-per-rank 1000");
  EXPECT_EQ(steps[1].name, "dot-1000-each-r4-1");
  // A launcher given by name is also used for one rank, because it may bind processes.
  set(study, "launcher", "srun -n {ranks} --label='{ranks} of \"all\"'", "--launcher");
  steps = steps_of(study);
  EXPECT_EQ(steps[0].launcher, (Words{"srun", "-n", "1", "--label=1 of \"all\""}));
  EXPECT_EQ(steps[1].launcher, (Words{"srun", "-n", "4", "--label=4 of \"all\""}));
}

TEST(Study, presets) {
  for (Preset const& known : presets()) {
    SCOPED_TRACE(known.study.name);
    std::vector<Step> const steps = steps_of(preset(known.study.name));
    Words const names = names_of(steps);
    EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), steps.size());
    EXPECT_EQ(steps.back().repeat, 5u);
  }
  auto const first = [](std::string const& name) { return text_of(steps_of(preset(name)).front()); };
  EXPECT_EQ(first("quick"), "map,dot,prefix_sum --size 2^16 --max-time 0.1");
  EXPECT_EQ(steps_of(preset("quick")).size(), 15u);
  EXPECT_EQ(first("strong"), "dot --size 2^26 --variant distributed");
  EXPECT_EQ(first("weak"), "dot --size-per-rank 2^24 --variant distributed");
  EXPECT_EQ(first("sizes"), "map --size 2^16");
  EXPECT_EQ(first("variants"), "all --size 2^24");
  EXPECT_EQ(steps_of(preset("strong")).size(), 60u);
  EXPECT_EQ(text_of(steps_of(preset("weak"))[2]), "mpirun -n 4 : dot --size-per-rank 2^24 --variant distributed");
  EXPECT_EQ(steps_of(preset("sizes")).size(), 80u);
  EXPECT_EQ(steps_of(preset("variants")).size(), 5u);
  EXPECT_THROW((void)preset("strange"), UserError);
}

TEST(Study, a_broken_file_is_said_in_one_message) {
  EXPECT_EQ(complaint(with("")), "none");
  std::vector<std::pair<std::string, std::string>> const cases{
      {"{", "s.json (it is not JSON"},
      {"[]", "not a JSON object"},
      {"{}", "its schema is not tessera-study/1"},
      {R"({"schema": "tessera-study/1"})", "it has no name"},
      {with(R"("size": 3)"), "unknown key `size`"},
      {with(R"("sizes": [], "ranks": 1)"), "nothing in sizes in s.json"},
      {with(R"("sizes": "2^64")"), "bad value `2^64` for sizes in s.json"},
      {with(R"("sizes": 1.5)"), "bad value `1.5` for sizes in s.json"},
      {with(R"("sizes": -1)"), "bad value `-1` for sizes in s.json"},
      {with(R"("sizes": 3, "sizes_per_rank": 3)"), "both sizes and sizes_per_rank"},
      {with(R"("sizes_per_rank": "2^62", "ranks": 2)"), "size 4611686018427387904 on each of 2 ranks (together more"},
      {with(R"("ranks": 0)"), "bad value `0` for ranks"},
      {with(R"("ranks": [1, "two"])"), "bad value `two` for ranks"},
      {with(R"("repeats": [1, 2])"), "repeats in s.json has 2 values"},
      {with(R"("repeats": 99999999999)"), "bad value `99999999999` for repeats"},
      {with(R"("variants": "a++b")"), "bad value `a++b` for variants"},
      {with(R"("name": "../up")"), "bad value `../up` for name"},
      {with(R"("apps": ["dot", "dot"])"), "two steps of the study have the name dot-2p24-r1"},
      {with(R"("sizes": "1:2^60", "ranks": [1, 2, 3, 4, 5], "repeats": 1000)"), "610000 launches (at most 100000)"},
      {with(R"("options": "--json there.json")"), "bad value `--json` for options"},
      {with(R"("launcher": "srun 'open")"), "a quote ' is not closed"},
      {with(R"("apps": {"a": 1})"), "bad value `{\"a\":1}` for apps"}};
  for (auto const& [json, message] : cases) {
    EXPECT_NE(complaint(json).find(message), std::string::npos) << json << "\n" << complaint(json);
  }
  // The largest accepted value.
  EXPECT_EQ(complaint(with(R"("sizes_per_rank": "2^61", "ranks": 3)")), "none");
}

}  // namespace
}  // namespace tessera::study
