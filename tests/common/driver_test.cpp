// Whole command lines in this process, with a fake mini-app and a fake machine: exit codes, texts, files.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <tessera/app/app.hpp>
#include <tessera/app/driver.hpp>
#include <tessera/io/case_file.hpp>

#include "fake_app.hpp"
#include "fake_runtime.hpp"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using fake::counts;
using fake::fake_app;
using fake::machine;
using nlohmann::json;
using Names = std::vector<std::string>;

// Whether `part` occurs in `text`; shows the text if not.
testing::AssertionResult has(std::string const& text, std::string const& part) {
  if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "no `" << part << "` in: " << text;
}

struct Result {
  int code = 0;
  std::string out;
  std::string err;

  [[nodiscard]] std::string last_line() const {
    std::size_t const end = out.find_last_not_of('\n');
    return out.substr(out.rfind('\n', end) + 1, end - out.rfind('\n', end));
  }
};

class Driver : public testing::Test {
 protected:
  Driver() {
    machine() = {};
    machine().spaces = {"openmp"};
    counts() = {};
    std::string pattern = (fs::temp_directory_path() / "tessera_driver_XXXXXX").string();
    directory = ::mkdtemp(pattern.data());
  }
  ~Driver() override { fs::remove_all(directory); }

  std::string path(std::string const& name) const { return (directory / name).string(); }

  template <class Main>
  static Result call(Names arguments, Main const& main) {
    arguments.insert(arguments.begin(), "program");
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    Result result;
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    result.code = main(static_cast<int>(arguments.size()), argv.data());
    result.out = testing::internal::GetCapturedStdout();
    result.err = testing::internal::GetCapturedStderr();
    EXPECT_FALSE(machine().running);
    EXPECT_FALSE(counts().without_runtime);
    EXPECT_LE(counts().most_alive, 1);
    EXPECT_EQ(counts().alive, 0);
    return result;
  }

  /// A run of a fake app; small and fast, with a report.
  Result run(Names const& variants, Names arguments = {}) {
    App const app = fake_app({"fake", variants});
    bool const has_case = std::ranges::any_of(
        arguments, [](std::string const& argument) { return argument == "--size" || argument == "--input"; });
    if (!has_case) arguments.insert(arguments.end(), {"--size", "100"});
    arguments.insert(arguments.end(), {"--min-time", "0", "--json", path("r.json")});
    return call(arguments, [&](int argc, char** argv) { return run_app(app, argc, argv); });
  }

  json report() const { return json::parse(std::ifstream(path("r.json"))); }
  json row(std::size_t i) const { return report()["rows"].at(i); }

  /// A mistake: exit 2, one line on stderr, nothing on stdout, nothing written, nothing run.
  void expect_mistake(Result const& result, std::string const& message) const {
    EXPECT_EQ(result.code, 2);
    EXPECT_EQ(std::ranges::count(result.err, '\n'), 1) << result.err;
    EXPECT_TRUE(has(result.err, message));
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(counts().launches, 0);
    for (fs::directory_entry const& entry : fs::recursive_directory_iterator(directory)) {
      EXPECT_TRUE(entry.is_directory() || entry.path().extension() == ".h5") << entry.path();
    }
    EXPECT_FALSE(fs::exists(path("out.h5")));
  }

  /// Writes a case file; `expected` may be empty.
  template <class T>
  void write_case(std::string const& name, std::vector<T> const& a, std::vector<T> const& expected = {},
                  ParameterMap const& parameters = {}) const {
    fs::create_directories(fs::path(path(name)).parent_path());
    {
      OutputFile file(path(name));
      file.write_input({{"a", dtype_of<T>, {a.size()}, {std::shared_ptr<void>(), a.data()}}}, parameters);
      file.commit();
    }
    if (expected.empty()) return;
    hdf5::File file(path(name), hdf5::File::Mode::modify);
    hdf5::Group root = file.root();
    root.require_group("expected")
        .create_dataset("out", dtype_of<T>, {expected.size()})
        .write(expected.data(), dtype_of<T>);
  }

