// The JSON report and the table.

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <thread>

#include <nlohmann/json.hpp>

#include <tessera/report/baseline.hpp>
#include <tessera/report/csv.hpp>
#include <tessera/report/digest.hpp>
#include <tessera/report/machine_file.hpp>
#include <tessera/report/report.hpp>
#include <tessera/report/table.hpp>

namespace tessera {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr double inf = std::numeric_limits<double>::infinity();

// Returns whether `text` contains `part`; the failure message shows `text`.
testing::AssertionResult has(std::string const& text, std::string const& part) {
  if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "no `" << part << "` in: " << text;
}

class InDirectory : public testing::Test {
 protected:
  InDirectory() {
    std::string pattern = (fs::temp_directory_path() / "tessera_report_XXXXXX").string();
    directory = ::mkdtemp(pattern.data());
  }
  ~InDirectory() override { fs::remove_all(directory); }

  std::string path(std::string const& name) const { return (directory / name).string(); }
  static json read(std::string const& name) { return json::parse(std::ifstream(name)); }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(directory), fs::directory_iterator()));
  }

  fs::path directory;
};

CaseReport a_case() {
  CaseReport report;
  report.app = "fake";
  report.size = 4096;
  report.seed = 42;
  report.input = {{"a", {4096}}};
  report.output = {{"out", {64, 64}}};
  report.parameters = {{"c", 10.0}, {"op", std::string("sum")}, {"exclusive", false}, {"tile", std::int64_t{8}}};
  report.bytes = 32768;
  report.flops = 4096;
  report.data = DataKind::exact;
  report.reference_seconds = 0.5;
  return report;
}

RowReport a_row(Status status = Status::passed) {
  RowReport row;
  row.app = "fake";
  row.size = 4096;
  row.variant = "good";
  row.space = "openmp";
  row.status = status;
  row.bytes = 32768;
  row.flops = 4096;
  row.elements = 4096;
  if (status == Status::passed) {
    row.samples.seconds = {2.75e-6, 2e-6, 2.25e-6, 3e-6};
    row.samples.batch = 50;
    row.samples.warmups = 12;
    // Roofs at which the data movement takes 75% of the 2.5 us and the computation 10%.
    row.roofs.copy_bytes_per_second = 32768 / 2.5e-6 / 0.75;
    row.roofs.read_bytes_per_second = 32768 / 2.5e-6 / 0.5;
    row.roofs.peak_operations_per_second[0] = 4096 / 2.5e-6 / 0.1;
    row.rounding_steps = 2;
    row.prediction = Prediction{.bytes = 131072, .passes = 2};
    row.worst_error_in_bounds = 0.25;
    row.checked_relative_error = 2.4e-7;
  } else {
    row.reason = "because";
  }
  return row;
}

TEST_F(InDirectory, document_has_the_keys_and_units) {
  Report report(path("r.json"));
  report.build = {{"build_type", "Release"}};
  report.system["host"] = "here";
  SpaceReport space;
  space.name = "openmp";
  space.device = "a processor";
  space.concurrency = 2;
  space.roofs.copy_bytes_per_second = 1e10;
  space.roofs.peak_operations_per_second = {3e12, 2e12, unknown};
  space.roofs.matrix_peak_operations_per_second = {3e14, 6e14, unknown};
  report.spaces.push_back(space);
  EXPECT_EQ(report.add_case(a_case()), 0u);
  EXPECT_FALSE(fs::exists(path("r.json")));  // nothing ran yet
  report.add_row(a_row());

  json const document = read(path("r.json"));
  ASSERT_EQ(document.size(), 5u);
  EXPECT_EQ(document["schema"], "tessera-report/1");
  EXPECT_EQ(document["build"]["build_type"], "Release");
  EXPECT_EQ(document["system"]["host"], "here");
  json const& roofs = document["system"]["spaces"]["openmp"];
  EXPECT_EQ(roofs["copy_bytes_per_second"], 1e10);
  EXPECT_EQ(roofs["peak_operations_per_second"]["float"], 3e12);
  EXPECT_EQ(roofs["peak_operations_per_second"]["double"], 2e12);
  EXPECT_TRUE(roofs["peak_operations_per_second"]["int32"].is_null());
  EXPECT_EQ(roofs["matrix_peak_operations_per_second"], (json{{"tf32", 3e14}, {"half", 6e14}, {"bfloat16", nullptr}}));
  EXPECT_TRUE(roofs["read_bytes_per_second"].is_null());
  EXPECT_TRUE(roofs["machine_file"].is_null());
  EXPECT_TRUE(document["system"]["finished"].is_null());

  json const& input = document["input"].at(0);
  EXPECT_EQ(input["source"], "generated");
  EXPECT_TRUE(input["file"].is_null());
  EXPECT_EQ(input["size"], 4096);
  EXPECT_EQ(input["seed"], 42);
  EXPECT_EQ(input["data"], "exact");
  EXPECT_EQ(input["input_shapes"]["a"], json::array({4096}));
  EXPECT_EQ(input["output_shapes"]["out"], json::array({64, 64}));
  EXPECT_EQ(input["parameters"]["c"], 10.0);
  EXPECT_EQ(input["parameters"]["op"], "sum");
  EXPECT_EQ(input["parameters"]["exclusive"], false);
  EXPECT_EQ(input["parameters"]["tile"], 8);
  EXPECT_EQ(input["reference_seconds"], 0.5);

  json const& row = document["rows"].at(0);
  EXPECT_EQ(row["status"], "passed");
  EXPECT_TRUE(row["reason"].is_null());
  EXPECT_EQ(row["case"], 0);
  EXPECT_EQ(row["dtype"], "float");
  EXPECT_EQ(row["level"], "range");
  EXPECT_DOUBLE_EQ(row["seconds"].get<double>(), 2.5e-6);
  EXPECT_EQ(row["seconds_min"], 2e-6);
  EXPECT_EQ(row["seconds_max"], 3e-6);
  EXPECT_DOUBLE_EQ(row["seconds_first_quartile"].get<double>(), 2.1875e-6);
  EXPECT_DOUBLE_EQ(row["seconds_third_quartile"].get<double>(), 2.8125e-6);
  EXPECT_EQ(row["noisy"], false);
  EXPECT_EQ(row["size"], 4096);
  EXPECT_DOUBLE_EQ(row["bytes_per_second"].get<double>(), 32768 / 2.5e-6);
  EXPECT_DOUBLE_EQ(row["flops_per_second"].get<double>(), 4096 / 2.5e-6);
  EXPECT_DOUBLE_EQ(row["share_of_copy"].get<double>(), 0.75);
  EXPECT_DOUBLE_EQ(row["share_of_read"].get<double>(), 0.5);
  EXPECT_EQ(row["predicted_bytes"], 131072);
  EXPECT_EQ(row["predicted_passes"], 2);
  EXPECT_DOUBLE_EQ(row["share_of_peak"].get<double>(), 0.1);
  EXPECT_DOUBLE_EQ(row["share_of_roof"].get<double>(), 0.75);
  EXPECT_EQ(row["unit"], "multiply_add");
  EXPECT_EQ(row["unit_products"], 1);
  EXPECT_EQ(row["samples_seconds"], json::array({2.75e-6, 2e-6, 2.25e-6, 3e-6}));  // in the order of measurement
  EXPECT_EQ(row["launches_per_sample"], 50);
  EXPECT_EQ(row["warmup_launches"], 12);
  EXPECT_EQ(row["worst_error_in_bounds"], 0.25);

  report.finish();
  EXPECT_TRUE(read(path("r.json"))["system"]["finished"].is_string());
  EXPECT_EQ(files(), 2u);  // the report and its lock: no temporary file is left
}

