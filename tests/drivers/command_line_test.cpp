// The real programs as processes: exit codes, one clear message, no partially written files, valid reports, Ctrl-C.
// TESSERA_BIN_DIR is the folder of prefix_sum, dot, map and tessera. --list tells which spaces they have.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <hdf5.h>
#include <poll.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <tessera/io/hdf5.hpp>

#include "json_schema.hpp"

namespace {

namespace fs = std::filesystem;
namespace hdf5 = tessera::hdf5;
using nlohmann::json;
using tessera::DType;
using tessera::Shape;
using Names = std::vector<std::string>;

// Returns whether `text` contains `part`; the failure message shows `text`.
testing::AssertionResult has(std::string const& text, std::string const& part) {
  if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "no `" << part << "` in: " << text;
}

struct Result {
  int code = -1;  // 128 + signal if a signal ended it
  std::string out;
  std::string err;

  [[nodiscard]] std::string last_line() const {
    std::size_t const end = out.find_last_not_of('\n');
    return end == std::string::npos ? "" : out.substr(out.rfind('\n', end) + 1, end - out.rfind('\n', end));
  }
};

// Both ends of a terminal: output to the second can be read from the first.
bool open_terminal(int (&ends)[2]) {
  ends[0] = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (ends[0] < 0 || ::grantpt(ends[0]) != 0 || ::unlockpt(ends[0]) != 0) return false;
  ends[1] = ::open(::ptsname(ends[0]), O_RDWR | O_NOCTTY);
  return ends[1] >= 0;
}

// A running program, with pipes as stdout and stderr, or with a terminal as stderr.
class Process {
 public:
  /// `environment` holds NAME=value; NAME without a value is unset.
  Process(std::string const& program, Names const& arguments, std::string const& directory,
          Names const& environment = {}, bool terminal = false) {
    int out[2];
    int err[2];
    if (::pipe(out) != 0 || !(terminal ? open_terminal(err) : ::pipe(err) == 0)) throw std::runtime_error("no pipe");
    std::string const path = std::string(TESSERA_BIN_DIR) + "/" + program;
    Names words{path};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    child_ = ::fork();
    if (child_ < 0) throw std::runtime_error("no fork");
    if (child_ == 0) {
      ::dup2(out[1], STDOUT_FILENO);
      ::dup2(err[1], STDERR_FILENO);
      for (int const end : {out[0], out[1], err[0], err[1]}) ::close(end);
      ::setenv("OMP_PROC_BIND", "false", 1);  // otherwise Kokkos prints a message on stderr
      ::setenv("OMP_NUM_THREADS", "2", 1);
      ::setenv("TERM", "xterm", 1);
      ::setenv("OMP_WAIT_POLICY", "passive", 1);  // other tests may use the cores
      for (std::string const& entry : environment) {
        std::size_t const equals = entry.find('=');
        if (equals == std::string::npos) {
          ::unsetenv(entry.c_str());
        } else {
          ::setenv(entry.substr(0, equals).c_str(), entry.c_str() + equals + 1, 1);
        }
      }
      if (::chdir(directory.c_str()) == 0) ::execv(path.c_str(), argv.data());
      ::_exit(127);
    }
    ::close(out[1]);
    ::close(err[1]);
    pipes_[0] = out[0];
    pipes_[1] = err[0];
  }
  Process(Process const&) = delete;
  Process& operator=(Process const&) = delete;
  ~Process() {
    if (child_ > 0) {
      ::kill(child_, SIGKILL);
      ::waitpid(child_, nullptr, 0);
    }
    for (int const end : pipes_) ::close(end);
  }

  /// Reads until stdout contains `text`; returns false if the program ended before.
  bool read_until(std::string const& text) {
    while (result_.out.find(text) == std::string::npos) {
      if (!read_some()) return false;
    }
    return true;
  }
  void interrupt() const { send(SIGINT); }
  void send(int signal) const { ::kill(child_, signal); }

  Result finish() {
    while (read_some()) {
    }
    int status = 0;
    ::waitpid(child_, &status, 0);
    child_ = -1;
    result_.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return result_;
  }

 private:
  bool read_some() {
    pollfd polled[2] = {{open_[0] ? pipes_[0] : -1, POLLIN, 0}, {open_[1] ? pipes_[1] : -1, POLLIN, 0}};
    if (!open_[0] && !open_[1]) return false;
    if (::poll(polled, 2, 120000) <= 0) {
      ADD_FAILURE() << "nothing heard for two minutes: killed";
      ::kill(child_, SIGKILL);
      return false;
    }
    for (int i = 0; i < 2; ++i) {
      if (polled[i].revents == 0) continue;
      char buffer[4096];
      ssize_t const count = ::read(pipes_[i], buffer, sizeof buffer);
      if (count <= 0) {
        open_[i] = false;
      } else {
        (i == 0 ? result_.out : result_.err).append(buffer, static_cast<std::size_t>(count));
      }
    }
    return true;
  }

  pid_t child_ = -1;
  int pipes_[2] = {-1, -1};
  bool open_[2] = {true, true};
  Result result_;
};

class CommandLine : public testing::Test {
 protected:
  CommandLine() {
    std::string pattern = (fs::temp_directory_path() / "tessera_command_XXXXXX").string();
    directory = ::mkdtemp(pattern.data());
  }
  ~CommandLine() override { fs::remove_all(directory); }

  [[nodiscard]] std::string path(std::string const& name) const { return (directory / name).string(); }

  [[nodiscard]] Result run(std::string const& program, Names const& arguments) const {
    return Process(program, arguments, directory.string()).finish();
  }

  [[nodiscard]] std::string text_of(std::string const& name) const {
    std::ostringstream text;
    text << std::ifstream(path(name)).rdbuf();
    return text.str();
  }

  /// Returns the number of threads of the OpenMP space; 0 if there is none.
  [[nodiscard]] int concurrency_of(Names const& environment) const {
    (void)Process("dot",
                  {"--size", "8", "--variant", "range_reduce", "--samples", "1", "--min-time", "0", "--json", "c.json"},
                  directory.string(), environment)
        .finish();
    json const spaces = json::parse(text_of("c.json"))["system"]["spaces"];
    fs::remove(path("c.json"));
    return spaces.contains("openmp") ? spaces["openmp"]["concurrency"].get<int>() : 0;
  }

  [[nodiscard]] Names files() const {
    Names names;
    for (fs::directory_entry const& entry : fs::recursive_directory_iterator(directory)) {
      names.push_back(entry.path().lexically_relative(directory).string());
    }
    std::ranges::sort(names);
    return names;
  }

  /// Expects exit code 2, one line on stderr that begins with the program's name and contains `message`, and no other
  /// output or files.
  void expect_mistake(std::string const& program, Names const& arguments, std::string const& message) const {
    Names const before = files();
    Result const result = run(program, arguments);
    std::string shown = program;
    for (std::string const& argument : arguments) shown += " " + argument;
    EXPECT_EQ(result.code, 2) << shown << "\n" << result.out << result.err;
    EXPECT_EQ(std::ranges::count(result.err, '\n'), 1) << shown << "\n" << result.err;
    EXPECT_TRUE(result.err.starts_with(program + ": ")) << shown << "\n" << result.err;
    EXPECT_NE(result.err.find(message), std::string::npos) << shown << "\n" << result.err;
    EXPECT_EQ(result.out, "") << shown;
    EXPECT_EQ(files(), before) << shown;
  }

  /// Returns false if this build excludes the dtype (TESSERA_DTYPES).
  [[nodiscard]] bool has_dtype(std::string const& name) const {
    Names const names = listed("map", "dtype");
    return std::ranges::find(names, name) != names.end();
  }

  /// Returns the names in those lines of --list that begin with `kind`.
  [[nodiscard]] Names listed(std::string const& program, std::string const& kind) const {
    std::istringstream text(run(program, {"--list"}).out);
    Names names;
    for (std::string line; std::getline(text, line);) {
      std::istringstream words(line);
      std::string first, second;
      if (words >> first >> second && first == kind) names.push_back(second);
    }
    return names;
  }

  [[nodiscard]] json report(std::string const& name = "r.json") const { return json::parse(std::ifstream(path(name))); }

  template <class T>
  static void write_dataset(hdf5::Group& group, std::string const& name, Shape const& shape,
                            std::vector<T> const& data) {
    group.create_dataset(name, tessera::dtype_of<T>, shape).write(data.data(), tessera::dtype_of<T>);
  }

  /// Writes a case of map: /input/a, and /expected/out unless empty.
  template <class T>
  void write_map_case(std::string const& name, std::vector<T> const& a, std::vector<T> const& expected = {},
                      std::string const& field = "a", Shape shape = {}) const {
    fs::create_directories(fs::path(path(name)).parent_path());
    hdf5::File file(path(name), hdf5::File::Mode::create);
    if (shape.empty()) shape = {a.size()};
    {
      hdf5::Group root = file.root();
      hdf5::Group input = root.require_group("input");
      write_dataset(input, field, shape, a);
      if (!expected.empty()) {
        hdf5::Group group = root.require_group("expected");
        write_dataset(group, "out", {expected.size()}, expected);
      }
    }
    file.close();
  }