  fs::path directory;
};

TEST_F(Driver, a_good_row_passes_and_is_timed) {
  Result const result = run({"good"});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(result.last_line(), "TESSERA rows=1 passed=1 failed=0 skipped=0");
  EXPECT_TRUE(has(result.out, "fake: out[i] = a[i] + c"));
  EXPECT_TRUE(has(result.out, "size 100, seed 42, float a [100], c=10"));
  EXPECT_EQ(result.out.find("warning"), std::string::npos);
  json const good = row(0);
  EXPECT_EQ(good["status"], "passed");
  EXPECT_EQ(good["samples_seconds"].size(), 10u);
  EXPECT_EQ(good["elements"], 100);
  EXPECT_EQ(good["note"], "tiles of 64");
  EXPECT_LE(good["worst_error_in_bounds"].get<double>(), 1.0);
  EXPECT_GT(good["share_of_copy"].get<double>(), 0.0);
  EXPECT_EQ(report()["input"][0]["dtype"], "float");
  EXPECT_TRUE(report()["input"][0]["reference_seconds"].is_number());
  EXPECT_EQ(report()["system"]["spaces"]["openmp"]["copy_bytes_per_second"], 1e11);
  EXPECT_TRUE(report()["system"]["finished"].is_string());
  EXPECT_EQ(machine().copies["openmp"], std::size_t{1} << 28);
  EXPECT_EQ(counts().releases, 0);  // one space
}

TEST_F(Driver, sizes_and_dtypes_make_cases) {
  Result const result = run({"good", "honest"}, {"--size", "0,1,2:8", "--dtype", "all", "--seed", "7"});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.last_line(), "TESSERA rows=30 passed=30 failed=0 skipped=0");
  json const document = report();
  EXPECT_EQ(document["input"].size(), 15u);
  EXPECT_EQ(document["input"][14]["size"], 8);
  EXPECT_EQ(document["input"][14]["dtype"], "int32");
  EXPECT_EQ(document["rows"][29]["case"], 14);
  EXPECT_EQ(machine().copy_measurements, 1);
}

TEST_F(Driver, rows_are_grouped_by_space_and_the_device_input_is_freed_between) {
  machine().spaces = {"cuda", "openmp"};
  Result const result = run({"good", "honest"});
  EXPECT_EQ(result.code, 0);
  json const rows = report()["rows"];
  EXPECT_EQ(rows[0]["space"], "cuda");
  EXPECT_EQ(rows[1]["space"], "cuda");
  EXPECT_EQ(rows[2]["space"], "openmp");
  EXPECT_EQ(rows[2]["variant"], "good");
  EXPECT_EQ(counts().releases, 1);
  EXPECT_EQ(machine().copy_measurements, 2);
}

TEST_F(Driver, wrong_rows_fail_and_the_run_goes_on) {
  Result const result = run({"wrong_middle", "wrong_later", "works_once", "nan", "nothing", "throws_start",
                             "throws_later", "throws_odd", "past_end", "lying", "good"});
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(result.last_line(), "TESSERA rows=11 passed=1 failed=10 skipped=0");
  auto const reason = [&](std::size_t i) { return row(i)["reason"].get<std::string>(); };
  EXPECT_TRUE(has(reason(0), "first launch:"));
  EXPECT_TRUE(has(reason(1), "after 10 samples:"));
  EXPECT_TRUE(has(reason(2), "after 10 samples:"));
  EXPECT_TRUE(has(reason(3), "first launch:"));
  EXPECT_TRUE(has(reason(3), "nan"));
  EXPECT_TRUE(has(reason(4), "first launch:"));
  EXPECT_EQ(reason(5), "no scratch left");
  EXPECT_EQ(reason(6), "illegal memory access");
  EXPECT_TRUE(has(reason(7), "unknown type"));
  EXPECT_EQ(reason(8), "wrote 4 bytes past the end of out");
  EXPECT_TRUE(has(reason(9), "other bits than the first"));
  for (std::size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(row(i)["status"], "failed");
    EXPECT_TRUE(row(i)["seconds"].is_null());  // the time of a wrong result is no time
    EXPECT_TRUE(has(result.out, "why: " + reason(i)));
  }
  EXPECT_EQ(row(10)["status"], "passed");
}