TEST_F(InDirectory, what_is_not_finite_is_null) {
  Report report(path("r.json"));
  CaseReport problem_case = a_case();
  problem_case.parameters["c"] = inf;
  (void)report.add_case(problem_case);
  RowReport row = a_row(Status::failed);
  row.worst_error_in_bounds = inf;
  row.reason = "bytes that are no UTF-8: \xff";
  report.add_row(row);
  json const document = read(path("r.json"));
  EXPECT_TRUE(document["input"][0]["parameters"]["c"].is_null());
  EXPECT_TRUE(document["rows"][0]["worst_error_in_bounds"].is_null());
  EXPECT_TRUE(document["rows"][0]["seconds"].is_null());
  EXPECT_TRUE(document["rows"][0]["bytes_per_second"].is_null());
  EXPECT_TRUE(document["rows"][0]["share_of_copy"].is_null());
  EXPECT_TRUE(document["rows"][0]["predicted_bytes"].is_null());
  EXPECT_TRUE(document["rows"][0]["predicted_passes"].is_null());
  EXPECT_FALSE(document["rows"][0].contains("parts"));
  EXPECT_EQ(document["rows"][0]["samples_seconds"], json::array());
}

TEST(roofs, the_lower_of_peak_and_bandwidth_binds) {
  Roofs roofs;
  EXPECT_TRUE(std::isnan(roofs.least_seconds(100, 100, roofs.peak(DType::float32))));
  roofs.copy_bytes_per_second = 100;
  EXPECT_EQ(roofs.least_seconds(100, 1e9, unknown), 1);  // the peak is unknown
  roofs.peak_operations_per_second = {50, 10, 400};
  EXPECT_EQ(roofs.least_seconds(100, 100, roofs.peak(DType::float32)), 2);
  EXPECT_EQ(roofs.least_seconds(100, 100, roofs.peak(DType::float64)), 10);
  EXPECT_EQ(roofs.least_seconds(100, 100, roofs.peak(DType::int32)), 1);
  EXPECT_EQ(roofs.least_seconds(0, 100, roofs.peak(DType::int32)), 0.25);
  EXPECT_EQ(roofs.least_seconds(0, 0, roofs.peak(DType::int32)), 0);
  roofs.copy_bytes_per_second = unknown;
  EXPECT_EQ(roofs.least_seconds(100, 100, roofs.peak(DType::float32)), 2);
}

TEST(roofs, a_row_is_compared_with_its_own_unit) {
  RowReport row = a_row();  // 4096 operations in 2.5 us
  double const rate = 4096 / 2.5e-6;
  row.roofs.peak_operations_per_second = {rate / 0.1, rate / 0.2, rate / 0.3};
  row.roofs.matrix_peak_operations_per_second = {rate / 0.04, rate / 0.02, rate / 0.01};
  row.roofs.copy_bytes_per_second = 1e30;
  auto const share_of = [&](Unit unit, int products = 1) {
    row.unit = unit;
    row.unit_products = products;
    EXPECT_DOUBLE_EQ(row.share_of_roof(), row.share_of_peak());
    EXPECT_TRUE(row.compute_bound());
    return row.share_of_roof();
  };
  EXPECT_DOUBLE_EQ(share_of(Unit::multiply_add), 0.1);
  EXPECT_DOUBLE_EQ(share_of(Unit::tf32), 0.04);
  EXPECT_DOUBLE_EQ(share_of(Unit::tf32, 3), 0.12);  // three products per product of the result
  EXPECT_DOUBLE_EQ(share_of(Unit::half), 0.02);
  EXPECT_DOUBLE_EQ(share_of(Unit::bfloat16), 0.01);
  EXPECT_EQ(share_text(row), "1.0% of roof");
  row.dtype = DType::float64;
  EXPECT_DOUBLE_EQ(share_of(Unit::multiply_add), 0.2);

  // If bandwidth is the limit, the unit does not matter.
  row.roofs.copy_bytes_per_second = 32768 / 2.5e-6 / 0.75;
  row.unit = Unit::tf32;
  EXPECT_DOUBLE_EQ(row.share_of_roof(), 0.75);
  EXPECT_FALSE(row.compute_bound());
  EXPECT_EQ(share_text(row), "75% of copy");
  // Without a measured peak there is no roof, because bandwidth does not limit this row.
  row.roofs.matrix_peak_operations_per_second = {unknown, rate, rate};
  EXPECT_TRUE(std::isnan(row.share_of_roof()));
  EXPECT_TRUE(std::isnan(row.share_of_peak()));
  EXPECT_FALSE(row.compute_bound());
}

TEST(roofs, nothing_moved_has_no_share) {
  RowReport row = a_row();
  row.bytes = 0;
  row.flops = 0;
  EXPECT_TRUE(std::isnan(row.share_of_copy()));
  EXPECT_TRUE(std::isnan(row.share_of_read()));
  EXPECT_TRUE(std::isnan(row.share_of_peak()));
  EXPECT_TRUE(std::isnan(row.share_of_roof()));
}

TEST_F(InDirectory, machine_file_is_read_as_it_was_written) {
  SpaceReport space;
  space.name = "openmp";
  space.device = "a processor";
  space.concurrency = 2;
  space.roofs = {.copy_bytes_per_second = 1e10,
                 .triad_bytes_per_second = 2e10,
                 .read_bytes_per_second = unknown,
                 .peak_operations_per_second = {3e12, unknown, 1e12},
                 .matrix_peak_operations_per_second = {3e14, 6e14, unknown},
                 .launch_seconds = 1e-6,
                 .launch_and_fence_seconds = 2e-6,
                 .working_set_bytes = 5e8};
  {
    WholeFile file("--save-machine", path("m.json"));
    write_machine_file(file, {space}, {{"compiler", "x"}}, {{"host", "here"}});
  }
  EXPECT_EQ(files(), 1u);
  EXPECT_EQ(read(path("m.json"))["system"]["host"], "here");
  auto const spaces = read_machine_file(path("m.json"));
  ASSERT_EQ(spaces.size(), 1u);
  SpaceReport const& found = spaces.at("openmp");
  EXPECT_EQ(found.device, "a processor");
  EXPECT_EQ(found.machine_file, path("m.json"));
  EXPECT_EQ(found.roofs.copy_bytes_per_second, 1e10);
  EXPECT_EQ(found.roofs.triad_bytes_per_second, 2e10);
  EXPECT_TRUE(std::isnan(found.roofs.read_bytes_per_second));
  EXPECT_EQ(found.roofs.peak(DType::float32), 3e12);
  EXPECT_TRUE(std::isnan(found.roofs.peak(DType::float64)));
  EXPECT_EQ(found.roofs.peak(DType::int32), 1e12);
  EXPECT_EQ(found.roofs.matrix_peak(Unit::tf32), 3e14);
  EXPECT_EQ(found.roofs.matrix_peak(Unit::half), 6e14);
  EXPECT_TRUE(std::isnan(found.roofs.matrix_peak(Unit::bfloat16)));
  EXPECT_EQ(found.roofs.launch_and_fence_seconds, 2e-6);

  // A file of an older release does not contain matrix units.
  json older = read(path("m.json"));
  json& its_space = older["spaces"]["openmp"];
  ASSERT_EQ(its_space.erase("matrix_peak_operations_per_second"), 1u);
  std::ofstream(path("older.json")) << older;
  Roofs const of_older = read_machine_file(path("older.json")).at("openmp").roofs;
  EXPECT_EQ(of_older.peak(DType::float32), 3e12);
  for (Unit const unit : matrix_units) EXPECT_TRUE(std::isnan(of_older.matrix_peak(unit)));
  // A file with missing or invalid entries is refused.
  for (json const& wrong : {json{{"tf32", 1e14}}, json{{"tf32", -1}, {"half", 1}, {"bfloat16", 1}}, json(1)}) {
    its_space["matrix_peak_operations_per_second"] = wrong;
    std::ofstream(path("older.json")) << older;
    EXPECT_THROW((void)read_machine_file(path("older.json")), UserError) << wrong;
  }
}