  fs::path directory;
};

// ---------------------------------------------------------------------------------------------------------------------
// Requests that are answered without a run
// ---------------------------------------------------------------------------------------------------------------------

TEST_F(CommandLine, help_list_and_version) {
  for (std::string const program : {"map", "dot", "prefix_sum"}) {
    Result const help = run(program, {"--help"});
    EXPECT_EQ(help.code, 0);
    EXPECT_EQ(help.err, "");
    EXPECT_TRUE(has(help.out, "usage: " + program));
    EXPECT_TRUE(has(help.out, "exit codes"));
    Result const list = run(program, {"--list"});
    EXPECT_EQ(list.code, 0);
    EXPECT_EQ(list.err, "");
    EXPECT_EQ(listed(program, "app"), Names{program});
    EXPECT_FALSE(listed(program, "space").empty());
    EXPECT_FALSE(listed(program, "dtype").empty());
    Result const version = run(program, {"--version"});
    EXPECT_EQ(version.code, 0);
    EXPECT_EQ(version.err, "");
    EXPECT_TRUE(version.out.starts_with("tessera ")) << version.out;
    EXPECT_TRUE(has(version.out, "compiler"));
  }
  EXPECT_TRUE(files().empty());
}

TEST_F(CommandLine, help_shows_the_options_of_each_app) {
  EXPECT_TRUE(has(run("map", {"--help"}).out, "--c X"));
  std::string const scan = run("prefix_sum", {"--help"}).out;
  for (std::string const option : {"--exclusive", "--no-exclusive", "--op sum|max|min", "--segment N", "--tile N"}) {
    EXPECT_TRUE(has(scan, option));
  }
}

TEST_F(CommandLine, list_says_why_bits_may_differ) {
  EXPECT_TRUE(has(run("prefix_sum", {"--list"}).out, "arrival: bits may differ"));
  EXPECT_TRUE(has(run("dot", {"--list"}).out, "atomics: bits may differ"));
}

TEST_F(CommandLine, variants_as_promised) {
  EXPECT_EQ(
      listed("prefix_sum", "variant"),
      (Names{"parallel_scan", "std_scan", "three_step", "team_scan", "hillis_steele", "read_write_split", "blelloch",
             "blelloch_padded", "lane_scan", "two_phase", "reduce_then_scan", "look_back", "distributed"}));
  EXPECT_EQ(listed("dot", "variant"),
            (Names{"range_reduce", "thread_zero", "team_tree", "sequential_addressing", "team_reduce", "vector_reduce",
                   "lane_reduce", "two_stage", "cluster_sum", "kernels", "distributed"}));
  EXPECT_EQ(listed("map", "variant"), (Names{"range", "pointer", "team_guarded", "scratch", "vector", "distributed"}));
}

TEST_F(CommandLine, the_umbrella_answers_without_running) {
  Result const list = run("tessera", {"list"});
  EXPECT_EQ(list.code, 0);
  for (std::string const app : {"map", "dot", "prefix_sum"}) EXPECT_TRUE(has(list.out, app + " "));
  EXPECT_EQ(run("tessera", {"--help"}).code, 0);
  EXPECT_EQ(run("tessera", {"--version"}).code, 0);
  EXPECT_TRUE(has(run("tessera", {"help", "map"}).out, "--c X"));
  EXPECT_TRUE(has(run("tessera", {"run", "all", "--list"}).out, "look_back"));
}

// ---------------------------------------------------------------------------------------------------------------------
// Profilers
// ---------------------------------------------------------------------------------------------------------------------

// With our own connector instead of Kokkos Tools: the region of a row must enclose exactly the row's kernels, and every
// kernel must have a readable name.
TEST_F(CommandLine, profilers_see_a_region_a_row_and_named_kernels) {
  Names const arguments{"run", "all", "--size", "5000", "--samples", "1", "--min-time", "0", "--json", "r.json"};
  Names const environment{"KOKKOS_TOOLS_LIBS=" TESSERA_PROFILE_CONNECTOR, "TESSERA_PROFILE_LOG=" + path("log")};
  Result const result = Process("tessera", arguments, directory.string(), environment).finish();
  ASSERT_EQ(result.code, 0) << result.err;
  if (!fs::exists(path("log"))) GTEST_SKIP() << "this Kokkos loads no tools (Kokkos_ENABLE_LIBDL)";

  std::set<std::string> rows;  // "app/variant" of the rows that ran
  std::set<std::string> of_libraries;
  std::map<std::string, int> expected_regions;  // two per row: its first launch, and its samples
  json const written = report();
  for (json const& row : written["rows"]) {
    std::string const name = row["app"].get<std::string>() + "/" + row["variant"].get<std::string>();
    if (row["level"] == "library") of_libraries.insert(name);
    if (row["status"] != "passed") continue;
    rows.insert(name);
    expected_regions[name] += 2;
  }
  ASSERT_FALSE(rows.empty());
  // Returns whether `text` is `name` or a step of it.
  auto const is_of = [](std::string const& name, std::string const& text) {
    return text.starts_with(name) && (text.size() == name.size() || text.substr(name.size(), 2) == "::");
  };

  Names regions;
  std::map<std::string, int> regions_of_rows;
  std::set<std::string> with_kernels;
  std::ifstream log(path("log"));
  for (std::string what; log >> what;) {
    std::string name;
    std::getline(log, name);
    name.erase(0, 1);  // the blank
    if (what == "push") {
      EXPECT_TRUE(!rows.contains(name) || regions.empty()) << name << " in " << regions.front();
      if (rows.contains(name)) ++regions_of_rows[name];
      regions.push_back(name);
    } else if (what == "pop") {
      ASSERT_FALSE(regions.empty());
      regions.pop_back();
    } else {
      // Kokkos gives a kernel without a label the mangled name of its type.
      EXPECT_TRUE(name.starts_with("tessera::") || name.starts_with("Kokkos::")) << name;
      EXPECT_EQ(name.find_first_of("{}<>$"), std::string::npos) << name;
      std::string const row = regions.empty() ? "" : regions.front();
      std::string label = row;
      if (std::size_t const slash = row.find('/'); slash != std::string::npos) label.replace(slash, 1, "::");
      label = "tessera::" + label;
      if (rows.contains(row)) {
        EXPECT_TRUE(is_of(label, name) || name.starts_with("Kokkos::") || of_libraries.contains(row))
            << name << " in " << row;
        if (is_of(label, name) || of_libraries.contains(row)) with_kernels.insert(row);
      } else {
        for (std::string other : rows) {
          other.replace(other.find('/'), 1, "::");
          bool const of_roofs = row == "roofs" && other.starts_with("roofline::");
          bool const on_other_input = row == "renewed";
          EXPECT_FALSE(!of_roofs && !on_other_input && is_of("tessera::" + other, name))
              << name << " outside of its row, in `" << row << "`";
        }
      }
    }
  }
  EXPECT_TRUE(regions.empty());
  EXPECT_EQ(regions_of_rows, expected_regions);
  EXPECT_EQ(with_kernels, rows);
}

// ---------------------------------------------------------------------------------------------------------------------
// Output for scripts
// ---------------------------------------------------------------------------------------------------------------------

// Real reports of this build: generated cases and files, passed and skipped rows, roofs measured and given.
TEST_F(CommandLine, reports_are_as_the_schema_says) {
  fs::path const source(TESSERA_SOURCE_DIR);
  json const schema = json::parse(std::ifstream(source / "common/schemas/tessera-report-1.json"));
  write_map_case<float>("a.h5", {1, 2, 3}, {2, 3, 4});
  Names const quick{"--samples", "2", "--min-time", "0", "--json", "r.json"};
  for (Names arguments : {Names{"run", "all", "--size", "0,3000"}, Names{"run", "map", "--input", "a.h5", "--c", "1"},
                          Names{"run", "dot", "--size", "100", "--roof", "1e12,1e11", "--cold"}}) {
    arguments.insert(arguments.end(), quick.begin(), quick.end());
    Result const result = run("tessera", arguments);
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(tessera::testing::schema_faults(schema, report()), Names{});
  }
  // The schema must reject each of these.
  json const good = report();
  auto const faults_of = [&](auto const& spoil) {
    json spoilt = good;
    spoil(spoilt);
    return tessera::testing::schema_faults(schema, spoilt).size();
  };
  EXPECT_EQ(faults_of([](json&) {}), 0u);
  EXPECT_EQ(faults_of([](json& it) { it["schema"] = "tessera-report/2"; }), 1u);
  EXPECT_EQ(faults_of([](json& it) { it["rows"][0].erase("seconds"); }), 1u);
  EXPECT_EQ(faults_of([](json& it) { it["rows"][0]["sceonds"] = 1; }), 1u);
  EXPECT_EQ(faults_of([](json& it) { it["rows"][0]["seconds"] = "1"; }), 1u);
  EXPECT_EQ(faults_of([](json& it) { it["rows"][0]["status"] = "pased"; }), 1u);
  EXPECT_EQ(faults_of([](json& it) { it["rows"][0]["elements"] = -1; }), 1u);
  EXPECT_EQ(faults_of([](json& it) { it["rows"][0]["kernels"] = json::array({json::object()}); }), 9u);
  EXPECT_EQ(faults_of([](json& it) { it["input"][0]["dtype"] = nullptr; }), 1u);
  EXPECT_EQ(faults_of([](json& it) { it["system"]["spaces"].begin()->erase("device"); }), 1u);
  EXPECT_EQ(faults_of([](json& it) { it.erase("build"); }), 1u);
  EXPECT_EQ(faults_of([](json& it) { it["rows"][0]["unit"] = "tf33"; }), 1u);
  EXPECT_EQ(faults_of([](json& it) {
              it["system"]["spaces"].begin()->at("matrix_peak_operations_per_second").erase("half");
            }),
            1u);
  // Reports without the roofs of matrix units remain valid.
  EXPECT_EQ(faults_of([](json& it) {
              for (json& row : it["rows"]) row.erase("unit"), row.erase("unit_products");
              for (json& space : it["system"]["spaces"]) space.erase("matrix_peak_operations_per_second");
            }),
            0u);
}

TEST_F(CommandLine, a_line_a_row) {
  Result const result =
      run("tessera", {"run", "map,dot", "--size", "3000", "--samples", "2", "--min-time", "0", "--variant",
                      "range,kernels", "--lines", "--json", "r.json", "--log", "tables.txt"});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(has(result.err, "warning: only 2 samples per row"));
  json const rows = report()["rows"];
  std::istringstream lines(result.out);
  std::string line;
  for (json const& row : rows) {
    ASSERT_TRUE(std::getline(lines, line));
    std::istringstream words(line);
    std::string first, second;
    words >> first >> second;
    EXPECT_EQ(first + " " + second, "TESSERA row");
    Names names;
    std::map<std::string, std::string> values;
    for (std::string word; words >> word;) {
      std::size_t const equals = word.find('=');
      ASSERT_NE(equals, std::string::npos) << line;
      names.push_back(word.substr(0, equals));
      values[names.back()] = word.substr(equals + 1);
    }
    EXPECT_EQ(names, (Names{"app", "variant", "space", "dtype", "size", "ranks", "cold", "seconds", "bytes_per_second",
                            "share_of_roof", "checked", "status", "noisy"}));
    for (char const* name : {"app", "variant", "space", "dtype", "status"})
      EXPECT_EQ(values[name], row[name].get<std::string>()) << line;
    EXPECT_EQ(values["size"], "3000");
    EXPECT_EQ(values["ranks"], "1");
    EXPECT_EQ(values["cold"], "false");
    for (char const* name : {"seconds", "bytes_per_second", "share_of_roof"}) {
      if (row[name].is_null()) {
        EXPECT_EQ(values[name], "-") << line;
      } else {
        EXPECT_EQ(std::stod(values[name]), row[name].get<double>()) << line;
      }
    }
    EXPECT_EQ(values["checked"], row["status"] == "passed" ? "exact" : "-") << line;
    EXPECT_EQ(values["noisy"], row["noisy"] ? "true" : "false") << line;
    EXPECT_EQ(row["size"], 3000);
  }
  ASSERT_TRUE(std::getline(lines, line));
  EXPECT_TRUE(line.starts_with("TESSERA rows=" + std::to_string(rows.size()) + " ")) << line;
  EXPECT_FALSE(std::getline(lines, line));
  std::ostringstream tables;
  tables << std::ifstream(path("tables.txt")).rdbuf();
  EXPECT_TRUE(has(tables.str(), "variant"));
  expect_mistake("map", {"--lines", "--digest"}, "conflicting options --lines and --digest");
}

// ---------------------------------------------------------------------------------------------------------------------
// tessera study, tessera limits
// ---------------------------------------------------------------------------------------------------------------------

TEST_F(CommandLine, a_study_of_the_real_program_is_done_once) {
  Names words{"study",
              "--preset",
              "sizes",
              "--apps",
              "map",
              "--sizes",
              "2^10,2^12",
              "--variants",
              "range",
              "--repeats",
              "2",
              "--options",
              "--samples 3 --min-time 0 --roof 1e12,1e11",
              "--machine",
              "r.json",
              "--run"};
  ASSERT_EQ(run("map", {"--size", "2^10", "--samples", "3", "--min-time", "0", "--json", "r.json"}).code, 0);
  Result const first = run("tessera", words);
  EXPECT_EQ(first.code, 0) << first.out << first.err;
  EXPECT_EQ(first.last_line(), "TESSERA study steps=4 done=4 before=0 failed=0 rows_failed=0");
  EXPECT_TRUE(has(first.out, "  predicted map 2^10 float "));
  EXPECT_TRUE(has(first.out, " times the prediction"));
  std::ifstream predictions(path("sizes/predictions.csv"));
  std::string line;
  ASSERT_TRUE(std::getline(predictions, line));
  EXPECT_EQ(line, "app,size,dtype,space,ranks,predicted_seconds,bound,measured_seconds,variant,noisy,roofs_unsure");
  // `tessera predict` says the same of the reports.
  Names of_reports{"predict", "--machine", "r.json"};
  for (char const* const step : {"2p10-r1-range-1", "2p12-r1-range-1", "2p12-r1-range-2", "2p10-r1-range-2"}) {
    of_reports.push_back(std::string("sizes/map-") + step + ".json");
  }
  Result const predicted = run("tessera", of_reports);
  EXPECT_EQ(predicted.code, 0) << predicted.err;
  EXPECT_TRUE(predicted.out.starts_with(line + "\n"));
  std::size_t lines = 0;
  for (; std::getline(predictions, line); ++lines) {
    EXPECT_TRUE(line.starts_with("map,")) << line;
    EXPECT_TRUE(has(predicted.out, "\n" + line + "\n"));
  }
  EXPECT_EQ(lines, 4U);
  EXPECT_EQ(std::ranges::count(predicted.out, '\n'), 5);
  EXPECT_EQ(run("tessera", {"predict"}).code, 2);
  json const written = report("sizes/map-2p12-r1-range-2.json");
  EXPECT_EQ(written["input"][0]["size"], 4096);
  // The report must contain the values that the study requests.
  EXPECT_EQ(run("tessera", words).last_line(), "TESSERA study steps=4 done=0 before=4 failed=0 rows_failed=0");
  json other = written;
  other["build"]["git_commit"] = "000000000000";
  std::ofstream(path("sizes/map-2p12-r1-range-2.json")) << other;
  Result const again = run("tessera", words);
  EXPECT_EQ(again.last_line(), "TESSERA study steps=4 done=1 before=3 failed=0 rows_failed=0");
  EXPECT_TRUE(has(again.out, "again, since the report is of another build"));
  // Predictions from unsure roofs say so, also before the first launch.
  json unsure = report("r.json");
  for (json& space : unsure["system"]["spaces"]) space["roofs_unsure"] = "a test says so";
  std::ofstream(path("r.json")) << unsure;
  std::string const doubt = " are unsure (a test says so), and so are the predictions";
  EXPECT_TRUE(has(run("tessera", words).out, doubt));
  std::ifstream doubtful(path("sizes/predictions.csv"));
  ASSERT_TRUE(std::getline(doubtful, line) && std::getline(doubtful, line));
  EXPECT_TRUE(line.ends_with(",1")) << line;
  words.pop_back();
  Result const shown = run("tessera", words);
  EXPECT_TRUE(has(shown.out, doubt));
  EXPECT_TRUE(has(shown.out, "# 4 of 4 are done\n")) << shown.out;
  Result const printed = run("tessera", {"study", "--preset", "weak", "--apps", "dot"});
  EXPECT_TRUE(has(printed.out, "mpirun -n 4 "));
  EXPECT_TRUE(
      has(printed.out,
          " run dot --size-per-rank 2^24 --variant distributed --json weak/dot-2p24-each-r4-distributed-5.json"));
}

// OpenMP may bind the program's main thread to one processor; its launches must still have all processors with which it
// was started.
TEST_F(CommandLine, launches_have_the_processors_of_the_program) {
  Names const spaces = listed("map", "space");
  if (std::ranges::find(spaces, "openmp") == spaces.end()) GTEST_SKIP() << "this build has no OpenMP";
  cpu_set_t all;
  CPU_ZERO(&all);
  ASSERT_EQ(::sched_getaffinity(0, sizeof all, &all), 0);
  if (CPU_COUNT(&all) < 2) GTEST_SKIP() << "this machine has a single processor";
  cpu_set_t one;  // the last processor
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &all)) continue;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
  }
  Names const few{"--size",  "2^10",   "--samples", "3",     "--min-time", "0",
                  "--space", "openmp", "--variant", "range", "--roof",     "1e12,1e11"};
  auto const facts = [&](std::string const& name) {
    json const system = report(name)["system"];
    EXPECT_EQ(system["OMP_PROC_BIND"], "spread");
    EXPECT_FALSE(system.contains("OMP_NUM_THREADS"));
    return std::pair(system["processors"].get<std::string>(), system["spaces"]["openmp"]["concurrency"].get<int>());
  };
  // This must not depend on OMP_PLACES; an explicit list excludes some processors.
  for (std::string const places : {"threads", "cores", "{0}"}) {
    SCOPED_TRACE(places);
    for (bool const on_one : {false, true}) {
      Names const environment{"OMP_NUM_THREADS", "OMP_PROC_BIND=spread", "OMP_PLACES=" + places};
      auto const start = [&](Names const& words) {
        EXPECT_EQ(::sched_setaffinity(0, sizeof one, on_one ? &one : &all), 0);
        Result const result = Process("tessera", words, directory.string(), environment).finish();
        EXPECT_EQ(::sched_setaffinity(0, sizeof all, &all), 0);
        return result;
      };
      Names direct{"run", "map", "--json", "direct.json"};
      direct.insert(direct.end(), few.begin(), few.end());
      if (start(direct).code != 0) continue;  // OpenMP refuses places that do not exist
      auto const expected = facts("direct.json");
      if (places == "threads") {
        EXPECT_EQ(expected.second, on_one ? 1 : CPU_COUNT(&all));
      }
      Result const study = start({"study", "--preset", "sizes", "--apps", "map", "--sizes", "2^10", "--repeats", "1",
                                  "--variants", "range", "--spaces", "openmp", "--options",
                                  "--samples 3 --min-time 0 --roof 1e12,1e11", "--machine", "direct.json", "--run"});
      EXPECT_EQ(study.code, 0) << study.out << study.err;
      EXPECT_TRUE(study.out.starts_with("launches on processors " + expected.first + ", OMP_PLACES=" + places + " "))
          << study.out;
      EXPECT_TRUE(has(study.out, "  threads: openmp " + std::to_string(expected.second) + " threads\n"));
      EXPECT_EQ(facts("sizes/map-2p10-r1-range-openmp-1.json"), expected);
      fs::remove_all(path("sizes"));
      Names compare{"compare",    "--self-test", std::string(TESSERA_BIN_DIR) + "/tessera",
                    "--launches", "2",           "--keep",
                    "kept",       "--",          "run",
                    "map"};
      compare.insert(compare.end(), few.begin(), few.end());
      Result const self = start(compare);
      EXPECT_LE(self.code, 1) << self.err;
      EXPECT_TRUE(has(self.err, "launches on processors " + expected.first + ", OMP_PLACES=" + places + " "));
      EXPECT_EQ(facts("kept/04-old.json"), expected);
      fs::remove_all(path("kept"));
    }
  }
}