TEST_F(Driver, what_memory_held_before_does_not_count) {
  EXPECT_EQ(run({"stale"}).code, 1);
  EXPECT_TRUE(has(row(0)["reason"].get<std::string>(), "first launch:"));
}

TEST_F(Driver, other_bits_are_fine_for_who_says_so) {
  EXPECT_EQ(run({"honest"}).code, 0);
  EXPECT_EQ(row(0)["deterministic"], false);
}

TEST_F(Driver, a_skip_is_no_failure) {
  Result const result = run({"skips", "good"});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.last_line(), "TESSERA rows=2 passed=1 failed=0 skipped=1");
  EXPECT_EQ(row(0)["reason"], "needs 2 ranks");
  EXPECT_TRUE(has(result.out, "  needs 2 ranks\n"));
}

TEST_F(Driver, cold_and_samples_reach_the_row) {
  EXPECT_EQ(run({"good"}, {"--cold", "--samples", "13", "--warmup", "2"}).code, 0);
  EXPECT_EQ(counts().evictions, 13);
  EXPECT_EQ(counts().launches, 1 + 2 + 13);
  EXPECT_EQ(row(0)["cold"], true);
  EXPECT_EQ(row(0)["samples_seconds"].size(), 13u);
}

TEST_F(Driver, warnings_for_few_samples_and_other_builds) {
  machine().build_type = "Debug";
  Result const result = run({"good"}, {"--samples", "3"});
  EXPECT_EQ(result.code, 0);
  EXPECT_TRUE(has(result.out, "warning: this is a Debug build, not a Release build"));
  EXPECT_TRUE(has(result.out, "warning: only 3 samples a row"));
  EXPECT_TRUE(has(report()["system"]["warnings"].get<std::string>(), "Debug build"));
}

TEST_F(Driver, kokkos_options_reach_the_runtime) {
  EXPECT_EQ(run({"good"}, {"--kokkos-num-threads=3"}).code, 0);
  EXPECT_EQ(machine().kokkos_arguments, Names{"--kokkos-num-threads=3"});
}

TEST_F(Driver, help_list_and_version_start_nothing) {
  EXPECT_TRUE(has(run({"good"}, {"--help"}).out, "usage: fake"));
  EXPECT_TRUE(has(run({"good"}, {"--list"}).out, "variant  good"));
  EXPECT_EQ(run({"good"}, {"--version"}).out.substr(0, 21), "tessera 0.1.0 (fake)\n");
  EXPECT_EQ(run({"good"}, {"--version"}).code, 0);
  EXPECT_EQ(machine().starts, 0);
}

TEST_F(Driver, mistakes_on_the_command_line) {
  expect_mistake(run({"good"}, {"--sise", "3"}), "fake: unknown option `--sise`");
  expect_mistake(run({"good"}, {"--variant", "goood"}), "did you mean `good`?");
  expect_mistake(run({"good"}, {"--size", "0x"}), "bad size `0x`");
  expect_mistake(run({"good"}, {"--exclusive", "--op", "max"}), "--exclusive with --op max");
  expect_mistake(run({"good", "absent"}, {"--variant", "absent"}), "nothing to run for variant absent");
  expect_mistake(run({"absent"}), "nothing to run for this selection (fake is compiled for nothing)");
  EXPECT_EQ(machine().starts, 0);
}