TEST_F(InDirectory, machine_files_that_are_none_are_refused) {
  auto const refused = [&](std::string const& text) {
    std::ofstream(path("m.json")) << text;
    try {
      (void)read_machine_file(path("m.json"));
    } catch (UserError const& error) {
      return std::string(error.what());
    }
    return std::string("read");
  };
  EXPECT_THROW((void)read_machine_file(path("absent.json")), UserError);
  EXPECT_TRUE(has(refused("{"), "not a JSON object"));
  EXPECT_TRUE(has(refused("[]"), "not a JSON object"));
  EXPECT_TRUE(has(refused("{}"), "schema"));
  EXPECT_TRUE(has(refused(R"({"schema": "tessera-report/1"})"), "schema"));
  EXPECT_TRUE(has(refused(R"({"schema": "tessera-machine/1"})"), "no spaces"));
  std::string const head = R"({"schema": "tessera-machine/1", "spaces": {"openmp": )";
  EXPECT_TRUE(has(refused(head + "3}}"), "openmp"));
  EXPECT_TRUE(has(refused(head + R"({"device": "x"}}})"), "no copy_bytes_per_second"));
  EXPECT_TRUE(has(refused(head + R"({"device": "x", "copy_bytes_per_second": -1}}})"), "not a positive number"));
  EXPECT_TRUE(has(refused(head + R"({"device": "x", "copy_bytes_per_second": "fast"}}})"), "not a positive number"));
  EXPECT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  for (std::string const& none : {path("pipe"), path("."), std::string("/dev/null")}) {
    EXPECT_THROW((void)read_machine_file(none), UserError) << none;  // must not wait for data
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// --baseline
// ---------------------------------------------------------------------------------------------------------------------

// A report of one rank: cases of 1024 and 4096 elements with two variants each, and further rows that must not be used.
class OneRank : public InDirectory {
 protected:
  OneRank() {
    Report report(path("one.json"));
    report.build = {{"version", "0.2.0"}, {"git_commit", "abc"}};
    report.system["ranks"] = "1";
    report.spaces.push_back({.name = "openmp", .device = "a processor, 2 threads", .roofs = {}, .machine_file = {}});
    for (std::size_t const size : {1024, 4096}) {
      CaseReport one = a_case();
      one.size = size;
      one.input = {{"a", {size}}};
      std::size_t const index = report.add_case(one);
      double const unit = static_cast<double>(size) / 1024;
      add(report, index, unit, "plain", 3);
      add(report, index, unit, "distributed", 2);
      add(report, index, unit, "wrong", 0.01, Status::failed);
      add(report, index, unit, "cold", 0.02, Status::passed, "openmp", true);
      add(report, index, unit, "distributed", 0.1, Status::passed, "cuda");
    }
    CaseReport other = a_case();
    other.size = 1024;
    other.parameters["tile"] = std::int64_t{16};
    add(report, report.add_case(other), 1, "distributed", 0.5);
    other = a_case();
    other.size = 8192;
    std::size_t const noise = report.add_case(other);
    add(report, noise, 1, "noisy", 0.1, Status::passed, "openmp", false, {0.1, 0.1, 0.2, 0.2});
    add(report, noise, 1, "quiet", 3);
    add(report, noise, 1, "noisier", 0.01, Status::passed, "openmp", false, {0.01, 0.01, 0.2});
    other = a_case();
    other.source = "there/case.h5";
    other.size = {};
    other.seed = {};
    other.data = {};
    other.input = {{"a", {77}}};
    add(report, report.add_case(other), 1, "distributed", 7);
    report.finish();
  }

  static void add(Report& report, std::size_t index, double unit, std::string const& variant, double seconds,
                  Status status = Status::passed, std::string const& space = "openmp", bool cold = false,
                  std::vector<double> const& samples = {}) {
    RowReport row = a_row(status);
    row.case_index = index;
    row.variant = variant;
    row.space = space;
    row.cold = cold;
    row.bytes = 8192 * unit;
    row.flops = 1024 * unit;
    row.samples.seconds = samples.empty() ? std::vector<double>{seconds * unit} : samples;
    report.add_row(row);
  }

  [[nodiscard]] std::optional<Baseline::Row> find(std::size_t size, std::string const& variant,
                                                  std::string const& space = "openmp", bool cold = false) const {
    return Baseline(path("one.json"), "0.2.0").find({a_case(), size, variant, space, cold});
  }
  [[nodiscard]] std::string refusal(std::string const& name, std::string const& version = "0.2.0") const {
    try {
      Baseline const baseline(path(name), version);
    } catch (UserError const& error) {
      return error.what();
    }
    return {};
  }
};

TEST_F(OneRank, has_the_row_of_the_same_case_and_variant) {
  EXPECT_EQ(find(1024, "distributed")->seconds, 2);
  EXPECT_EQ(find(4096, "distributed")->seconds, 8);
  EXPECT_EQ(find(4096, "distributed", "cuda")->seconds, 0.4);
  // Otherwise the fastest row is used and named; failed rows and rows with cold caches do not count.
  EXPECT_EQ(find(4096, "ring")->variant, "distributed");
  EXPECT_EQ(find(4096, "plain")->variant, "plain");
  EXPECT_EQ(find(4096, "ring", "openmp", true)->variant, "cold");
  // The fastest row that is not noisy is preferred; a noisy row is used if it is named.
  EXPECT_EQ(find(8192, "ring")->variant, "quiet");
  EXPECT_FALSE(find(8192, "ring")->noisy);
  EXPECT_TRUE(find(8192, "noisy")->noisy);
  EXPECT_FALSE(find(2048, "distributed"));
  EXPECT_FALSE(find(1024, "distributed", "serial"));

  Baseline const baseline(path("one.json"), "0.2.0");
  auto const found = [&](CaseReport const& of) {
    return baseline.find({of, 1024, "distributed", "openmp"}).has_value();
  };
  CaseReport of = a_case();
  EXPECT_TRUE(found(of));
  of.seed = 43;
  EXPECT_FALSE(found(of));
  of = a_case();
  of.data = DataKind::random;
  EXPECT_FALSE(found(of));
  of = a_case();
  of.dtype = DType::float64;
  EXPECT_FALSE(found(of));
  of = a_case();
  of.app = "other";
  EXPECT_FALSE(found(of));
  of = a_case();
  of.parameters["c"] = 11.0;
  EXPECT_FALSE(found(of));
  of = a_case();
  of.parameters["tile"] = std::int64_t{16};
  EXPECT_EQ(baseline.find({of, 1024, "distributed", "openmp"})->seconds, 0.5);

  // A file is identified by its name, and by its shapes if they are known.
  of = a_case();
  of.source = "here/case.h5";
  EXPECT_EQ(baseline.find({of, {}, "distributed", "openmp"}), std::nullopt);
  of.input = {{"a", {77}}};
  EXPECT_EQ(baseline.find({of, {}, "distributed", "openmp"})->seconds, 7);
  of.input.clear();
  EXPECT_EQ(baseline.find({of, {}, "distributed", "openmp"})->seconds, 7);
  of.source = "here/other.h5";
  EXPECT_FALSE(baseline.find({of, {}, "distributed", "openmp"}));
}

TEST_F(OneRank, gives_the_efficiency_of_several) {
  RowReport row = a_row();
  row.ranks.count = 4;
  row.bytes = 32768;
  row.flops = 4096;
  // Strong scaling: 4096 elements take one rank 8 s; ideally, four ranks take 2 s.
  row.samples.seconds = {2};
  EXPECT_DOUBLE_EQ(efficiency_of(row, *find(4096, "distributed")), 1);
  row.samples.seconds = {5};
  EXPECT_DOUBLE_EQ(efficiency_of(row, *find(4096, "distributed")), 0.4);
  // Weak scaling: each of the four ranks has the work that takes one rank 2 s.
  EXPECT_DOUBLE_EQ(efficiency_of(row, *find(1024, "distributed")), 0.4);
  row.samples.seconds = {2.5};
  EXPECT_DOUBLE_EQ(efficiency_of(row, *find(1024, "distributed")), 0.8);
  // If the work grows faster than the size, each of the four ranks has twice the work of one rank.
  row.flops = 8192;
  EXPECT_DOUBLE_EQ(efficiency_of(row, *find(1024, "distributed")), 1.6);
  // Without operations the bytes count.
  row.flops = 0;
  EXPECT_DOUBLE_EQ(efficiency_of(row, {.variant = "distributed", .seconds = 2, .work = 8192}), 0.8);
  row.bytes = 0;
  EXPECT_TRUE(std::isnan(efficiency_of(row, *find(1024, "distributed"))));
}

TEST_F(OneRank, is_in_the_table_and_the_report) {
  RowReport row = a_row();
  row.ranks.count = 4;
  row.ranks.scaling = Scaling{0.931, true, "distributed", 1024, 0.0123};
  std::ostringstream out;
  Table table(out);
  table.add_row(row);
  EXPECT_TRUE(
      has(out.str(), "    efficiency 93.1%: weak scaling, one rank takes 12.3 ms (distributed, size 1024 (2^10))\n"));
  EXPECT_EQ(scaling_text({0.5, false, "plain", {}, 2}),
            "efficiency 50.0%: strong scaling, one rank takes 2.00 s (plain)");
  EXPECT_TRUE(scaling_text({0.5, false, "plain", {}, 2, true}).starts_with("efficiency ~50.0%"));

  Report report;
  report.add_row(row);
  json const scaling = json::parse(report.document())["rows"][0]["ranks"]["scaling"];
  EXPECT_EQ(scaling, (json{{"kind", "weak"},
                           {"efficiency", 0.931},
                           {"baseline_variant", "distributed"},
                           {"baseline_size", 1024},
                           {"baseline_seconds", 0.0123}}));
  row.ranks.scaling = {};
  Report without;
  without.add_row(row);
  EXPECT_FALSE(json::parse(without.document())["rows"][0]["ranks"].contains("scaling"));
}

TEST_F(OneRank, is_refused_where_it_is_something_else) {
  EXPECT_EQ(refusal("one.json"), "");
  EXPECT_TRUE(has(refusal("absent.json"), "cannot use --baseline " + path("absent.json") + " (there is no such file"));
  EXPECT_TRUE(has(refusal("one.json", "0.3.0"), "(it is of version 0.2.0 of Tessera, this is 0.3.0)"));
  auto const changed = [&](auto const& change) {
    json document = read(path("one.json"));
    change(document);
    std::ofstream(path("changed.json")) << document;
    return refusal("changed.json");
  };
  EXPECT_TRUE(
      has(changed([](json& all) { all["schema"] = "tessera-report/2"; }), "its schema is not tessera-report/1"));
  EXPECT_TRUE(has(changed([](json& all) { all["system"]["ranks"] = "4"; }), "(its run was on 4 ranks)"));
  EXPECT_TRUE(has(changed([](json& all) { all["rows"].clear(); }), "(it has no verified row)"));
  EXPECT_TRUE(has(changed([](json& all) { all["rows"][0].erase("variant"); }), "it is not whole"));
  EXPECT_TRUE(has(changed([](json& all) { all["rows"][0]["case"] = 99; }), "it is not whole"));
  EXPECT_TRUE(has(changed([](json& all) { all = json::array(); }), "it is not a JSON object"));
}

TEST_F(OneRank, says_what_was_different) {
  Baseline const baseline(path("one.json"), "0.2.0");
  EXPECT_TRUE(baseline.differences({{"version", "0.2.0"}, {"git_commit", "abc"}}).empty());
  auto const texts = baseline.differences({{"version", "0.2.0"}, {"git_commit", "def"}});
  ASSERT_EQ(texts.size(), 1u);
  EXPECT_EQ(texts[0], "--baseline: another commit, abc, here def");
  EXPECT_EQ(baseline.difference("openmp", "a processor, 2 threads"), "");
  EXPECT_TRUE(has(baseline.difference("openmp", "a processor, 1 threads"), "its openmp was a processor, 2 threads"));
}

TEST_F(InDirectory, counts_and_last_line) {
  Report report;
  EXPECT_EQ(report.last_line(), "TESSERA rows=0 passed=0 failed=0 skipped=0 weak=0");
  EXPECT_EQ(json::parse(report.document())["rows"], json::array());
  for (int i = 0; i < 3; ++i) report.add_row(a_row());
  report.add_row(a_row(Status::skipped));
  report.add_row(a_row(Status::skipped));
  report.add_row(a_row(Status::failed));
  report.add_row(a_row(Status::weak));
  EXPECT_EQ(report.last_line(), "TESSERA rows=7 passed=3 failed=1 skipped=2 weak=1");
  EXPECT_EQ(json::parse(report.document())["rows"].size(), 7u);
}

TEST_F(InDirectory, an_old_report_stays_until_there_is_a_row) {
  std::ofstream(path("r.json")) << "old";
  Report report(path("r.json"));
  (void)report.add_case(a_case());
  report.finish();
  EXPECT_EQ(fs::file_size(path("r.json")), 3u);
  report.add_row(a_row());
  EXPECT_EQ(read(path("r.json"))["rows"].size(), 1u);
}

TEST_F(InDirectory, writing_takes_a_twentieth_of_the_time_however_many_rows) {
  double time = 0;
  Report report(path("r.json"), [&time] { return time += 0.5; });  // writing the report takes 0.5 s, a row 0.5 s
  report.add_row(a_row());
  EXPECT_EQ(read(path("r.json"))["rows"].size(), 1u);  // the first row is written at once
  for (int i = 0; i < 19; ++i) report.add_row(a_row());
  EXPECT_EQ(report.writings(), 1u);
  report.add_row(a_row());
  EXPECT_EQ(report.writings(), 2u);
  EXPECT_EQ(read(path("r.json"))["rows"].size(), 21u);
  report.add_row(a_row());
  time += 10;  // a long row is written when it is done
  report.add_row(a_row());
  EXPECT_EQ(read(path("r.json"))["rows"].size(), 23u);
  report.add_row(a_row());
  report.flush();
  EXPECT_EQ(read(path("r.json"))["rows"].size(), 24u);
  EXPECT_EQ(report.writings(), 4u);
  report.flush();
  EXPECT_EQ(report.writings(), 4u);  // there is nothing new
  report.add_row(a_row());
  report.finish();
  EXPECT_EQ(read(path("r.json"))["rows"].size(), 25u);
}

TEST_F(InDirectory, rows_that_were_not_written_are_when_the_report_goes) {
  {
    Report report(path("r.json"), [] { return 0.0; });
    for (int i = 0; i < 3; ++i) report.add_row(a_row());
  }
  EXPECT_EQ(read(path("r.json"))["rows"].size(), 3u);
  EXPECT_TRUE(read(path("r.json"))["system"]["finished"].is_null());
}

TEST_F(InDirectory, three_thousand_rows_are_written_a_few_times) {
  Report report(path("r.json"));
  for (int i = 0; i < 3000; ++i) report.add_row(a_row());
  report.finish();
  EXPECT_LT(report.writings(), 600u);
  EXPECT_EQ(read(path("r.json"))["rows"].size(), 3000u);
}

TEST_F(InDirectory, a_crash_at_any_moment_leaves_a_report_that_can_be_read) {
  for (int round = 0; round < 10; ++round) {
    fs::remove(path("r.json"));
    pid_t const child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      Report report(path("r.json"));
      for (;;) report.add_row(a_row());
    }
    while (!fs::exists(path("r.json"))) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(7 * round));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    json const document = read(path("r.json"));
    EXPECT_GE(document["rows"].size(), 1u);
    EXPECT_TRUE(document["system"]["finished"].is_null());
  }
}