// Either the first launch or the launch for the predictions measures the roofs; all others use its file.
TEST_F(CommandLine, a_study_measures_roofs_once_and_compares_with_its_copy) {
  Names const words{"study",
                    "--preset",
                    "sizes",
                    "--apps",
                    "map,dot",
                    "--sizes",
                    "2^10,2^12",
                    "--repeats",
                    "2",
                    "--spaces",
                    listed("map", "space").front(),
                    "--options",
                    "--samples 3 --min-time 0",
                    "--out",
                    "s",
                    "--run"};
  Result const first = run("tessera", words);
  EXPECT_EQ(first.code, 0) << first.out << first.err;
  EXPECT_EQ(first.last_line(), "TESSERA study steps=8 done=8 before=0 failed=0 rows_failed=0");
  std::size_t measured = 0;
  std::size_t rows = 0;
  std::set<double> roofs;
  auto const count = [&](json const& document) {
    for (json const& space : document["system"]["spaces"]) {
      if (space["machine_file"].is_null())
        ++measured;
      else
        EXPECT_EQ(space["machine_file"], "s/machine/roofs-r1.json");
      roofs.insert(space["copy_bytes_per_second"].get<double>());
    }
  };
  if (fs::exists(path("s/machine/roofs.json"))) count(report("s/machine/roofs.json"));
  for (fs::directory_entry const& entry : fs::directory_iterator(path("s"))) {
    if (entry.path().extension() != ".json") continue;
    json const document = json::parse(std::ifstream(entry.path()));
    count(document);
    if (entry.path().stem().string().ends_with("-1")) {
      rows += static_cast<std::size_t>(std::ranges::count(
          document["rows"], std::string("passed"), [](json const& row) { return row["status"].get<std::string>(); }));
    }
  }
  EXPECT_EQ(measured, 1u);
  EXPECT_EQ(roofs.size(), 1u);
  EXPECT_TRUE(has(first.out, " --save-machine s/machine/roofs-r1.json\n"));
  EXPECT_TRUE(has(first.out, "8 of 8: "));
  fs::copy(path("s"), path("copy"), fs::copy_options::recursive);
  Result const compared = run("tessera", {"compare", "s", "copy", "--all"});
  EXPECT_EQ(compared.code, 0) << compared.out << compared.err;
  EXPECT_TRUE(has(compared.last_line(), "TESSERA compare rows=" + std::to_string(rows) + " slower=0 faster=0 "));
  EXPECT_TRUE(has(compared.last_line(), " unverified=0"));
  EXPECT_TRUE(has(compared.out, "8 old launches, 8 new, " + std::to_string(rows) + " rows of 2 launches per side"));
  // The machine may have changed in the meantime, so the first new launch measures again.
  fs::remove(path("s/map-2p10-r1-" + listed("map", "space").front() + "-1.json"));
  Result const again = run("tessera", words);
  EXPECT_EQ(again.last_line(), "TESSERA study steps=8 done=1 before=7 failed=0 rows_failed=0");
  EXPECT_TRUE(has(again.out, " --save-machine s/machine/roofs-r1.json\n"));
}

