// The model that predicts times before a run: its parts are compared with hand calculations.
// tests/apps/traffic_test.cpp compares each mini-app's traffic with a run.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include <tessera/core/types.hpp>
#include <tessera/study/model.hpp>

namespace tessera::model {
namespace {

std::string const data_folder = std::string(TESSERA_SOURCE_DIR) + "/tests/data/";

Machine machine() {
  Machine result;
  result.roofs.copy_bytes_per_second = 1e12;
  result.roofs.peak_operations_per_second = {1e13, 5e12, 1e13};
  result.roofs.launch_seconds = 4e-6;
  result.roofs.launch_and_fence_seconds = 9e-6;
  result.levels = {{1e6, 8e12}, {1e7, 4e12}};
  return result;
}

ModelCase dot(std::size_t n) {
  double const size = static_cast<double>(n);
  return {.app = "dot",
          .dtype = DType::float32,
          .work = {.bytes = 8 * size, .flops = 2 * size},
          .input = {{n}, {n}},
          .output = {{}},
          .parameters = {},
          .traffic = {.pattern = Traffic::Pattern::totals, .launches = 2},
          .output_split = {Split::whole}};
}

TEST(Model, one_rank_is_the_roof_and_a_launch) {
  Talk const alone = *talk_of(dot(1 << 30), 1);
  EXPECT_EQ(alone.words, 0);
  Predicted const large = predict(dot(1 << 30), alone, 1, machine(), {}, false);
  EXPECT_DOUBLE_EQ(large.moving, 8.0 * (1 << 30) / 1e12);
  EXPECT_DOUBLE_EQ(large.seconds(), large.moving + 4e-6);
  EXPECT_EQ(large.bound(), "memory");
  // Data that fit into a cache use its bandwidth.
  EXPECT_DOUBLE_EQ(predict(dot(125000), alone, 1, machine(), {}, false).moving, 1e6 / 8e12);
  EXPECT_DOUBLE_EQ(predict(dot(1250000), alone, 1, machine(), {}, false).moving, 1e7 / 4e12);
  EXPECT_NEAR(machine().bandwidth(std::sqrt(1e6 * 1e7)), 6e12, 1e3);
  EXPECT_EQ(machine().bandwidth(10), 8e12);
  EXPECT_EQ(machine().bandwidth(1.0001e7), 1e12);
  EXPECT_EQ(predict(dot(1000), alone, 1, machine(), {}, false).bound(), "launches");
  ModelCase heavy = dot(1 << 20);
  heavy.work.flops = 1e12;
  EXPECT_EQ(predict(heavy, alone, 1, machine(), {}, false).bound(), "arithmetic");
  EXPECT_DOUBLE_EQ(predict(heavy, alone, 1, machine(), {}, false).seconds(), 0.1 + 4e-6);
}

TEST(Model, ranks_take_a_share_and_speak) {
  Link const link{2e-6, 1e10};
  Talk const talk = *talk_of(dot(std::size_t{1} << 30), 1024);
  EXPECT_DOUBLE_EQ(talk.share, 1.0 / 1024);
  EXPECT_EQ(talk.words, 10);  // an all-gather in rounds
  Predicted const many = predict(dot(std::size_t{1} << 30), talk, 1024, machine(), link, false);
  EXPECT_DOUBLE_EQ(many.moving, 8.0 * (1 << 20) / machine().bandwidth(8.0 * (1 << 20)));
  EXPECT_DOUBLE_EQ(many.launching, 2 * 4e-6 + 5e-6);
  EXPECT_DOUBLE_EQ(many.talking, 10 * 2e-6 + 4 * 1023 / 1e10);
  // On a single host all bytes go through the same memory.
  EXPECT_DOUBLE_EQ(predict(dot(1 << 30), talk, 1024, machine(), link, true).moving, 8.0 * (1 << 30) / 1e12);
  // Five rows keep at most five ranks busy.
  ModelCase rows = dot(1);
  rows.input = {{5, 200000000}};
  EXPECT_DOUBLE_EQ(talk_of(rows, 4)->share, 0.4);
  EXPECT_DOUBLE_EQ(talk_of(rows, 100)->share, 0.2);
  rows.traffic = {};
  EXPECT_FALSE(talk_of(rows, 2));
}

TEST(Model, where_scaling_stops) {
  Link const link{2e-6, 1e10};
  Machine plain = machine();
  plain.levels.clear();
  auto const limit = [&](std::size_t ranks) {
    return *limit_of([](std::size_t n) { return dot(n); }, ranks, 1 << 28, plain, link);
  };
  Limit const thousand = limit(1000);
  EXPECT_FALSE(thousand.never);
  EXPECT_GT(thousand.weak_efficiency, 0.9);
  // Half of the time is 8 n / 1e12; the other half is 13 us + 10 latencies of 2 us + 4 bytes from each other rank.
  double const others = 13e-6 + 20e-6 + 4 * 999 / 1e10;
  std::size_t expected = 1;
  while (static_cast<double>(8 * expected) / 1e12 < others) expected *= 2;
  EXPECT_EQ(thousand.least_each, expected);
  EXPECT_GT(limit(100000).least_each, thousand.least_each);
  EXPECT_LT(limit(100000).weak_efficiency, thousand.weak_efficiency);
}

// Counted in a run of `embedding --table rows --size N` on 2 and on 7 ranks of one machine. One index in 64 is outside
// the table and needs no row.
TEST(Model, what_ranks_say_of_a_table_in_rows) {
  struct Counted {
    std::size_t ranks;
    std::size_t length;
    double messages;
    double bytes;
  };
  for (Counted const& run : {Counted{2, 24, 6, 190868}, Counted{7, 24, 126, 336828}, Counted{2, 1024, 6, 8208032}}) {
    ModelCase c = dot(1);
    c.input = {{8, run.length}, {10000, 512}};
    c.traffic = {.pattern = Traffic::Pattern::table_rows};
    EXPECT_EQ(talk_of(c, run.ranks)->all_messages, 0);
    c.parameters["table"] = std::string("rows");
    Talk const talk = *talk_of(c, run.ranks);
    EXPECT_EQ(talk.all_messages, run.messages);
    EXPECT_NEAR(talk.all_bytes, run.bytes, 0.04 * run.bytes);
    EXPECT_GE(talk.all_bytes, run.bytes);
    EXPECT_LT(talk.bytes, talk.all_bytes);
  }
}

// A segment that ranks cut is exchanged with the neighbours. One segment of everything (--segment 0) is not: each rank
// sends its total.
TEST(Model, one_segment_of_everything_is_exchanged_as_totals) {
  ModelCase c = dot(1 << 30);
  c.traffic = {.pattern = Traffic::Pattern::segments};
  c.reach = 31;
  EXPECT_EQ(talk_of(c, 2)->bytes, 2 * 31 * 4.0);
  c.reach = 1 << 30;
  EXPECT_EQ(talk_of(c, 2)->bytes, 4.0);
  EXPECT_EQ(talk_of(c, 2)->by, "totals of all");
}

// 100 runs of 10 elements, on ranks that own 250 places: the first rank owns the places of all runs.
TEST(Model, results_of_runs_go_to_the_first_rank) {
  ModelCase c = dot(1000);
  c.traffic = {.pattern = Traffic::Pattern::runs};
  c.parameters = {{"mean", std::int64_t{10}}, {"mode", std::string("reduce")}};
  Talk const talk = *talk_of(c, 4);
  EXPECT_EQ(talk.all_messages, 3 * 12 + 2 * 3);
  EXPECT_EQ(talk.all_bytes, 12 * (24 + 8 + 8) + 75 * 8);
  ModelCase wide = c;
  wide.dtype = DType::float64;  // of keys and values
  EXPECT_EQ(talk_of(wide, 4)->all_bytes, 12 * (40 + 8 + 8) + 75 * 16);
  for (std::int64_t const mean : {1, 0}) {  // each result stays; one run of all elements
    c.parameters["mean"] = mean;
    EXPECT_EQ(talk_of(c, 4)->all_messages, 3 * 12);
    EXPECT_EQ(talk_of(c, 4)->all_bytes, 12 * (24 + 8 + 8));
  }
}

// Of 2048 keys of a rank, 32 samples leave 256, then 32, which are all shown. Values move with their keys.
TEST(Model, a_sample_sort_shows_samples_in_rounds) {
  ModelCase c = dot(4096);
  c.traffic = {.pattern = Traffic::Pattern::sample_sort};
  c.input = {{4096}, {0}, {4096}};
  c.input_dtypes = {DType::float32, DType::int32, DType::int64};
  Talk const talk = *talk_of(c, 2);
  EXPECT_EQ(talk.all_messages, 3 * 2 + 2 * 2);
  EXPECT_EQ(talk.all_bytes, 3 * 2 * 32 * 4 + 4096 * (4 + 8) / 2);
}

TEST(Model, machines_are_read_from_reports) {
  auto const two = read_machines(data_folder + "nvidia-h200-x2/two-2p28-each.json");
  // The report adds up the roofs of two ranks; each rank has half.
  EXPECT_NEAR(two.at("cuda").roofs.copy_bytes_per_second, 4.2e12, 0.1e12);
  auto const cpu = read_machines(data_folder + "intel-xeon-2.json");
  std::vector<Level> const& levels = cpu.at("openmp").levels;
  ASSERT_EQ(levels.size(), 3u);  // 2^16, 2^20 and 2^24 elements
  EXPECT_EQ(levels.front().bytes, 2.0 * 65536 * 4);
  EXPECT_GT(levels.front().bytes_per_second, levels.back().bytes_per_second);
  for (std::string const file : {"none.json", "README.md"}) {
    EXPECT_THROW((void)read_machines(data_folder + file), UserError);
  }
  EXPECT_THROW((void)read_machines(std::string(TESSERA_SOURCE_DIR) + "/README.md"), UserError);
}

TEST(Model, links) {
  Link const link = parse_link("--link", "2e-6,25e9");
  EXPECT_EQ(link.word_seconds, 2e-6);
  EXPECT_EQ(link.bytes_per_second, 25e9);
  for (std::string const bad : {"", "1", "1,", ",1", "1,2,3", "-1,2", "1,x", "nan,1", "1,inf"}) {
    EXPECT_THROW((void)parse_link("--link", bad), UserError) << bad;
  }
}

}  // namespace
}  // namespace tessera::model