std::string refused(std::string const& path) {
  try {
    Report const report(path);
  } catch (UserError const& error) {
    return error.what();
  }
  return "no error";
}

TEST_F(InDirectory, refuses_what_cannot_be_written) {
  EXPECT_TRUE(has(refused(path("missing/r.json")), "there is no directory"));
  EXPECT_TRUE(has(refused(directory.string()), "it is a directory"));
  EXPECT_TRUE(has(refused(path("")), "it is a directory"));
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_TRUE(has(refused(path("pipe")), "it is not a regular file"));
  EXPECT_TRUE(has(refused("/dev/null"), "it is not a regular file"));  // renaming would replace the device
  EXPECT_TRUE(has(refused(path("pipe") + "/r.json"), "there is no directory"));
  EXPECT_EQ(files(), 1u);
}

TEST_F(InDirectory, a_link_is_followed_not_replaced) {
  std::ofstream(path("target.json")) << "old";
  fs::create_symlink(path("target.json"), path("link.json"));
  Report report(path("link.json"));
  report.add_row(a_row());
  EXPECT_TRUE(fs::is_symlink(path("link.json")));
  EXPECT_EQ(read(path("target.json"))["rows"].size(), 1u);
}

TEST_F(InDirectory, losing_the_directory_is_an_error_and_keeps_the_row) {
  fs::create_directory(path("gone"));
  Report report(path("gone/r.json"));
  fs::remove_all(path("gone"));
  EXPECT_THROW(report.add_row(a_row()), std::runtime_error);
  EXPECT_EQ(report.rows(), 1u);
}