// Each of two GPUs has a memory of its own, also for a build without their execution space.
TEST_F(CommandLine, predictions_for_gpus_of_another_machine) {
  std::string const kept = std::string(TESSERA_SOURCE_DIR) + "/tests/data/nvidia-h200-x2/two-2p28-each-bulk.json";
  Result const result = run("tessera", {"predict", kept});
  EXPECT_EQ(result.code, 0) << result.err;
  std::string const begin = "\nmap,536870912,float,cuda,2,";
  std::size_t const at = result.out.find(begin);
  ASSERT_NE(at, std::string::npos) << result.out;
  EXPECT_NEAR(std::stod(result.out.substr(at + begin.size())), 518e-6, 52e-6);  // measured: 518 us
}

// The table in common/cluster/scaling.md must equal the program's output, for the mini-apps of this build.
TEST_F(CommandLine, the_table_of_limits_is_that_of_the_page) {
  std::ifstream file(std::string(TESSERA_SOURCE_DIR) + "/common/cluster/scaling.md");
  std::string const page(std::istreambuf_iterator<char>(file), {});
  std::string const machine = std::string(TESSERA_SOURCE_DIR) + "/tests/data/nvidia-h200.json";
  std::size_t rows = 0;
  Result const result = run("tessera", {"limits", "--machine", machine, "--link", "5e-6,25e9"});
  EXPECT_EQ(result.code, 0) << result.err;
  std::istringstream lines(result.out);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_TRUE(has(page, line + "\n"));
    if (line.starts_with("| ")) ++rows;
  }
  EXPECT_GE(rows, 4u);
}

// ---------------------------------------------------------------------------------------------------------------------
// tessera compare
// ---------------------------------------------------------------------------------------------------------------------

TEST_F(CommandLine, compare_reads_reports_of_launches) {
  ASSERT_EQ(run("map", {"--size", "2^16", "--samples", "3", "--min-time", "0", "--variant", "range,pointer", "--roof",
                        "1e12,1e11", "--json", "r.json"})
                .code,
            0);
  json const base = report();
  ASSERT_GE(base["rows"].size(), 2u);
  // Launches that differ by less than the threshold, and new launches whose first row takes 5% longer.
  auto const write = [&](std::string const& name, double factor, int launch) {
    json made = base;
    for (json& row : made["rows"]) {
      bool const slow = row["variant"] == "range";
      row["seconds"] = 1e-3 * (1 + 1e-4 * launch) * (slow ? factor : 1.0);
      row["share_of_roof"] = 0.5;
    }
    std::ofstream(path(name)) << made;
  };
  fs::create_directory(path("old"));
  fs::create_directory(path("new"));
  for (int i = 0; i < 5; ++i) {
    write("old/" + std::to_string(i) + ".json", 1, i);
    write("new/" + std::to_string(i) + ".json", 1.05, i);
  }
  Result const slower = run("tessera", {"compare", "old", "new", "--json", "c.json"});
  EXPECT_EQ(slower.code, 1) << slower.err;
  EXPECT_TRUE(has(slower.out, "5 old launches, 5 new"));
  EXPECT_TRUE(has(slower.out, "1.050"));
  EXPECT_TRUE(has(slower.last_line(), "TESSERA compare rows=" + std::to_string(base["rows"].size()) + " slower="));
  json const written = report("c.json");
  EXPECT_EQ(written["schema"], "tessera-comparison/1");
  EXPECT_EQ(written["rows"][0]["verdict"], "slower");
  EXPECT_EQ(written["rows"][0]["variant"], "range");
  EXPECT_NEAR(written["rows"][0]["ratio"]["value"].get<double>(), 1.05, 1e-9);
  EXPECT_GT(written["rows"][0]["ratio"]["low"].get<double>(), 1.045);
  EXPECT_EQ(written["rows"].back()["verdict"], "same");
  EXPECT_EQ(run("tessera", {"compare", "new", "old"}).code, 0);  // faster
  EXPECT_EQ(run("tessera", {"compare", "old/0.json", "old/1.json", "--to", "old/2.json", "old/3.json"}).code, 0);
  EXPECT_EQ(run("tessera", {"compare", "old", "new", "--threshold", "10"}).code, 0);
  EXPECT_EQ(run("tessera", {"compare", "old/0.json", "new/0.json"}).code, 0);  // one launch gives no verdict
  EXPECT_FALSE(has(run("tessera", {"compare", "old", "old"}).out, "pointer"));
  EXPECT_TRUE(has(run("tessera", {"compare", "old", "old", "--all"}).out, "pointer"));
  // A row whose new result is wrong.
  json broken = base;
  broken["rows"][0]["status"] = "failed";
  std::ofstream(path("new/0.json")) << broken;
  EXPECT_EQ(run("tessera", {"compare", "new", "new"}).code, 1);

  json endless = base;
  endless["system"]["finished"] = nullptr;
  std::ofstream(path("endless.json")) << endless;
  std::ofstream(path("text.json")) << "text";
  std::ofstream(path("other.json")) << R"({"schema": "tessera-machine/1"})";
  std::ofstream(path("part.json")) << R"({"schema": "tessera-report/1", "rows": []})";
  for (auto const& [file, why] : std::vector<std::pair<std::string, std::string>>{{"endless.json", "has not ended"},
                                                                                  {"text.json", "not a JSON object"},
                                                                                  {"other.json", "schema"},
                                                                                  {"part.json", "not whole"},
                                                                                  {"none.json", "no such file"}}) {
    expect_mistake("tessera", {"compare", "old", file}, why);
  }
  fs::create_directory(path("empty"));
  expect_mistake("tessera", {"compare", "old", "empty"}, "no files *.json");
  expect_mistake("tessera", {"compare", "old"}, "cannot tell old reports from new ones");
  expect_mistake("tessera", {"compare", "old", "new", "old"}, "cannot tell old reports from new ones");
  expect_mistake("tessera", {"compare", "old", "--to"}, "cannot tell old reports from new ones");
  expect_mistake("tessera", {"compare", "old", "new", "--treshold", "1"}, "did you mean `--threshold`?");
  expect_mistake("tessera", {"compare", "old", "new", "--threshold", "x"}, "bad value `x` for --threshold");
  expect_mistake("tessera", {"compare", "old", "new", "--threshold"}, "no value for --threshold");
  expect_mistake("tessera", {"compare", "old", "new", "--", "--size", "4"}, "nothing to launch");
}