TEST_F(Driver, a_machine_where_kokkos_cannot_start) {
  machine().start_error = "no GPU";
  expect_mistake(run({"good"}), "Kokkos cannot start (no GPU)");
}

TEST_F(Driver, paths_that_cannot_be_written) {
  expect_mistake(run({"good"}, {"--output", path("missing/out.h5")}), "cannot be written");
  App const app = fake_app({});
  Result const result = call({"--json", path("missing/r.json")}, [&](int c, char** v) { return run_app(app, c, v); });
  expect_mistake(result, "cannot write --json");
  EXPECT_EQ(machine().starts, 0);
}

TEST_F(Driver, paths_that_collide) {
  write_case<float>("a.h5", {1, 2, 3});
  expect_mistake(run({"good"}, {"--output", path("./r.json")}), "conflicting options --output and --json");
  expect_mistake(run({"good"}, {"--input", path("a.h5"), "--output", path("./a.h5")}),
                 "conflicting options --input and --output");
  expect_mistake(run({"good"}, {"--size", "1,2", "--output", path("out.h5")}), "--output with 2 cases");
}

TEST_F(Driver, memory_is_checked_before_anything_is_allocated) {
  expect_mistake(run({"good"}, {"--size", "8,2^60"}),
                 "not enough memory for size 1152921504606846976 of fake in float");
  EXPECT_EQ(counts().cases, 0);
  machine().host_bytes = 100 * (4 + 16 + 8 + 8) - 1;
  expect_mistake(run({"good"}, {"--size", "100"}), "choose a smaller --size");
  machine().host_bytes += 1;
  EXPECT_EQ(run({"good"}, {"--size", "100"}).code, 0);
}

TEST_F(Driver, device_memory_is_checked_too) {
  machine().spaces = {"cuda", "openmp"};
  machine().device_bytes = 100 * 12 - 1;
  Result const result = run({"good"}, {"--size", "100", "--space", "cuda"});
  expect_mistake(result, "of cuda device memory");
  EXPECT_EQ(run({"good"}, {"--size", "100", "--space", "openmp"}).code, 0);
}

TEST_F(Driver, memory_needs) {
  MemoryNeed const need = memory_need({100, 10, 3}, false);
  EXPECT_EQ(need.host, 100 + 48 + 20);
  EXPECT_EQ(need.row, 20);
  EXPECT_EQ(need.device, 120);
  EXPECT_EQ(memory_need({100, 10, 3}, true).host, 100 + 48 + 30);
}

TEST_F(Driver, copy_bandwidth_stays_within_memory) {
  machine().host_bytes = 1 << 20;
  EXPECT_EQ(run({"good"}).code, 0);
  EXPECT_EQ(machine().copies["openmp"], std::size_t{1} << 17);  // read and written: a quarter
}

TEST_F(Driver, roofs_are_saved_and_used_instead_of_measuring) {
  EXPECT_EQ(run({"good"}, {"--size", "100", "--save-machine", path("m.json")}).code, 0);
  EXPECT_EQ(machine().copy_measurements, 1);
  machine().roofs = {};
  Result const result = run({"good"}, {"--size", "100", "--machine", path("m.json")});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(machine().copy_measurements, 1);
  EXPECT_TRUE(has(result.out, "from " + path("m.json")));
  EXPECT_GT(row(0)["share_of_copy"].get<double>(), 0.0);
  EXPECT_EQ(report()["system"]["spaces"]["openmp"]["machine_file"], path("m.json"));
  EXPECT_EQ(report()["system"]["spaces"]["openmp"]["peak_operations_per_second"]["float"], 4e12);
}