TEST_F(InDirectory, rows_for_a_spreadsheet) {
  Csv csv(path("rows.csv"));
  csv.write();
  EXPECT_FALSE(fs::exists(path("rows.csv")));  // nothing ran
  RowReport row = a_row();
  row.samples.seconds = {1.75, 2.25, 2, 2};
  row.roofs = {};
  row.roofs.copy_bytes_per_second = 32768;
  row.roofs.peak_operations_per_second[0] = 4096;
  row.speedup = 1.25;
  row.energy = Energy{.joules = 128, .seconds = 8, .launches = 2, .source = "a test"};
  row.field_elements = 2048;
  csv.add_row(row, "", {{"c", 10.0}, {"op", std::string("sum")}});
  RowReport failed = a_row(Status::failed);
  failed.size = {};
  failed.reason = "it said \"no\", twice\nand more";
  csv.add_row(failed, "a,b.h5", {});
  csv.write();
  std::ostringstream text;
  text << std::ifstream(path("rows.csv")).rdbuf();
  EXPECT_EQ(text.str(),
            "app,variant,level,space,dtype,size,file,parameters,ranks,cold,status,noisy,samples,seconds,seconds_min,"
            "seconds_first_quartile,seconds_third_quartile,seconds_max,speedup,bytes,flops,bytes_per_second,"
            "flops_per_second,share_of_copy,share_of_roof,checked_relative_error,worst_error_in_bounds,"
            "joules_per_element,joules_per_flop,watts,reason\n"
            "fake,good,range,openmp,float,4096,,c=10 op=sum,1,false,passed,false,4,2,1.75,1.9375,2.0625,2.25,1.25,"
            "32768,4096,16384,2048,0.5,0.5,2.4e-07,0.25,0.0625,0.03125,32,\n"
            "fake,good,range,openmp,float,,\"a,b.h5\",,1,false,failed,false,0,,,,,,,32768,4096,,,,,,,,,,"
            "\"it said \"\"no\"\", twice\nand more\"\n");
}

TEST(formats, seconds) {
  EXPECT_EQ(format_seconds(8.5e-9), "8.50 ns");
  EXPECT_EQ(format_seconds(850e-9), "850 ns");
  EXPECT_EQ(format_seconds(999.7e-9), "1.00 us");
  EXPECT_EQ(format_seconds(12.34e-6), "12.3 us");
  EXPECT_EQ(format_seconds(1.234e-3), "1.23 ms");
  EXPECT_EQ(format_seconds(2.345), "2.35 s");
  EXPECT_EQ(format_seconds(99.96), "100 s");
  EXPECT_EQ(format_seconds(0), "0.00 ns");
  EXPECT_EQ(format_seconds(unknown), "-");
}

TEST(formats, bytes_and_sizes) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(65536), "64.0 KiB");
  EXPECT_EQ(format_bytes(1.5 * 1024 * 1024 * 1024), "1.5 GiB");
  EXPECT_EQ(format_bytes(0x1p54), "16.0 PiB");
  EXPECT_EQ(format_bytes(0x1p64), "16.0 EiB");
  EXPECT_EQ(format_size(1 << 24), "16777216 (2^24)");
  EXPECT_EQ(format_size(8), "8");
  EXPECT_EQ(format_size(0), "0");
  EXPECT_EQ(format_size(1000), "1000");
}

TEST(formats, numbers) {
  EXPECT_EQ(format_number(0), "0");
  EXPECT_EQ(format_number(0.0123), "0.012");
  EXPECT_EQ(format_number(0.0001), "1.0e-04");
  EXPECT_EQ(format_number(1.234), "1.23");
  EXPECT_EQ(format_number(4296.4), "4296");
  EXPECT_EQ(format_number(123456), "1.2e+05");
  EXPECT_EQ(format_number(unknown), "-");
  EXPECT_EQ(format_number(inf), "inf");
}

TEST(table, lines_up_and_shows_reasons) {
  App app;
  app.info = {"fake", "out[i] = a[i] + c"};
  Row const good{{"good", Level::range, "", true}, "openmp", DType::float32, nullptr};
  Row const longer{{"two_phase_scan", Level::device, "", true}, "openmp", DType::float32, nullptr};
  std::ostringstream out;
  Table table(out);
  table.begin_app(app, {&good, &longer});
  table.begin_case(a_case(), 0, 2);
  table.add_row(a_row());
  RowReport failed = a_row(Status::failed);
  failed.variant = "two_phase_scan";
  failed.level = Level::device;
  failed.worst_error_in_bounds = inf;
  failed.note = "tiles of 64";
  failed.checked_relative_error = 0;
  failed.unchecked = 3;
  table.add_row(failed);
  CaseReport file = a_case();
  file.source = "inputs/fake/p01.h5";
  file.data = {};
  table.begin_case(file, 1, 2);
  table.add_row(a_row(Status::skipped));
  table.end_app();
  EXPECT_EQ(
      out.str(),
      "\n"
      "fake: out[i] = a[i] + c\n"
      "  variant         level    space   status       time     GB/s  % copy  GFLOP/s  % roof  checked  error/bound  "
      "note\n"
      "case 1/2: generated, size 4096 (2^12), exact data, seed 42, float a [4096], c=10, exclusive=false, op=sum, "
      "tile=8,\n"
      "    moves 32.0 KiB\n"
      "  good            range    openmp  passed    2.50 us     13.1    75.0     1.64    75.0  2.4e-07        0.250\n"
      "  two_phase_scan  device   openmp  FAILED          -        -       -        -       -    exact          inf  "
      "3 unchecked; ti...\n"
      "    why: because\n"
      "case 2/2: inputs/fake/p01.h5, float a [4096], c=10, exclusive=false, op=sum, tile=8, moves 32.0 KiB\n"
      "  skipped in case 2: good\n"
      "    why: because\n");
}

TEST_F(InDirectory, a_row_judged_by_statistics_says_so) {
  RowReport row = a_row();
  row.false_alarms = 1e-6;
  row.checked_relative_error = row.worst_error_in_bounds = unknown;
  EXPECT_NE(row_line(row).find(" checked=p<1e-06 "), std::string::npos) << row_line(row);
  Report report(path("r.json"));
  (void)report.add_case(a_case());
  report.add_row(row);
  report.add_row(a_row());
  report.flush();
  json const rows = read(path("r.json"))["rows"];
  EXPECT_EQ(rows.at(0)["false_alarm_rate"], 1e-6);
  EXPECT_TRUE(rows.at(0)["checked_relative_error"].is_null());
  EXPECT_FALSE(rows.at(1).contains("false_alarm_rate"));
  std::ostringstream out;
  Table table(out);
  App app;
  app.info = {"fake", ""};
  Row const good{{"good", Level::range, "", true}, "openmp", DType::float32, nullptr};
  table.begin_app(app, {&good});
  table.add_row(row);
  EXPECT_NE(out.str().find("  p<1e-06  "), std::string::npos) << out.str();
}

// 4096 elements in 2.5 us.
TEST_F(InDirectory, tables_show_a_rate_if_the_mini_app_names_it) {
  std::ostringstream out;
  Table table(out);
  App app;
  app.info = {.name = "fake", .summary = "", .rate = "points"};
  Row const good{{"good", Level::range, "", true}, "openmp", DType::float32, nullptr};
  table.begin_app(app, {&good});
  table.add_row(a_row());
  EXPECT_NE(out.str().find("1.64 G points/s"), std::string::npos) << out.str();
}