TEST_F(CommandLine, compare_launches_programs_in_turns) {
  std::string const map = std::string(TESSERA_BIN_DIR) + "/map";
  std::string const dot = std::string(TESSERA_BIN_DIR) + "/dot";
  Names const few{"--", "--size", "2^12", "--samples", "3", "--min-time", "0", "--roof", "1e12,1e11"};
  auto const with = [&](Names arguments) {
    arguments.insert(arguments.end(), few.begin(), few.end());
    return arguments;
  };
  // Two programs without common rows.
  Result const both = run("tessera", with({"compare", "--run", map, dot, "--launches", "2", "--keep", "kept"}));
  EXPECT_EQ(both.code, 1) << both.err;
  EXPECT_TRUE(has(both.out, "2 old launches, 2 new"));
  EXPECT_TRUE(has(both.out, "rows verified only in the new reports"));
  EXPECT_FALSE(has(both.last_line(), "unverified=0"));
  EXPECT_TRUE(has(both.err, "launch 4 of 4"));
  EXPECT_EQ(files(), (Names{"kept", "kept/01-old.json", "kept/02-new.json", "kept/03-new.json", "kept/04-old.json"}));
  for (std::string const file : {"kept/01-old.json", "kept/04-old.json"})
    EXPECT_EQ(report(file)["rows"][0]["app"], "map");
  for (std::string const file : {"kept/02-new.json", "kept/03-new.json"})
    EXPECT_EQ(report(file)["rows"][0]["app"], "dot");
  // Verdicts on such small rows are arbitrary.
  Result const self = run("tessera", with({"compare", "--self-test", map, "--launches", "2"}));
  EXPECT_LE(self.code, 1) << self.err;
  EXPECT_TRUE(has(self.out, "4 launches of one build, 4 comparisons: "));

  Result const absent = run("tessera", with({"compare", "--self-test", "./absent", "--launches", "2"}));
  EXPECT_EQ(absent.code, 2);
  EXPECT_TRUE(has(absent.err, "cannot start ./absent"));
  Result const wrong = run("tessera", {"compare", "--self-test", map, "--", "--sise", "4"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_TRUE(has(wrong.err, "unknown option `--sise`"));
  expect_mistake("tessera", with({"compare", "--run", map}), "no value for --run");
  expect_mistake("tessera", with({"compare", "--self-test", map, "--launches", "0"}), "bad value `0` for --launches");
  expect_mistake("tessera", {"compare", "--run", map, map, "r.json"}, "unexpected argument `r.json`");
  expect_mistake("tessera", {"compare", "--run", map, map, "--", "--json", "x"}, "--json after `--`");
}

// ---------------------------------------------------------------------------------------------------------------------
// Mistakes
// ---------------------------------------------------------------------------------------------------------------------

TEST_F(CommandLine, unknown_names) {
  expect_mistake("map", {"--sise", "4"}, "unknown option `--sise` (not an option of map); did you mean `--size`?");
  expect_mistake("dot", {"--exclusive"}, "unknown option `--exclusive`");
  expect_mistake("prefix_sum", {"--variant", "bleloch"}, "did you mean `blelloch`?");
  expect_mistake("prefix_sum", {"--variant", "lookback"}, "did you mean `look_back`?");
  expect_mistake("map", {"--space", "opnmp"}, "unknown space `opnmp`");
  expect_mistake("map", {"--space", listed("map", "space").front() + "x"},
                 "did you mean `" + listed("map", "space").front());
  expect_mistake("map", {"--dtype", "flot"}, "did you mean `float`?");
  expect_mistake("prefix_sum", {"--op", "summ"}, "did you mean `sum`?");
  expect_mistake("map", {"case.h5"}, "did you mean `--input case.h5`?");
  expect_mistake("tessera", {"run", "mapp"}, "did you mean `map`?");
  expect_mistake("tessera", {"rnu"}, "did you mean `run`?");
  expect_mistake("tessera", {"prefix_sum", "--list"}, "did you mean `tessera run prefix_sum`?");
  expect_mistake("tessera", {}, "no command");
  expect_mistake("tessera", {"run", "all", "--exclusive"}, "unknown option `--exclusive`");
}

TEST_F(CommandLine, bad_values) {
  expect_mistake("map", {"--size", "0x"}, "bad size `0x`");
  expect_mistake("map", {"--size", "-3"}, "bad size `-3` (negative)");
  expect_mistake("map", {"--size", "1e30"}, "bad size `1e30` (larger than 2^63-1)");
  expect_mistake("map", {"--verify", "sample:0"}, "write for example --verify sample:100000");
  expect_mistake("map", {"--size", "8:4"}, "the range ends before it begins");
  expect_mistake("map", {"--size"}, "no value for --size");
  expect_mistake("map", {"--seed", "-1"}, "bad value `-1` for --seed");
  expect_mistake("map", {"--samples", "0"}, "bad value `0` for --samples");
  expect_mistake("map", {"--min-time", "-1"}, "bad value `-1` for --min-time");
  expect_mistake("map", {"--c", "nan"}, "not finite");
  expect_mistake("map", {"--c", "ten"}, "bad value `ten` for --c");
  expect_mistake("map", {"--c", "-1e39"},
                 "c = -1e+39 does not fit into float (it would be infinite); use a magnitude of at most 3.4028235e+38");
  expect_mistake("map", {"--c", "1e-46"},
                 "c = 1e-46 does not fit into float (it would be 0); use a magnitude of at least 1.1754944e-38");
  expect_mistake("prefix_sum", {"--segment", "-1"}, "bad value `-1` for --segment");
  expect_mistake("prefix_sum", {"--tile", "2.5"}, "bad tile `2.5` (`.5` is not one of the suffixes");
}

// What a message advises must work, also in a build of few dtypes and for a file, whose dtype is given.
TEST_F(CommandLine, advice_about_numbers_works) {
  auto const with_c = [&](double c) {
    write_map_case<float>("a.h5", {1, 2, 3});
    hdf5::File file(path("a.h5"), hdf5::File::Mode::modify);
    file.root().open_group("input").write_attribute("c", c);
    file.close();
  };
  Names const quick{"--samples", "1", "--min-time", "0", "--warmup", "0", "--roof", "1e10,1e10"};
  auto const run_on = [&](std::string const& program, Names arguments) {
    arguments.insert(arguments.end(), quick.begin(), quick.end());
    return run(program, arguments);
  };
  auto const number_behind = [](std::string const& text, std::string const& words) {
    std::size_t const at = text.find(words);
    EXPECT_NE(at, std::string::npos) << text;
    return at == std::string::npos ? std::string()
                                   : text.substr(at + words.size(), text.find('\n', at) - at - words.size());
  };
  for (auto const& [bad, words] : {std::pair{"1e39", "of at most "}, std::pair{"1e-46", "of at least "}}) {
    std::string const good = number_behind(run("map", {"--c", bad}).err, words);
    EXPECT_EQ(run_on("map", {"--size", "5", "--c", good}).code, 0) << good;
  }
  with_c(1e39);
  std::string const good = number_behind(run("map", {"--input", path("a.h5")}).err, "of at most ");
  with_c(std::stod(good));
  EXPECT_EQ(run_on("map", {"--input", path("a.h5")}).code, 0) << good;
}

TEST_F(CommandLine, more_memory_than_there_is) {
  for (std::string const program : {"map", "dot", "prefix_sum"}) {
    expect_mistake(program, {"--size", "2^50"}, "not enough memory for size 1125899906842624 of " + program);
    expect_mistake(program, {"--size", "4,2^62", "--json", "r.json", "--dtype", "all"}, "not enough memory");
  }
  expect_mistake("tessera", {"run", "all", "--size", "8,2^50"}, "not enough memory");
}

TEST_F(CommandLine, files_that_are_none) {
  write_map_case<float>("good.h5", {0, 1, 2, 3});
  std::ofstream(path("text.h5")) << "a text, no HDF5\n";
  std::ofstream(path("empty.h5")).flush();
  fs::create_directory(path("folder.h5"));
  fs::copy(path("good.h5"), path("cut.h5"));
  fs::resize_file(path("cut.h5"), fs::file_size(path("good.h5")) - 16);
  auto const mistake = [&](std::string const& file, std::string const& message) {
    expect_mistake("map", {"--input", file, "--json", "r.json", "--output", "out.h5"}, file + ": " + message);
  };
  mistake("missing.h5", "no such file");
  mistake("text.h5", "not an HDF5 file");
  mistake("empty.h5", "not an HDF5 file (it is empty)");
  mistake("folder.h5", "cannot be read (it is a directory)");
  mistake("cut.h5", "truncated or damaged");
  expect_mistake("map", {"--input", "good.h5", "missing.h5"}, "missing.h5: no such file");
}

TEST_F(CommandLine, files_with_the_wrong_content) {
  if (!has_dtype("double")) GTEST_SKIP() << "this build has no double";
  write_map_case<float>("name.h5", {0, 1, 2, 3}, {}, "b");
  write_map_case<float>("rank.h5", {0, 1, 2, 3}, {}, "a", {2, 2});
  write_map_case<float>("expected.h5", {0, 1, 2, 3}, {10, 11, 12});
  write_map_case<float>("good.h5", {0, 1, 2, 3}, {10, 11, 12, 13});
  {
    hdf5::File file(path("group.h5"), hdf5::File::Mode::create);
    hdf5::Group root = file.root();
    (void)root.require_group("data");
  }
  {
    // dot of a float and a double array
    hdf5::File file(path("mixed.h5"), hdf5::File::Mode::create);
    hdf5::Group root = file.root();
    hdf5::Group input = root.require_group("input");
    write_dataset<float>(input, "a", {2}, {1, 2});
    write_dataset<double>(input, "b", {2}, {1, 2});
  }
  expect_mistake("map", {"--input", "name.h5", "--json", "r.json"}, "name.h5: no dataset /input/a");
  expect_mistake("map", {"--input", "rank.h5", "--json", "r.json"}, "rank.h5: dataset /input/a has shape [2, 2]");
  expect_mistake("map", {"--input", "group.h5", "--json", "r.json"}, "group.h5: no group /input");
  expect_mistake("dot", {"--input", "mixed.h5", "--json", "r.json"}, "mixed.h5: the dtypes of /input fit no run");
  expect_mistake("map", {"--input", "expected.h5", "--json", "r.json", "--output", "out.h5"},
                 "expected.h5: /expected/out has shape [3]");
  expect_mistake("map", {"--input", "good.h5", "expected.h5", "--json", "r.json"}, "/expected/out has shape [3]");
  expect_mistake("map", {"--input", "good.h5", "--dtype", "double"}, "holds float (--dtype asks for double");
}

// Data in other files whose location is in environment variables. HDF5 reads the variables once, so each run needs its
// own process.
TEST_F(CommandLine, data_in_other_files) {
  auto const make = [&](std::string const& name, std::string const& dataset, hid_t properties, bool with_data) {
    hid_t const file = H5Fcreate(path(name).c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t const links = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_create_intermediate_group(links, 1);
    hsize_t const extent = 3;
    std::vector<float> const values{1, 2, 3};
    std::vector<float> const results{11, 12, 13};
    auto const add = [&](std::string const& full_name, hid_t how, float const* data) {
      hid_t const space = H5Screate_simple(1, &extent, nullptr);
      hid_t const made = H5Dcreate2(file, full_name.c_str(), H5T_IEEE_F32LE, space, links, how, H5P_DEFAULT);
      if (data != nullptr) H5Dwrite(made, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, data);
      H5Dclose(made);
      H5Sclose(space);
    };
    add(dataset, properties, with_data ? values.data() : nullptr);
    if (!with_data) add("expected/out", H5P_DEFAULT, results.data());
    H5Pclose(links);
    H5Fclose(file);
  };
  auto const run_in = [&](std::string const& file, std::string const& variable) {
    return Process("map", {"--input", file, "--strict"}, directory.string(), {variable}).finish();
  };
  for (char const* const folder : {"sources", "cases"}) fs::create_directory(path(folder));
  make("sources/source.h5", "data", H5P_DEFAULT, true);
  hsize_t const extent = 3;
  hid_t const space = H5Screate_simple(1, &extent, nullptr);
  hid_t const of_source = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_virtual(of_source, space, "source.h5", "data", space);
  make("cases/virtual.h5", "input/a", of_source, false);
  H5Pclose(of_source);
  H5Sclose(space);
  expect_mistake("map", {"--input", "cases/virtual.h5"},
                 "its source source.h5 is missing (there is no cases/source.h5");
  for (std::string const& prefix :
       {path("sources"), "/nowhere:" + path("sources"), std::string("${ORIGIN}/../sources")}) {
    Result const result = run_in("cases/virtual.h5", "HDF5_VDS_PREFIX=" + prefix);
    EXPECT_EQ(result.code, 0) << prefix << "\n" << result.out << result.err;
  }
  hid_t const of_raw = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_external(of_raw, "raw.bin", 0, 12);
  make("cases/external.h5", "input/a", of_raw, false);
  H5Pclose(of_raw);
  std::vector<float> const values{1, 2, 3};
  std::ofstream(path("cases/raw.bin"), std::ios::binary).write(reinterpret_cast<char const*>(values.data()), 12);
  expect_mistake("map", {"--input", "cases/external.h5"}, "has its data in raw.bin, which cannot be read");
  for (std::string const& prefix : {path("cases"), std::string("${ORIGIN}")}) {
    Result const result = run_in("cases/external.h5", "HDF5_EXTFILE_PREFIX=" + prefix);
    EXPECT_EQ(result.code, 0) << prefix << "\n" << result.out << result.err;
  }
  fs::resize_file(path("cases/raw.bin"), 11);
  Result const cut = run_in("cases/external.h5", "HDF5_EXTFILE_PREFIX=${ORIGIN}");
  EXPECT_EQ(cut.code, 2);
  EXPECT_TRUE(has(cut.err, "has its data in raw.bin, which is too short"));
}

TEST_F(CommandLine, a_mistake_in_one_of_several_files_names_it) {
  auto const with_constant = [&](std::string const& name, double c) {
    write_map_case<float>(name, {0, 1, 2, 3});
    hdf5::File file(path(name), hdf5::File::Mode::modify);
    {
      hdf5::Group input = file.root().open_group("input");
      input.write_attribute("c", c);
    }
    file.close();
  };
  with_constant("map/ok.h5", 10);
  with_constant("map/bad.h5", 1e300);
  expect_mistake("map", {"--input", "map/ok.h5", "map/bad.h5"}, "map/bad.h5: c = 1");
  expect_mistake("tessera", {"run", "map,dot", "--inputs", "."}, "tessera: map: ./map/bad.h5: c = 1");
}

TEST_F(CommandLine, paths_that_cannot_be_written) {
  std::string const name(250, 'x');
  for (std::string const option : {"--json", "--output", "--log", "--save-machine"}) {
    expect_mistake("map", {"--size", "4", option, name},
                   "cannot write " + option + " " + name + " (File name too long)");
  }

  expect_mistake("map", {"--size", "4", "--json", "missing/r.json"}, "cannot write --json missing/r.json");
  expect_mistake("map", {"--size", "4", "--json", "."}, "it is a directory");
  expect_mistake("map", {"--size", "4", "--json", "/dev/null"}, "it is not a regular file");
  expect_mistake("map", {"--size", "4", "--output", "missing/out.h5"}, "cannot write --output missing/out.h5");
  expect_mistake("map", {"--size", "4", "--output", "."}, "cannot write --output . (it is a directory)");
  expect_mistake("map", {"--size", "4", "--output", "/dev/null"}, "it is not a regular file");
}

TEST_F(CommandLine, conflicts) {
  write_map_case<float>("good.h5", {0, 1, 2, 3});
  expect_mistake("map", {"--input", "good.h5", "--seed", "4"}, "conflicting options --input and --seed");
  expect_mistake("map", {"--size", "4", "--output", "x", "--json", "x"}, "conflicting options --output and --json");
  expect_mistake("map", {"--input", "good.h5", "--json", "good.h5"}, "conflicting options --input and --json");
  expect_mistake("map", {"--size", "4,5", "--output", "out.h5"}, "--output with 2 cases");
  expect_mistake("prefix_sum", {"--exclusive", "--no-exclusive"}, "conflicting options --exclusive and --no-exclusive");
}

// ---------------------------------------------------------------------------------------------------------------------
// Runs
// ---------------------------------------------------------------------------------------------------------------------

// The variants of map that every build contains: `distributed` needs a build with MPI.
constexpr char const* everywhere = "range,pointer,team_guarded,scratch,vector";

TEST_F(CommandLine, a_run_and_its_report) {
  Result const result =
      run("map", {"--size", "1000,0,1", "--variant", everywhere, "--min-time", "0", "--json", "r.json"});
  EXPECT_EQ(result.code, 0) << result.out << result.err;
  EXPECT_EQ(result.err, "");
  json const document = report();
  std::size_t const rows = std::size_t{15} * listed("map", "space").size();
  EXPECT_EQ(document.size(), 5u);
  EXPECT_EQ(document["schema"], "tessera-report/1");
  EXPECT_EQ(document["input"].size(), 3u);
  ASSERT_EQ(document["rows"].size(), rows);
  EXPECT_EQ(result.last_line(),
            "TESSERA rows=" + std::to_string(rows) + " passed=" + std::to_string(rows) + " failed=0 skipped=0 weak=0");
  for (std::string const fact :
       {"version", "git_commit", "compiler", "flags", "build_type", "kokkos_version", "kokkos_configuration"}) {
    EXPECT_TRUE(document["build"].contains(fact)) << fact;
  }
  for (json const& row : document["rows"]) {
    EXPECT_EQ(row["status"], "passed");
    EXPECT_GE(row["samples_seconds"].size(), 10u);
    EXPECT_GT(row["seconds"].get<double>(), 0.0);
    EXPECT_TRUE(row["bytes_per_second"].is_number());
    EXPECT_TRUE(document["system"]["spaces"].contains(row["space"].get<std::string>()));
  }
  EXPECT_EQ(files(), Names{"r.json"});
}

TEST_F(CommandLine, a_digest_of_files_and_generated_cases) {
  Names const arguments{"run",        "map,dot", "--inputs",  TESSERA_SOURCE_DIR "/inputs",
                        "--size",     "2^22",    "--samples", "1",
                        "--min-time", "0",       "--digest",  "--log",
                        "t.txt"};
  Result const result = run("tessera", arguments);
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.err, "");  // stderr is no terminal
  EXPECT_EQ(result.out.find("map   6 variants"), 0u) << result.out;
  EXPECT_TRUE(has(result.out, "\ndot  11 variants"));
  EXPECT_TRUE(has(result.out, " cases verified  best "));
  // A terminal has 24 lines. Warnings about a busy machine are among them.
  EXPECT_LE(std::ranges::count(result.out, '\n'), 24) << result.out;
  std::ifstream log(path("t.txt"));
  std::string const tables{std::istreambuf_iterator<char>(log), {}};
  EXPECT_TRUE(has(tables, "error/bound"));
  EXPECT_TRUE(has(tables, "\n" + result.last_line().substr(0, 13)));
}

TEST_F(CommandLine, progress_on_a_terminal) {
  Result const result =
      Process("map", {"--size", "1000,2000", "--min-time", "0", "--digest"}, directory.string(), {}, true).finish();
  EXPECT_EQ(result.code, 0);
  EXPECT_TRUE(has(result.err, "[case 1/2, "));
  EXPECT_TRUE(has(result.err, " rows left] size 1000 of map in float: input"));
  EXPECT_TRUE(result.err.ends_with("\r\033[K")) << result.err;  // the progress line is erased
  EXPECT_EQ(result.out.find("[case"), std::string::npos);
}

TEST_F(CommandLine, a_sample_is_fetched_from_every_space) {
  Result const result = run("map", {"--size", "2^20", "--variant", everywhere, "--min-time", "0", "--verify",
                                    "sample:1000", "--json", "r.json"});
  EXPECT_EQ(result.code, 0) << result.out << result.err;
  json const written = report();  // the loop refers into it
  ASSERT_FALSE(written["rows"].empty());
  for (json const& row : written["rows"]) {
    EXPECT_GE(row["elements"], 900);
    EXPECT_LE(row["elements"], 4000);
  }
}

TEST_F(CommandLine, a_nan_in_the_input_is_data) {
  float const nan = std::numeric_limits<float>::quiet_NaN();
  write_map_case<float>("nan.h5", {0, nan, 2}, {10, nan, 12});
  Result const result = run("map", {"--input", "nan.h5", "--min-time", "0"});
  EXPECT_EQ(result.code, 0) << result.out << result.err;
}

TEST_F(CommandLine, output_is_an_input_again) {
  if (!has_dtype("int32")) GTEST_SKIP() << "this build has no int32";
  write_map_case<std::int32_t>("case.h5", {0, 1, 2}, {10, 11, 12});
  std::string const space = listed("map", "space").front();
  EXPECT_EQ(run("map", {"--input", "case.h5", "--variant", everywhere, "--output", "out.h5", "--min-time", "0"}).code,
            0);
  {
    hdf5::File const file(path("out.h5"), hdf5::File::Mode::read);
    hdf5::Group const output = file.root().open_group("output");
    EXPECT_EQ(output.names(), (Names{"pointer", "range", "scratch", "team_guarded", "vector"}));
    std::vector<std::int32_t> out(3);
    output.open_group("vector").open_group(space).open_dataset("out").read(out.data(), DType::int32);
    EXPECT_EQ(out, (std::vector<std::int32_t>{10, 11, 12}));
  }
  EXPECT_EQ(run("map", {"--input", "out.h5", "--min-time", "0"}).code, 0);
  EXPECT_EQ(files(), (Names{"case.h5", "out.h5"}));
}

TEST_F(CommandLine, a_file_that_the_reference_contradicts_fails) {
  write_map_case<float>("wrong.h5", {0, 1, 2}, {10, 11, 13});
  Result const result = run("map", {"--input", "wrong.h5", "--variant", "range", "--min-time", "0"});
  EXPECT_EQ(result.code, 1);
  EXPECT_TRUE(has(result.out, "the reference and the file's /expected disagree"));
  EXPECT_TRUE(has(result.last_line(), "passed=0"));
}

TEST_F(CommandLine, the_umbrella_runs_a_directory) {
  if (!has_dtype("double")) GTEST_SKIP() << "this build has no double";
  write_map_case<float>("inputs/map/b.h5", {0, 1}, {10, 11});
  write_map_case<double>("inputs/map/a.h5", {0, 1, 2, 3}, {10, 11, 12, 13});
  Result const result = run("tessera", {"run", "all", "--inputs", "inputs", "--min-time", "0", "--json", "r.json"});
  EXPECT_EQ(result.code, 0) << result.out << result.err;
  EXPECT_TRUE(has(result.out, "dot: skipped (there is no inputs/dot/*.h5)"));
  EXPECT_EQ(report()["input"].size(), 2u);
  EXPECT_EQ(report()["input"][0]["file"], "inputs/map/a.h5");
  expect_mistake("tessera", {"run", "dot", "--inputs", "inputs"}, "nothing to run");
  expect_mistake("tessera", {"run", "all", "--inputs", "nowhere"},
                 "cannot read --inputs nowhere (there is no such directory)");
}

TEST_F(CommandLine, the_umbrella_runs_every_app) {
  Result const result =
      run("tessera", {"run", "map,dot,prefix_sum", "--size", "33", "--min-time", "0", "--json", "r.json"});
  EXPECT_EQ(result.code, 0) << result.out << result.err;
  EXPECT_EQ(report()["input"].size(), 3u);
  EXPECT_EQ(result.out.find("TESSERA rows="), result.out.rfind("TESSERA rows="));
}

TEST_F(CommandLine, the_umbrella_runs_a_sweep_by_its_name) {
  Result const list = run("tessera", {"list"});
  EXPECT_TRUE(has(list.out, "dot_p22")) << list.out;
  Result const result = run("tessera", {"run", "--sweep", "dot_p22", "--variant", "range_reduce", "--samples", "1",
                                        "--min-time", "0", "--json", "r.json"});
  EXPECT_EQ(result.code, 0) << result.err;
  json const inputs = report()["input"];
  std::vector<std::size_t> sizes;
  for (json const& input : inputs) sizes.push_back(input["size"]);
  EXPECT_EQ(sizes, (std::vector<std::size_t>{32, 128, 1024, 8192, 65536, 524288, 2097152}));
  expect_mistake("tessera", {"run", "--sweep", "dot_p2"}, "unknown sweep `dot_p2`");
  expect_mistake("dot", {"--sweep", "dot_p22", "--size", "8"}, "conflicting options --sweep and --size");
  expect_mistake("map", {"--sweep", "dot_p22"}, "unknown option `--sweep`");
}

TEST_F(CommandLine, ctrl_c_leaves_the_report_of_the_rows_that_were_done) {
  // Practically endless: each row takes 30 s.
  Process process("map", {"--size", "0,1000", "--min-time", "30", "--json", "r.json", "--variant", "range"},
                  directory.string());
  ASSERT_TRUE(process.read_until("case 1/2"));
  process.interrupt();
  Result const none = process.finish();
  EXPECT_EQ(none.code, 130) << none.err;
  EXPECT_EQ(none.last_line(), "TESSERA rows=0 passed=0 failed=0 skipped=0 weak=0");
  EXPECT_TRUE(files().empty());  // without a row there is no report
}

TEST_F(CommandLine, ctrl_c_after_a_row) {
  Process process("map", {"--size", "2^10", "--min-time", "1", "--json", "r.json"}, directory.string());
  ASSERT_TRUE(process.read_until("passed"));
  process.interrupt();
  Result const result = process.finish();
  EXPECT_EQ(result.code, 130) << result.err;
  json const document = report();
  EXPECT_GE(document["rows"].size(), 1u);
  EXPECT_LT(document["rows"].size(), 5u);
  EXPECT_TRUE(document["system"]["finished"].is_null());
  EXPECT_TRUE(has(result.last_line(), "TESSERA rows=" + std::to_string(document["rows"].size())));
  EXPECT_EQ(files(), Names{"r.json"});
}

// `timeout` sends a signal to the process, then to its group.
TEST_F(CommandLine, signals_in_quick_succession_are_one) {
  for (int const signal : {SIGINT, SIGTERM}) {
    Process process("map", {"--size", "2^10", "--min-time", "60", "--cold"}, directory.string());
    ASSERT_TRUE(process.read_until("case"));
    for (int i = 0; i < 3; ++i) {
      process.send(signal);
      ::usleep(1000);
    }
    Result const result = process.finish();
    EXPECT_EQ(result.code, 128 + signal) << result.err;
    EXPECT_EQ(result.last_line(), "TESSERA rows=0 passed=0 failed=0 skipped=0 weak=0") << result.out;
  }
}

// OpenMP may provide fewer threads than Kokkos expects: kernels would hang or skip work.
TEST_F(CommandLine, fewer_openmp_threads_than_kokkos_expects) {
  if (concurrency_of({}) != 2) GTEST_SKIP() << "no OpenMP";
  for (std::string const entry : {"OMP_THREAD_LIMIT=1", "OMP_MAX_ACTIVE_LEVELS=0"}) {
    for (std::string const program : {"prefix_sum", "dot", "map"}) {
      Result const result = Process(program, {"--size", "100000", "--kokkos-num-threads=2", "--output", "o.h5"},
                                    directory.string(), {entry})
                                .finish();
      EXPECT_EQ(result.code, 2) << entry << result.out;
      EXPECT_EQ(result.out, "");
      EXPECT_TRUE(has(result.err, "OpenMP gives 1 of the 2 threads that Kokkos asks for (" + entry + ")"));
      EXPECT_TRUE(has(result.err, "add --kokkos-num-threads=1"));
      EXPECT_EQ(std::ranges::count(result.err, '\n'), 1) << result.err;
      EXPECT_TRUE(files().empty()) << entry;
    }
    // The advice in the message.
    Result const one =
        Process("dot", {"--size", "1000", "--min-time", "0", "--kokkos-num-threads=1"}, directory.string(), {entry})
            .finish();
    EXPECT_EQ(one.code, 0) << one.out << one.err;
  }
  // Three of four.
  Result const three =
      Process("dot", {"--size", "100", "--kokkos-num-threads=4"}, directory.string(), {"OMP_THREAD_LIMIT=3"}).finish();
  EXPECT_TRUE(has(three.err, "OpenMP gives 3 of the 4 threads")) << three.out;
  // Without a given number Kokkos counts the threads itself. OMP_DYNAMIC on a busy machine must not reduce them.
  EXPECT_EQ(concurrency_of({"OMP_THREAD_LIMIT=1"}), 1);
  EXPECT_EQ(concurrency_of({"OMP_DYNAMIC=true"}), 2);
  EXPECT_EQ(concurrency_of({"OMP_DYNAMIC=true", "OMP_NUM_THREADS=7"}), 7);
}

// A run either completes or ends with one message before its first row.
TEST_F(CommandLine, limits_of_the_process) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the address sanitizer itself reserves terabytes of addresses";
#endif
  Names tried;
  int completed = 0;
  auto const expect_sound = [&](std::string const& limit, std::string const& size) {
    std::string const program = std::string(TESSERA_BIN_DIR) + "/map";
    std::string const line = "cd " + directory.string() + "; ulimit " + limit +
                             "; OMP_NUM_THREADS=2 OMP_PROC_BIND=false OMP_WAIT_POLICY=passive exec " + program +
                             " --size " + size + " --samples 1 --min-time 0 > out 2> err";
    int const status = std::system(line.c_str());
    std::string const out = text_of("out");
    std::string const err = text_of("err");
    SCOPED_TRACE("ulimit " + limit + ", size " + size + "\n" + out + err);
    ASSERT_TRUE(WIFEXITED(status));
    int const code = WEXITSTATUS(status);
    if (code == 127) return;  // the program's own libraries cannot be loaded
    EXPECT_TRUE(code == 0 || code == 2) << code;
    if (code == 0) {
      ++completed;
      EXPECT_TRUE(has(out, "TESSERA rows="));
    } else {
      EXPECT_EQ(out, "");
      EXPECT_EQ(std::ranges::count(err, '\n'), 1);
    }
  };
  std::string const given = " --roof 1e12,1e11";
  for (int mebibytes = 32; mebibytes <= 1024; mebibytes += mebibytes / 2) {
    std::string const kibibytes = std::to_string(1024 * mebibytes);
    for (std::string const size : {"5", "2^20", "2^23"}) expect_sound("-v " + kibibytes, size + given);
    expect_sound("-d " + kibibytes, "2^22" + given);
    expect_sound("-v " + kibibytes, "2^18");
  }
  EXPECT_GT(completed, 5);
}

// The slow parts without a point to stop: generating data, the reference of 2^26 elements, the roofs.
TEST_F(CommandLine, one_signal_ends_a_run_within_two_seconds) {
  for (int const signal : {SIGINT, SIGTERM, SIGHUP}) {
    for (int const after_ms : {100, 700}) {
      Process process("map", {"--size", "2^26", "--json", "r.json", "--output", "o.h5"}, directory.string());
      ::usleep(static_cast<useconds_t>(after_ms) * 1000);
      process.send(signal);
      auto const start = std::chrono::steady_clock::now();
      Result const result = process.finish();
      EXPECT_EQ(result.code, 128 + signal) << result.err;
      // Two seconds, plus a margin for a loaded machine.
      EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), 4.0);
      EXPECT_TRUE(files().empty());
    }
  }
}