TEST_F(Driver, roofs_of_another_machine_are_refused) {
  EXPECT_EQ(run({"good"}, {"--size", "100", "--save-machine", path("m.json")}).code, 0);
  std::ostringstream saved;
  saved << std::ifstream(path("m.json")).rdbuf();
  std::string text = saved.str();
  text.replace(text.find("fake openmp"), 11, "other cores");
  std::ofstream(path("m.json")) << text;
  Result const result = run({"good"}, {"--size", "100", "--machine", path("m.json")});
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_TRUE(has(result.err, "is other cores, here it is fake openmp"));
  EXPECT_EQ(run({"good"}, {"--size", "100", "--machine", path("absent.json")}).code, 2);
}

TEST_F(Driver, files_decide_dtype_size_and_defaults_of_parameters) {
  write_case<double>("a.h5", {0, 1, 2}, {2, 3, 4}, {{"c", 2.0}});
  Result const result = run({"good"}, {"--input", path("a.h5")});
  EXPECT_EQ(result.code, 0);
  EXPECT_TRUE(has(result.out, path("a.h5")));
  json const input = report()["input"][0];
  EXPECT_EQ(input["source"], "file");
  EXPECT_EQ(input["file"], path("a.h5"));
  EXPECT_EQ(input["dtype"], "double");
  EXPECT_EQ(input["parameters"]["c"], 2.0);
  EXPECT_EQ(input["parameters"]["tile"], 64);
  EXPECT_EQ(input["has_expected"], true);
  EXPECT_TRUE(input["size"].is_null());
  // An option wins; then the file's /expected is of another question, and says so.
  Result const other = run({"good"}, {"--input", path("a.h5"), "--c", "3"});
  EXPECT_EQ(other.code, 1);
  EXPECT_TRUE(has(row(0)["reason"].get<std::string>(), "the reference and the file's /expected disagree"));
}

TEST_F(Driver, every_row_fails_where_reference_and_file_disagree) {
  write_case<float>("a.h5", {0, 1, 2}, {10, 11, 13});
  Result const result = run({"good", "honest"}, {"--input", path("a.h5")});
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(result.last_line(), "TESSERA rows=2 passed=0 failed=2 skipped=0");
  EXPECT_EQ(counts().launches, 0);
  EXPECT_EQ(row(1)["variant"], "honest");
  write_case<std::int32_t>("i.h5", {0, 1, 2}, {10, 11, 13});
  EXPECT_EQ(run({"good"}, {"--input", path("i.h5")}).code, 1);
}

TEST_F(Driver, mistakes_in_files) {
  write_case<float>("good.h5", {0, 1, 2}, {10, 11, 12});
  write_case<float>("shape.h5", {0, 1, 2}, {10, 11});
  std::ofstream(path("text.h5")) << "no HDF5\n";
  fs::copy(path("good.h5"), path("cut.h5"));
  fs::resize_file(path("cut.h5"), fs::file_size(path("good.h5")) / 2);
  write_case<float>("attribute.h5", {1}, {}, {{"c", std::string("ten")}});
  expect_mistake(run({"good"}, {"--input", path("none.h5")}), "no such file");
  expect_mistake(run({"good"}, {"--input", path("text.h5")}), "not an HDF5 file");
  expect_mistake(run({"good"}, {"--input", path("cut.h5")}), "cut.h5");
  expect_mistake(run({"good"}, {"--input", path("attribute.h5")}), "attribute c");
  expect_mistake(run({"good"}, {"--input", path("good.h5"), "--dtype", "double"}), "the file decides");
  // Also the last of several, before the first runs.
  expect_mistake(run({"good"}, {"--input", path("good.h5"), path("none.h5")}), "no such file");
  expect_mistake(run({"good"}, {"--input", path("shape.h5")}), "/expected/out has shape [2]");
  expect_mistake(run({"good"}, {"--input", path("good.h5"), path("shape.h5")}), "/expected/out has shape [2]");
  EXPECT_EQ(run({"good"}, {"--input", path("good.h5"), path("good.h5"), "--dtype", "float"}).code, 0);
}