// A row of 2.5 us.
TEST_F(InDirectory, overlap_of_parts) {
  RowReport row = a_row();
  row.prediction = Prediction{.bytes = 1, .longest_seconds = 3e-6, .sum_seconds = 4e-6};
  EXPECT_NEAR(row.overlap(), 1.5, 1e-12);  // faster than the longest part by itself
  row.prediction = Prediction{.bytes = 1, .longest_seconds = 2.5e-6, .sum_seconds = 4.5e-6};
  EXPECT_NEAR(row.overlap(), 1, 1e-12);
  row.prediction = Prediction{.bytes = 1, .longest_seconds = 1e-6, .sum_seconds = 4e-6};
  EXPECT_NEAR(row.overlap(), 0.5, 1e-12);
  Report report(path("r.json"));
  (void)report.add_case(a_case());
  report.add_row(row);
  json const document = read(path("r.json"));
  json const& parts = document["rows"].at(0)["parts"];
  EXPECT_EQ(parts["longest_seconds"], 1e-6);
  EXPECT_EQ(parts["sum_seconds"], 4e-6);
  EXPECT_NEAR(parts["overlap"].get<double>(), 0.5, 1e-12);
  std::ostringstream out;
  Table table(out);
  App app;
  app.info = {"fake", ""};
  Row const good{{"good", Level::range, "", true}, "openmp", DType::float32, nullptr};
  table.begin_app(app, {&good});
  table.add_row(row);
  EXPECT_NE(out.str().find("overlap 50%, 1.00 us..4.00 us"), std::string::npos) << out.str();
  row.prediction = Prediction{.bytes = 1, .longest_seconds = 2e-6, .sum_seconds = 2.1e-6};  // hardly a second part
  EXPECT_TRUE(std::isnan(row.overlap()));
}

std::size_t longest_line(std::string const& text) {
  std::istringstream lines(text);
  std::size_t longest = 0;
  for (std::string line; std::getline(lines, line);) longest = std::max(longest, line.size());
  return longest;
}

RowReport noisy_row(double seconds = 2.5e-6) {
  RowReport row = a_row();
  row.samples.seconds = {seconds, seconds, 0.5 * seconds, 4 * seconds, 5 * seconds};
  return row;
}

TEST(noise, is_in_the_line_and_the_report) {
  EXPECT_TRUE(has(row_line(a_row()), " size=4096 "));
  EXPECT_TRUE(row_line(a_row()).ends_with(" status=passed noisy=false"));
  EXPECT_TRUE(row_line(noisy_row()).ends_with(" status=passed noisy=true"));
  Report report;
  report.add_row(noisy_row());
  report.add_row(a_row());
  RowReport skipped = a_row(Status::skipped);
  skipped.size = {};
  report.add_row(skipped);
  json const rows = json::parse(report.document())["rows"];
  EXPECT_EQ(rows[0]["noisy"], true);
  EXPECT_EQ(rows[1]["noisy"], false);
  EXPECT_EQ(rows[2]["noisy"], false);
  EXPECT_TRUE(rows[2]["size"].is_null());
  EXPECT_EQ(report.timed(), 2u);
  EXPECT_EQ(report.noisy(), 1u);
}

TEST(noise, in_words) {
  EXPECT_EQ(noise_text(1, 3, {}), "noise: 1 of 3 rows marked ~ (quartiles 1.5x apart)");
  EXPECT_EQ(noise_text(0, 3, OtherLoad{0.84, 2}),
            "noise: 0 of 3 rows marked ~ (quartiles 1.5x apart); others kept 0.8 of 2 processors busy");
}

TEST(noise, is_in_the_table_and_its_columns_line_up) {
  App app;
  app.info = {"fake", "a sum"};
  Row const good{{"good", Level::range, "", true}, "openmp", DType::float32, nullptr};
  auto const table_of = [&](bool spread) {
    std::ostringstream out;
    Table table(out, spread);
    table.begin_app(app, {&good});
    table.begin_case(a_case(), 0, 1);
    RowReport row = a_row();
    row.speedup = 1;
    table.add_row(row);
    row = noisy_row();
    row.speedup = 1.5;
    row.noisy_speedup = true;
    table.add_row(row);
    RowReport failed = a_row(Status::failed);
    failed.note = std::string(200, 'x');
    table.add_row(failed);
    return out.str();
  };
  std::string const plain = table_of(false);
  EXPECT_TRUE(has(plain, "  good     range    openmp  passed    2.50 us     13.1    75.0"));
  EXPECT_TRUE(has(plain, "  good     range    openmp  passed   ~2.50 us     13.1    75.0"));
  EXPECT_EQ(plain.find("samples"), std::string::npos);
  std::string const spread = table_of(true);
  std::string const columns = "      time  samples       min   lower q   upper q  x baseline     GB/s";
  EXPECT_TRUE(has(spread, columns));
  EXPECT_TRUE(has(spread, "  2.50 us        4   2.00 us   2.19 us   2.81 us        1.00     13.1"));
  EXPECT_TRUE(has(spread, " ~2.50 us        5   1.25 us   2.50 us   10.0 us       ~1.50     13.1"));
  EXPECT_TRUE(has(spread, "        -        -         -         -         -           -        -"));
  EXPECT_EQ(longest_line(spread), 128u + 51);  // the note has the same width as without a spread
}

TEST(energy, is_in_the_table_and_the_report) {
  App app;
  app.info = {"fake", "a sum"};
  Row const good{{"good", Level::range, "", true}, "openmp", DType::float32, nullptr};
  std::ostringstream out;
  Table table(out, false, true);
  table.begin_app(app, {&good});
  table.begin_case(a_case(), 0, 1);
  RowReport row = a_row();
  row.field_elements = 4096;
  row.energy = Energy{.joules = 4096 * 1.5e-9, .seconds = 1.25, .launches = 50000, .source = "a test"};
  table.add_row(row);
  RowReport without = a_row();
  without.flops = 0;
  table.add_row(without);
  RowReport failed = a_row(Status::failed);
  failed.note = std::string(200, 'x');
  table.add_row(failed);
  EXPECT_TRUE(has(out.str(), "      time  nJ/elem  pJ/FLOP       W     GB/s"));
  EXPECT_TRUE(has(out.str(), "  2.50 us     1.50     1500   0.246     13.1"));
  EXPECT_TRUE(has(out.str(), "  2.50 us        -        -       -     13.1"));
  EXPECT_EQ(longest_line(out.str()), 128u + 26);

  Report report;
  report.add_row(row);
  report.add_row(without);
  json const rows = json::parse(report.document())["rows"];
  json const energy = rows[0]["energy"];
  EXPECT_DOUBLE_EQ(energy["joules"], 4096 * 1.5e-9);
  EXPECT_DOUBLE_EQ(energy["joules_per_element"], 1.5e-9);
  EXPECT_DOUBLE_EQ(energy["joules_per_flop"], 1.5e-9);
  EXPECT_DOUBLE_EQ(energy["watts"], 4096 * 1.5e-9 * 50000 / 1.25);
  EXPECT_EQ(energy["launches"], 50000);
  EXPECT_EQ(energy["source"], "a test");
  EXPECT_FALSE(rows[1].contains("energy"));
}

TEST(table, reasons_that_differ_in_numbers_are_of_one_kind) {
  EXPECT_EQ(reason_kind("12 rows of 4096 elements (2^31 - 1)"), "N rows of N elements (N^N - N)");
  EXPECT_EQ(reason_kind("it holds int32"), "it holds int32");
  EXPECT_EQ(reason_kind(""), "");
}