TEST_F(CommandLine, words_of_kokkos_and_hdf5_that_they_would_fall_over) {
  for (std::string const word : {"num-threads=abc", "num-threads=-1", "num-threads=0", "num-threads=100000",
                                 "device-id=x", "map-device-id-by=x", "disable-warnings=x"}) {
    expect_mistake("map", {"--size", "4", "--kokkos-" + word, "--output", "o.h5"}, "--kokkos-");
  }
  for (std::string const entry :
       {"KOKKOS_NUM_THREADS=abc", "KOKKOS_NUM_THREADS=100000", "KOKKOS_DEVICE_ID=x", "KOKKOS_MAP_DEVICE_ID_BY=x",
        "KOKKOS_DISABLE_WARNINGS=x", "KOKKOS_TOOLS_LIBS=libc.so.6", "HDF5_DRIVER=nonsense",
        "HDF5_VOL_CONNECTOR=nonsense", "OMP_NUM_THREADS=100000"}) {
    Result const result = Process("map", {"--size", "4", "--output", "o.h5"}, directory.string(), {entry}).finish();
    EXPECT_EQ(result.code, 2) << entry;
    EXPECT_TRUE(has(result.err, entry.substr(0, entry.find('=')))) << entry;
    EXPECT_EQ(std::ranges::count(result.err, '\n'), 1) << result.err;
    EXPECT_TRUE(files().empty()) << entry;
  }
}