TEST_F(Driver, output_holds_the_verified_rows_and_is_an_input_again) {
  write_case<float>("a.h5", {0, 1, 2}, {}, {{"c", 5.0}});
  Result const result = run({"good", "wrong_middle", "honest"}, {"--input", path("a.h5"), "--output", path("out.h5")});
  EXPECT_EQ(result.code, 1);
  hdf5::File const file(path("out.h5"), hdf5::File::Mode::read);
  hdf5::Group const output = file.root().open_group("output");
  EXPECT_EQ(output.names(), (Names{"good", "honest"}));
  std::vector<float> out(3);
  output.open_group("good").open_group("openmp").open_dataset("out").read(out.data(), DType::float32);
  EXPECT_EQ(out, (std::vector<float>{5, 6, 7}));
  EXPECT_EQ(run({"good"}, {"--input", path("out.h5")}).code, 0);
  EXPECT_EQ(report()["input"][0]["parameters"]["c"], 5.0);
}

TEST_F(Driver, a_row_that_writes_the_first_elements_is_judged_by_those) {
  EXPECT_EQ(run({"first_half"}, {"--size", "7", "--output", path("out.h5")}).code, 0);
  EXPECT_EQ(row(0)["elements"], 3 + 1);
  hdf5::File const file(path("out.h5"), hdf5::File::Mode::read);
  hdf5::Group const output = file.root().open_group("output").open_group("first_half").open_group("openmp");
  EXPECT_EQ(output.names(), (Names{"half", "out"}));
  EXPECT_EQ(output.open_dataset("out").shape(), (Shape{3}));
  EXPECT_EQ(run({"past_half", "short_of_half", "miscounts"}, {"--size", "7"}).code, 1);
  EXPECT_TRUE(has(row(0)["reason"].get<std::string>(), "out: 1 elements were written after the first 3"));
  EXPECT_TRUE(has(row(0)["reason"].get<std::string>(), "first at [3]"));
  EXPECT_TRUE(has(row(1)["reason"].get<std::string>(), "out: 1 of 3 elements are wrong; first at [2]"));
  EXPECT_TRUE(has(row(2)["reason"].get<std::string>(), "no such field of one element"));
  // The file's /expected is about all elements; of those that the row writes it is asked.
  write_case<float>("half.h5", {0, 1, 2, 3}, {10, 11, 12, 13});
  EXPECT_EQ(run({"first_half"}, {"--input", path("half.h5")}).code, 0);
}

TEST_F(Driver, an_output_of_nothing_leaves_no_file) {
  EXPECT_EQ(run({"wrong_middle"}, {"--output", path("out.h5")}).code, 1);
  EXPECT_FALSE(fs::exists(path("out.h5")));
  EXPECT_EQ(std::distance(fs::directory_iterator(directory), fs::directory_iterator()), 1);  // the report
}

TEST_F(Driver, a_report_that_cannot_be_kept_ends_with_1_but_the_table_is_complete) {
  App const app = fake_app({"fake", {"good", "honest"}});
  fs::create_directory(path("gone"));
  machine().on_copy = [&] { fs::remove_all(path("gone")); };  // while the run is on
  Result const result = call({"--size", "8", "--min-time", "0", "--json", path("gone/r.json")},
                             [&](int argc, char** argv) { return run_app(app, argc, argv); });
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(result.last_line(), "TESSERA rows=2 passed=2 failed=0 skipped=0");
  EXPECT_TRUE(has(result.err, "cannot write --json"));
  EXPECT_EQ(std::ranges::count(result.err, '\n'), 1) << result.err;  // said once
}

TEST_F(Driver, an_interruption_keeps_the_rows_that_were_done) {
  Result const result = run({"good", "interrupts", "honest"});
  EXPECT_EQ(result.code, 130);
  EXPECT_EQ(result.last_line(), "TESSERA rows=1 passed=1 failed=0 skipped=0");
  EXPECT_TRUE(has(result.out, "interrupted"));
  EXPECT_EQ(report()["rows"].size(), 1u);
  EXPECT_TRUE(report()["system"]["finished"].is_null());
  // The next run is not interrupted.
  EXPECT_EQ(run({"good"}).code, 0);
}