TEST(table, a_reason_of_skips_is_said_once_for_an_app) {
  App app;
  app.info = {"fake", "a sum"};
  Row const good{{"good", Level::range, "", true}, "openmp", DType::float32, nullptr};
  Row const other{{"other", Level::range, "", true}, "openmp", DType::float32, nullptr};
  std::ostringstream out;
  Table table(out);
  table.begin_app(app, {&good, &other});
  for (std::size_t i = 0; i < 9; ++i) {
    table.begin_case(a_case(), i, 20);
    RowReport row = a_row(Status::skipped);
    row.reason = "built without it";
    table.add_row(row);
    row.variant = "other";
    table.add_row(row);
    row.variant = "long";
    row.reason = "rows of " + std::to_string(1000 + i) + " elements (lanes hold 64)";
    if (i % 4 == 0) table.add_row(row);
    row.variant = "seldom";
    row.reason = "odd";
    if (i != 4) table.add_row(row);
  }
  std::string const before = out.str();
  EXPECT_EQ(before.find("skipped"), std::string::npos);
  table.end_app();
  EXPECT_EQ(out.str().substr(before.size()),
            "  skipped: good, other\n"
            "    why: built without it\n"
            "  skipped in cases 1, 5, 9: long\n"
            "    why: rows of 1000 elements (lanes hold 64), and the like\n"
            "  skipped in 8 of 9 cases: seldom\n"
            "    why: odd\n");
  table.begin_app(app, {&good});  // the next app does not repeat it
  EXPECT_EQ(out.str().find("skipped: good"), out.str().rfind("skipped: good"));
}

TEST(table, a_new_heading_where_the_columns_change) {
  App app;
  app.info = {"fake", "a sum"};
  Row const good{{"good", Level::range, "", true}, "openmp", DType::float32, nullptr};
  std::ostringstream out;
  Table table(out);
  table.begin_app(app, {&good});
  CaseReport empty = a_case();
  empty.flops = 0;
  table.begin_case(empty, 0, 3);
  table.begin_case(a_case(), 1, 3);
  table.begin_case(a_case(), 2, 3);
  std::string const text = out.str();
  EXPECT_NE(text.find("  variant"), text.rfind("  variant"));
  EXPECT_EQ(text.find("GFLOP/s"), text.rfind("GFLOP/s"));
}

TEST(table, has_no_flops_column_without_flops_and_cuts_long_notes) {
  App app;
  app.info = {"fake", "a copy"};
  Row const good{{"good", Level::range, "", true}, "openmp", DType::float32, nullptr};
  std::ostringstream out;
  Table table(out);
  table.begin_app(app, {&good});
  CaseReport problem_case = a_case();
  problem_case.flops = 0;
  problem_case.source = std::string(60, 'd') + "/case.h5";
  table.begin_case(problem_case, 0, 1);
  RowReport row = a_row();
  row.note = std::string(200, 'x');
  table.add_row(row);
  EXPECT_EQ(out.str().find("GFLOP/s"), std::string::npos);
  std::string const last = out.str().substr(out.str().rfind("  good"));
  EXPECT_EQ(last.size(), 129u);
  EXPECT_TRUE(has(last, "xxx...\n"));
  EXPECT_TRUE(has(out.str(), "op=sum,\n    tile=8, moves"));  // a long line is wrapped
}

// A mini-app in the digest, with this name and rows of these names.
App named_app(std::string_view name) {
  App app;
  app.info = {name, "out[i] = a[i] + c"};
  return app;
}

CaseReport large_case() {
  CaseReport report = a_case();
  report.bytes = 0x1p26;
  report.flops = 0x1p24;
  return report;
}

// A row of large_case that reaches this share of copy bandwidth.
RowReport large_row(std::string const& variant, double share, std::string const& space = "openmp") {
  RowReport row = a_row();
  row.variant = variant;
  row.space = space;
  row.bytes = 0x1p26;
  row.flops = 0x1p24;
  row.roofs = {};
  row.samples.seconds = {1e-4 / share};
  row.roofs.copy_bytes_per_second = 0x1p26 / 1e-4;
  return row;
}

struct DigestOf {
  explicit DigestOf(std::size_t spaces = 1, std::size_t dtypes = 1)
      : digest(out, {"fake", "prefix_sum"}, spaces, dtypes) {}
  std::string end(DigestEnd const& how = {}) {
    digest.finish(how);
    return out.str();
  }
  std::ostringstream out;
  Digest digest;
  Row const good{{"good", Level::range, "", true}, "openmp", DType::float32, nullptr};
  Row const other{{"other", Level::range, "", true}, "openmp", DType::float32, nullptr};
};

TEST(digest, a_line_says_what_was_verified_and_the_best_of_the_largest_case) {
  DigestOf of;
  App const app = named_app("fake");
  of.digest.begin_app(app, 2, {&of.good, &of.other, &of.good, &of.other});
  of.digest.begin_case(large_case(), "size 2^24");
  of.digest.add_row(large_row("good", 0.25), "");
  of.digest.add_row(large_row("other", 0.5), "");
  // Faster, but in a cache: small cases do not measure speed.
  of.digest.begin_case(a_case(), "small.h5");
  RowReport small = a_row();
  small.case_index = 1;
  of.digest.add_row(small, "");
  EXPECT_EQ(of.out.str(), "");
  of.digest.end_app();
  EXPECT_EQ(of.out.str(), "fake         2 variants   2 cases verified  best other 50% of copy\n");
  EXPECT_EQ(of.digest.slowest().first, "fake");
}

TEST(digest, of_several_tunings_of_one_input_the_best_is_named_with_its_own) {
  DigestOf of;
  App const app = named_app("fake");
  of.digest.begin_app(app, 3, {&of.good});
  of.digest.begin_case(large_case(), "size 2^24, tile 8", "tile 8");
  of.digest.add_row(large_row("good", 0.25), "");
  of.digest.begin_case(large_case(), "size 2^24, tile 16", "tile 16", true);
  of.digest.add_row(large_row("good", 0.5), "");
  of.digest.begin_case(large_case(), "size 2^24, tile 32", "tile 32", true);
  of.digest.add_row(large_row("good", 0.4), "");
  EXPECT_TRUE(has(of.end(), "3 cases verified  best good at tile 16 50% of copy\n"));
}

TEST(digest, the_best_is_not_noisy_unless_all_are) {
  App const app = named_app("fake");
  auto const noisy = [](std::string const& variant, double share) {
    RowReport row = large_row(variant, share);
    double const seconds = row.samples.seconds.front();
    row.samples.seconds = {seconds, 0.2 * seconds, 3 * seconds, seconds, 2 * seconds};
    return row;
  };
  DigestOf of;
  of.digest.begin_app(app, 1, {&of.good, &of.other});
  of.digest.begin_case(large_case(), "size 2^24");
  of.digest.add_row(noisy("first", 0.9), "");
  of.digest.add_row(large_row("quiet", 0.25), "");
  of.digest.add_row(noisy("last", 0.8), "");
  of.digest.end_app();
  EXPECT_TRUE(has(of.out.str(), "best quiet 25% of copy\n"));
  EXPECT_EQ(of.digest.slowest().second, "25% of copy");
  // A row at 6.4% of copy bandwidth may be the best: it is marked, but is no reason to look at the mini-app.
  DigestOf only;
  only.digest.begin_app(app, 1, {&only.good});
  only.digest.begin_case(large_case(), "size 2^24");
  only.digest.add_row(noisy("register_tile", 0.064), "");
  only.digest.add_row(noisy("slower", 0.032), "");
  only.digest.end_app();
  EXPECT_TRUE(has(only.out.str(), "best register_tile ~6.4% of copy\n"));
  EXPECT_EQ(only.digest.slowest().first, "");
  DigestEnd end;
  end.noise = noise_text(2, 2, OtherLoad{1.5, 2});
  EXPECT_TRUE(has(only.end(end),
                  "\nnoise: 2 of 2 rows marked ~ (quartiles 1.5x apart); others kept 1.5 of 2 processors busy\n"));
}

TEST(digest, small_cases_alone_have_no_best) {
  DigestOf of;
  App const app = named_app("fake");
  of.digest.begin_app(app, 1, {&of.good});
  of.digest.begin_case(a_case(), "small.h5");
  of.digest.add_row(a_row(), "");
  EXPECT_EQ(of.end(),
            "fake         1 variant    1 case verified\n\n"
            "1 row ran, each compared with a serial reference: all are right\n\n");
}