TEST_F(CommandLine, two_runs_of_one_report) {
  Process first("map", {"--size", "2^10", "--min-time", "60", "--json", "r.json"}, directory.string());
  ASSERT_TRUE(first.read_until("case"));
  Result const second = run("map", {"--size", "4", "--min-time", "0", "--json", "./r.json"});
  EXPECT_EQ(second.code, 2);
  EXPECT_TRUE(has(second.err, "is writing it"));
  EXPECT_EQ(second.out, "");
  first.send(SIGKILL);
  EXPECT_EQ(first.finish().code, 128 + SIGKILL);
  EXPECT_EQ(run("map", {"--size", "4", "--min-time", "0", "--json", "./r.json"}).code, 0);
  EXPECT_EQ(files(), Names{"r.json"});
}

TEST_F(CommandLine, a_stdout_that_cannot_be_written) {
  std::string const bin = TESSERA_BIN_DIR;
  for (std::string const command : {"/map --help", "/map --list", "/tessera list", "/tessera --help",
                                    "/map --size 4 --min-time 0 --variant range"}) {
    std::string const line = "OMP_NUM_THREADS=2 OMP_PROC_BIND=false " + bin + command + " 2> " + path("err");
    for (std::string const out : {" > /dev/full", " >&-"}) {
      EXPECT_EQ(WEXITSTATUS(std::system((line + out).c_str())), 1) << command << out;
      std::ostringstream text;
      text << std::ifstream(path("err")).rdbuf();
      EXPECT_TRUE(has(text.str(), "cannot write to stdout")) << command << out;
    }
  }
}

TEST_F(CommandLine, devices_are_never_replaced) {
  for (std::string const option : {"--json", "--output", "--save-machine", "--log"}) {
    for (std::string const device : {"/dev/stdout", "/dev/stderr", "/dev/null", "/dev/full", "/dev/fd/1"}) {
      expect_mistake("map", {"--size", "4", option, device}, "it is not a regular file");
    }
  }
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_TRUE(fs::is_symlink("/dev/stdout"));
}

TEST_F(CommandLine, kokkos_options_pass_through) {
  Result const result = run("map", {"--size", "8", "--min-time", "0", "--kokkos-print-configuration"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(has(result.out + result.err, "Kokkos Version"));
}

}  // namespace