extern "C" void own_handler(int) {}

TEST_F(Driver, signal_handlers_are_put_back) {
  auto const old = std::signal(SIGINT, own_handler);
  EXPECT_EQ(run({"interrupts"}).code, 130);
  EXPECT_EQ(std::signal(SIGINT, SIG_IGN), own_handler);
  EXPECT_EQ(run({"interrupts"}).code, 0);  // who ignores it (a background job) is not interrupted
  EXPECT_EQ(std::signal(SIGINT, old), SIG_IGN);
}

class Suite : public Driver {
 protected:
  Suite() : apps{fake_app({"fake", {"good", "honest"}}), fake_app({"other", {"good", "float_only"}})} {}
  Result suite(Names const& arguments) {
    return call(arguments, [&](int argc, char** argv) { return run_suite(apps, argc, argv); });
  }
  Result suite_run(std::string const& which, Names arguments = {}) {
    arguments.insert(arguments.begin(), {"run", which});
    arguments.insert(arguments.end(), {"--min-time", "0", "--json", path("r.json")});
    return suite(arguments);
  }
  std::vector<App> apps;
};

TEST_F(Suite, words) {
  EXPECT_EQ(suite({"list"}).out,
            "fake    2 variants  out[i] = a[i] + c\n"
            "other   2 variants  out[i] = a[i] + c\n");
  EXPECT_TRUE(has(suite({"--help"}).out, "tessera run all --inputs DIR"));
  EXPECT_TRUE(has(suite({"help"}).out, "usage"));
  EXPECT_TRUE(has(suite({"run", "--help"}).out, "usage"));
  EXPECT_TRUE(has(suite({"help", "fake"}).out,
                  "usage: tessera run fake [--size N,N,...|A:B | --input FILE... | --inputs DIR]"));
  EXPECT_TRUE(has(suite({"run", "fake", "--help"}).out, "--tile N"));
  EXPECT_EQ(suite({"run", "all", "--help"}).out.find("--tile"), std::string::npos);
  EXPECT_TRUE(has(suite({"run", "all", "--list"}).out, "app      other"));
  EXPECT_EQ(suite({"--version"}).out.substr(0, 14), "tessera 0.1.0\n");
  EXPECT_EQ(machine().starts, 0);
}

TEST_F(Suite, mistakes) {
  expect_mistake(suite({}), "tessera: no command");
  expect_mistake(suite({"rum"}), "unknown command `rum` (there are list, run, help) did you mean `run`?");
  expect_mistake(suite({"run"}), "no mini-app after `tessera run`");
  expect_mistake(suite({"run", "--size", "3", "fake"}), "no mini-app after `tessera run`");
  expect_mistake(suite({"run", "fale"}), "unknown mini-app `fale` (there are fake, other) did you mean `fake`?");
  expect_mistake(suite({"run", "fake,"}), "unknown mini-app ``");
  expect_mistake(suite({"list", "more"}), "unexpected argument `more`");
  expect_mistake(suite_run("all", {"--tile", "3"}), "unknown option `--tile`");
  expect_mistake(suite_run("all", {"--inputs", path("nowhere")}), "no such directory");
  expect_mistake(suite_run("all", {"--inputs", directory.string()}), "nothing to run (fake: skipped");
  expect_mistake(suite_run("all", {"--variant", "float_only", "--dtype", "double"}), "nothing to run");
  expect_mistake(suite_run("all", {"--variant", "good,float_only", "--dtype", "double"}),
                 "nothing to run for variant float_only");
  EXPECT_EQ(machine().starts, 0);
}