TEST(digest, where_operations_bind_the_share_is_of_the_roof) {
  RowReport row = large_row("good", 0.5);
  EXPECT_EQ(share_text(row), "50% of copy");
  row.roofs.peak_operations_per_second[0] = row.flops / row.seconds() / 0.75;
  EXPECT_EQ(share_text(row), "75% of roof");
  row.roofs = {};
  EXPECT_EQ(share_text(row), "");
  EXPECT_EQ(share_text(large_row("good", 0.0312)), "3.1% of copy");
  EXPECT_EQ(share_text(large_row("good", 1.05)), "105% of copy");
  EXPECT_EQ(share_text(large_row("good", 1.99)), "199% of copy*");  // no memory is that fast
}

TEST(digest, the_verdict_in_words) {
  auto const verdict = [](std::vector<Status> const& statuses) {
    DigestOf of;
    App const app = named_app("fake");
    of.digest.begin_app(app, 1, {&of.good});
    of.digest.begin_case(a_case(), "x");
    for (Status const status : statuses) {
      RowReport row = a_row();
      row.status = status;
      row.reason = "why";
      of.digest.add_row(row, "repeat");
    }
    return of.end();
  };
  std::string const ran = " ran, each compared with a serial reference: ";
  EXPECT_TRUE(has(verdict({Status::passed, Status::skipped, Status::passed}), "2 rows" + ran + "all are right\n"));
  EXPECT_TRUE(has(verdict({Status::passed, Status::failed}), "2 rows" + ran + "1 FAILED\n"));
  EXPECT_TRUE(has(verdict({Status::weak}), "1 row" + ran + "none is wrong, 1 checked too coarsely (weak)\n"));
  EXPECT_TRUE(has(verdict({Status::skipped}), "no row ran: nothing was verified\n"));
}

TEST(digest, rows_that_measure_different_things_have_no_best) {
  DigestOf of;
  App const app = named_app("fake");
  of.digest.begin_app(app, 1, {&of.good});
  of.digest.begin_case(large_case(), "x");
  RowReport own = large_row("own", 0.9);
  own.bytes *= 2;
  of.digest.add_row(own, "");
  of.digest.add_row(large_row("good", 0.5), "");
  EXPECT_TRUE(has(of.out.str() + of.end(), "best good 50%"));  // a row with different work does not compete
  DigestOf roofline;
  roofline.digest.begin_app(app, 1, {&of.good});
  roofline.digest.begin_case(large_case(), "x");
  roofline.digest.add_row(own, "");
  roofline.digest.add_row(own, "");
  roofline.digest.add_row(large_row("good", 0.5), "");
  EXPECT_EQ(roofline.end().find("best"), std::string::npos);
}

TEST(digest, each_space_has_its_best) {
  DigestOf of(2, 2);
  App const app = named_app("fake");
  of.digest.begin_app(app, 1, {&of.good});
  of.digest.begin_case(large_case(), "x");
  of.digest.add_row(large_row("good", 0.5, "serial"), "");
  of.digest.add_row(large_row("other", 0.25, "openmp"), "");
  EXPECT_TRUE(has(of.end(), "best good 50% of copy in float on serial, other 25% of copy in float on openmp\n"));
}

TEST(digest, failures_are_in_full_with_the_command_that_repeats_them) {
  DigestOf of;
  App const app = named_app("fake");
  of.digest.begin_app(app, 3, {&of.good});
  for (int i = 0; i < 2; ++i) {
    of.digest.begin_case(large_case(), "size " + std::to_string(i) + " of fake");
    for (int variant = 0; variant < 6; ++variant) {
      RowReport row = a_row(Status::failed);
      row.variant = "bad" + std::to_string(variant);
      of.digest.add_row(row, "fake --variant bad" + std::to_string(variant));
    }
  }
  of.digest.begin_case(large_case(), "fine");
  of.digest.add_row(a_row(), "");
  DigestEnd end;
  end.log = "tables.txt";
  std::string const text = of.end(end);
  EXPECT_TRUE(has(text, "1 of 3 cases verified, 12 rows FAILED"));
  EXPECT_TRUE(has(text,
                  "\nFAILED bad0 of fake on openmp: size 0 of fake (and in 1 more case)\n"
                  "    why: because\n"
                  "    repeat: fake --variant bad0\n"));
  EXPECT_TRUE(has(text, "FAILED bad3"));
  EXPECT_EQ(text.find("FAILED bad4"), std::string::npos);
  EXPECT_TRUE(has(text, "\nand 4 more rows that failed in tables.txt\n"));
}

TEST(digest, weak_rows_stand_below_failures_with_their_reason) {
  DigestOf of;
  App const app = named_app("fake");
  of.digest.begin_app(app, 1, {&of.good});
  of.digest.begin_case(large_case(), "size 8 of fake");
  RowReport weak = a_row(Status::weak);
  weak.variant = "long_chain";
  of.digest.add_row(weak, "fake --variant long_chain");
  of.digest.add_row(a_row(Status::failed), "fake --variant good");
  std::string const text = of.end();
  EXPECT_TRUE(has(text, "0 of 1 case verified, 1 row FAILED, 1 row weak"));
  std::size_t const at =
      text.find("\nweak long_chain of fake on openmp: size 8 of fake\n    why: because\n    repeat: fake");
  ASSERT_NE(at, std::string::npos) << text;
  EXPECT_LT(text.find("\nFAILED good of fake"), at);
}

TEST(digest, skips_are_counted_by_reason_on_one_line) {
  DigestOf of;
  App const app = named_app("fake");
  of.digest.begin_app(app, 1, {&of.good});
  of.digest.begin_case(a_case(), "x");
  for (std::string const reason :
       {"built without it", "rows of 12 elements (lanes hold 4)", "built without it",
        "rows of 13 elements (lanes hold 4)", "built without it", "bad is for --axis cols"}) {
    RowReport row = a_row(Status::skipped);
    row.variant = "bad";
    row.reason = reason;
    of.digest.add_row(row, "");
  }
  for (char letter = 'a'; letter < 'k'; ++letter) of.digest.leave_out_file(std::string(20, letter));
  std::string const text = of.end();
  EXPECT_TRUE(has(text, "0 of 1 case verified\n"));
  EXPECT_TRUE(has(text, "\nrows skipped (6): built without it (3), rows of N elements (2), is for --axis cols (1)\n"));
  EXPECT_TRUE(has(text, "(1), 9 other reasons (9)\n"));
  EXPECT_LE(longest_line(text), digest_width);
}

TEST(digest, twenty_nine_mini_apps_fit_on_one_screen) {
  std::vector<std::string> names{"layernorm_linear_backward"};
  for (int i = 1; i < 29; ++i) names.push_back("mini_app_" + std::to_string(i));
  std::ostringstream out;
  Digest digest(out, names, 1, 1);
  Row const row{{"good", Level::range, "", true}, "openmp", DType::float32, nullptr};
  for (std::string const& name : names) {
    App const app = named_app(name);
    digest.begin_app(app, 43, {&row});
    for (int i = 0; i < 43; ++i) {
      digest.begin_case(large_case(), "x");
      digest.add_row(large_row("reduce_then_scatter", 1.234), "");
      digest.add_row(a_row(Status::skipped), "");
    }
  }
  digest.leave_out_file("it holds double, for which no row is selected");
  DigestEnd end;
  end.warnings = {std::string(90, 'w')};
  end.noise = noise_text(123, 1234, OtherLoad{0.5, 2});
  end.roofs = {"100% copy on openmp is 23.1 GB/s (Intel(R) Xeon(R) Processor, 2 threads), float peak 123 GFLOP/s"};
  end.files = {{"tables", "build/debian-release/demo.txt"}, {"report", "build/debian-release/demo.json"}};
  end.to_try = {{std::string(60, 'c'), "what it is"}, {"short", "what"}, {"third", "what"}};
  end.log = "build/debian-release/demo.txt";
  digest.finish(end);
  out << "TESSERA rows=1 passed=1 failed=0 skipped=0\n";
  std::string const text = out.str();
  EXPECT_LE(std::ranges::count(text, '\n'), 40) << text;
  EXPECT_LE(longest_line(text), digest_width) << text;
}

}  // namespace
}  // namespace tessera