TEST_F(Suite, one_report_and_one_last_line_for_all) {
  Result const result = suite_run("all", {"--size", "8,9"});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.last_line(), "TESSERA rows=8 passed=8 failed=0 skipped=0");
  EXPECT_EQ(result.out.find("TESSERA"), result.out.rfind("TESSERA"));
  json const document = report();
  EXPECT_EQ(document["rows"].size(), 8u);
  EXPECT_EQ(document["rows"][7]["app"], "other");
  EXPECT_EQ(document["rows"][7]["case"], 3);
  EXPECT_EQ(machine().copy_measurements, 1);
}

TEST_F(Suite, one_app_with_its_own_options) {
  EXPECT_EQ(suite_run("fake", {"--size", "8", "--tile", "3"}).code, 0);
  EXPECT_EQ(report()["input"][0]["parameters"]["tile"], 3);
  EXPECT_EQ(suite_run("other,fake", {"--size", "8"}).code, 0);
  EXPECT_EQ(report()["rows"][0]["app"], "other");
}

TEST_F(Suite, apps_without_a_row_of_the_selection_are_said_and_left_out) {
  Result const result = suite_run("all", {"--size", "8", "--variant", "honest"});
  EXPECT_EQ(result.code, 0);
  EXPECT_TRUE(has(result.out, "other: skipped (no row is selected)"));
  EXPECT_EQ(report()["rows"].size(), 1u);
}

TEST_F(Suite, a_directory_of_inputs) {
  write_case<float>("fake/b.h5", {0, 1}, {10, 11});
  write_case<double>("fake/a.h5", {0, 1, 2}, {10, 11, 12});
  write_case<std::int32_t>("other/c.h5", {0}, {10});
  Result const result = suite_run("all", {"--inputs", directory.string()});
  EXPECT_EQ(result.code, 0);
  json const document = report();
  ASSERT_EQ(document["input"].size(), 3u);
  EXPECT_EQ(document["input"][0]["file"], path("fake/a.h5"));
  EXPECT_EQ(document["input"][1]["file"], path("fake/b.h5"));
  EXPECT_EQ(document["rows"].size(), 5u);
  // One heading an app, not one a case.
  std::size_t headings = 0;
  for (std::size_t at = 0; (at = result.out.find("  variant ", at)) != std::string::npos; ++at) ++headings;
  EXPECT_EQ(headings, 2u);

  // What the selection leaves out is said.
  Result const floats = suite_run("all", {"--inputs", directory.string(), "--dtype", "float"});
  EXPECT_EQ(floats.code, 0);
  EXPECT_EQ(report()["rows"].size(), 2u);
  EXPECT_TRUE(has(floats.out, "a.h5: skipped (it holds double, for which no row is selected)"));
  EXPECT_EQ(suite_run("fake", {"--inputs", directory.string()}).code, 0);
  fs::remove_all(path("other"));
  Result const without = suite_run("all", {"--inputs", directory.string()});
  EXPECT_EQ(without.code, 0);
  EXPECT_TRUE(has(without.out, "other: skipped (there is no"));
}

TEST_F(Suite, inputs_of_a_dtype_that_this_build_lacks_are_left_out) {
  write_case<float>("fake/b.h5", {0, 1}, {10, 11});
  write_case<std::int32_t>("fake/c.h5", {0}, {10});
  machine().dtypes = {"float", "double"};
  apps = {fake_app({"fake", {"good"}})};
  Result const result = suite_run("all", {"--inputs", directory.string()});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(report()["rows"].size(), 1u);
  EXPECT_TRUE(has(result.out, "c.h5: skipped (it holds int32"));
  // But a file that fits no dtype is a mistake.
  write_case<float>("fake/d.h5", {0, 1}, {10, 11, 12});
  fs::remove(path("r.json"));
  counts() = {};
  expect_mistake(suite_run("all", {"--inputs", directory.string()}), "/expected/out has shape [3]");
}

}  // namespace
}  // namespace tessera
