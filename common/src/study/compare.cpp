// The command line of `tessera compare`, and its own launches.

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>

#include <tessera/cli/nearest.hpp>
#include <tessera/cli/sizes.hpp>
#include <tessera/core/types.hpp>
#include <tessera/io/whole_file.hpp>
#include <tessera/report/table.hpp>
#include <tessera/study/comparison.hpp>

#include "../driver/interruption.hpp"
#include "../report/thread_facts.hpp"
#include "arguments.hpp"
#include "child.hpp"

namespace tessera::comparison {

namespace {

namespace fs = std::filesystem;
using study::Words;

struct CompareArguments {
  Words paths;      // before --to
  Words new_paths;  // after it
  bool to = false;
  bool run = false;        // --run OLD NEW
  bool self_test = false;  // --self-test PROGRAM
  Words programs;
  Words of_programs;  // after --
  std::size_t launches = 5;
  CompareOptions options;
  bool all = false;
  std::string json;
  std::string keep;
};

double number_of(std::string const& option, std::string const& text, double least, double most) {
  auto const value = to_number<double>(text);
  if (!value || !(*value >= least && *value <= most)) {
    bad_value(option, text, "not a number from " + format_number(least) + " to " + format_number(most),
              "see tessera compare --help");
  }
  return *value;
}

std::vector<study::OptionEntry> options_of(CompareArguments& result) {
  return {
      {"--to", "", "", study::to(result.to)},
      {"--help", "", "", [](auto const&, auto const&) {}},
      {"--run", "OLD_PROGRAM NEW_PROGRAM", "",
       [&](auto const&, auto const& text) {
         result.run = true;
         result.programs = {text};
       },
       "", false, [&](auto const&, auto const& text) { result.programs.push_back(text); }},
      {"--self-test", "PROGRAM", "",
       [&](auto const&, auto const& text) {
         result.self_test = true;
         result.programs = {text};
       }},
      {"--launches", "N", "launches per side of --run and --self-test (default 5)",
       [&](auto const& option, auto const& text) {
         result.launches = static_cast<std::size_t>(number_of(option, text, 1, 1000));
       }},
      {"--threshold", "PERCENT", "ignore smaller changes (default 2)",
       [&](auto const& option, auto const& text) {
         result.options.threshold = number_of(option, text, 0, 1000) / 100;
       }},
      {"--error", "PERCENT", "probability of any false verdict in all rows together (default 1)",
       [&](auto const& option, auto const& text) { result.options.error = number_of(option, text, 1e-6, 50) / 100; }},
      {"--least", "", "compare the least sample of each launch, not the median: for busy machines",
       study::to(result.options.least)},
      {"--all", "", "also show rows that are the same or unclear", study::to(result.all)},
      {"--json", "FILE", "write the comparison (schema tessera-comparison/1)", study::to(result.json)},
      {"--keep", "DIR", "keep the reports of --run and --self-test there", study::to(result.keep)}};
}

CompareArguments parse(Words const& words) {
  CompareArguments result;
  auto const end = std::ranges::find(words, "--");
  if (end != words.end()) result.of_programs.assign(end + 1, words.end());
  study::parse_words({words.begin(), end}, "tessera compare", options_of(result),
                     [&](std::string const& word) { (result.to ? result.new_paths : result.paths).push_back(word); });
  return result;
}

// Returns the reports that a path stands for: the file itself, or all *.json in a folder, sorted by name.
std::vector<Launch> launches_of(Words const& paths) {
  std::vector<Launch> launches;
  for (std::string const& path : paths) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      launches.push_back(read_launch(path));
      continue;
    }
    Words files;
    for (fs::directory_entry const& entry : fs::directory_iterator(path, error)) {
      if (entry.path().extension() == ".json") files.push_back(entry.path().string());
    }
    std::ranges::sort(files);
    if (files.empty()) {
      throw UserError("cannot compare " + path + " (there are no files *.json in it); give reports that --json wrote");
    }
    for (std::string const& file : files) launches.push_back(read_launch(file));
  }
  return launches;
}

// The folder for the launches' reports: --keep, or a temporary folder that is removed.
class Folder {
 public:
  explicit Folder(std::string const& keep) : path_(keep), kept_(!keep.empty()) {
    std::error_code error;
    if (kept_) {
      fs::create_directories(path_, error);
      if (error) throw UserError("cannot write --keep " + keep + " (" + error.message() + "); name another folder");
      return;
    }
    std::string pattern = (fs::temp_directory_path() / "tessera_compare_XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) {
      throw UserError(concat("no folder for the reports (", std::strerror(errno), "); name one with --keep"));
    }
    path_ = pattern;
  }
  Folder(Folder const&) = delete;
  Folder& operator=(Folder const&) = delete;
  ~Folder() {
    std::error_code error;
    if (!kept_) fs::remove_all(path_, error);
  }
  [[nodiscard]] fs::path const& path() const { return path_; }

 private:
  fs::path path_;
  bool kept_;
};

// Starts a program with its report in `report`, and waits for it. Its tables are discarded; its errors are shown if
// there is no report.
Launch launch(std::string const& program, Words arguments, std::string const& report) {
  arguments.insert(arguments.begin(), program);
  arguments.insert(arguments.end(), {"--json", report});
  std::string const complaints = report + ".stderr";
  ChildEnd const end = run_child(arguments, "/dev/null", complaints);
  std::error_code ignored;
  fs::remove(complaints, ignored);
  if (!end.started) {
    throw UserError("cannot start " + program + " (" + end.complaint + "); name a Tessera program");
  }
  if (!end.ran() || !fs::exists(report, ignored)) {
    throw UserError("a launch of " + program + " failed (" + end.how() + "); run it directly with these arguments");
  }
  Launch const launch = read_launch(report);
  if (std::ranges::all_of(launch.rows, [](auto const& row) { return row.second.skipped; })) {
    throw UserError("a launch of " + program +
                    " measured nothing (it skipped all of its rows); run it directly with these " + "arguments");
  }
  return launch;
}

// Launches in alternating order, A B B A A B B A, so that drift affects both programs alike. Returns nothing after a
// signal.
std::vector<Launch> in_turns(Words const& programs, CompareArguments const& arguments, fs::path const& folder) {
  std::vector<Launch> launches;
  std::cerr << "tessera compare: launches on " << one_line(report::thread_text(report::thread_facts())) << std::endl;
  for (std::size_t i = 0; i < 2 * arguments.launches; ++i) {
    bool const second = (i % 4 == 1) || (i % 4 == 2);
    std::string const name = (i < 9 ? "0" : "") + std::to_string(i + 1) + (second ? "-new.json" : "-old.json");
    std::cerr << "tessera compare: launch " << i + 1 << " of " << 2 * arguments.launches << std::endl;
    launches.push_back(launch(programs[second ? 1 : 0], arguments.of_programs, (folder / name).string()));
    if (interrupted()) return {};
  }
  return launches;
}

int show(Comparison const& comparison, CompareArguments const& arguments, WholeFile* json) {
  if (comparison.rows.empty()) {
    throw UserError("nothing to compare (no row is verified in the old reports); give reports with rows that passed");
  }
  std::cout << comparison_text(comparison, arguments.all) << std::flush;
  if (json != nullptr) json->replace(comparison_json(comparison));
  return comparison.count(Verdict::slower) + comparison.count(Verdict::unverified) > 0 ? 1 : 0;
}

int show(SelfTest const& test, std::size_t launches) {
  if (test.verdicts == 0) {
    throw UserError("nothing to compare (no row was verified); run the program directly with these arguments");
  }
  double const limit = 0.01;
  std::cout << "self-test: " << launches << " launches of one build, " << test.comparisons
            << " comparisons: " << test.wrong << " of " << test.verdicts << " verdicts wrong ("
            << format_number(100 * test.rate()) << "%), " << test.same << " same, the others unclear" << std::endl;
  return test.rate() > limit ? 1 : 0;
}

void check(CompareArguments const& arguments) {
  bool const launching = arguments.run || arguments.self_test;
  std::string const see = "; see tessera compare --help";
  if (arguments.run && arguments.self_test) {
    throw UserError("conflicting options --run and --self-test (--run takes two programs, --self-test one)" + see);
  }
  if (launching && !(arguments.paths.empty() && arguments.new_paths.empty())) {
    throw UserError("unexpected argument `" +
                    (arguments.paths.empty() ? arguments.new_paths : arguments.paths).front() +
                    "` (the launches write the reports); write arguments of the programs after `--`");
  }
  if (launching) {
    for (std::string const& word : arguments.of_programs) {
      if (word == "--json" || word.starts_with("--json=")) {
        throw UserError("--json after `--` (each launch writes a report of its own); keep them with --keep DIR");
      }
    }
    if (arguments.self_test && (arguments.launches < 2 || arguments.launches > 10)) {
      throw UserError(concat("--launches ", arguments.launches, " (self-test: 2 to 10 per side)", see));
    }
    return;
  }
  if (!arguments.of_programs.empty() || !arguments.keep.empty()) {
    throw UserError("nothing to launch (there is neither --run nor --self-test)" + see);
  }
  bool const two = !arguments.to && arguments.paths.size() == 2;
  bool const many = arguments.to && !arguments.paths.empty() && !arguments.new_paths.empty();
  if (!two && !many) {
    throw UserError(concat("cannot tell old reports from new ones (", arguments.paths.size(),
                           " paths); write OLD NEW, each a file or a folder, or OLD... --to NEW..."));
  }
}

std::string compare_help() {
  CompareArguments arguments;
  return "tessera compare: which rows became slower or faster, from the reports of several launches of two "
         "builds\n\nusage\n  tessera compare OLD NEW                     reports of --json: one file or folder per "
         "side\n  tessera compare OLD.json... --to NEW.json...\n  tessera compare --run OLD_PROGRAM NEW_PROGRAM -- "
         "ARGUMENTS   launches both in turns, compares them\n  tessera compare --self-test PROGRAM -- ARGUMENTS       "
         "      launches one build, compares it with itself\n\noptions\n" +
         study::options_text(options_of(arguments), 23) +
         "\nA launch is one number per row, the median of its samples (--least: the least). A report is one launch of "
         "its\ncommand's rows; a folder may hold reports of several commands. Verdicts: slower, faster, same (the "
         "ratio's\ninterval lies within the threshold), unclear (more launches are needed), unverified (it passed, and "
         "now\n"
         "failed, was\nskipped or is missing). \"of roof\" is the ratio of times, each over the time that its run's "
         "roofs allow.\n\nexit codes\n  0  no row is slower, 1  a row is slower or unverified (--self-test: over 1% "
         "of the verdicts are wrong),\n  2  a mistake\n";
}

}  // namespace

int run_compare(Words const& words) {
  if (study::asks_for_help({words.begin(), std::ranges::find(words, "--")})) {
    std::cout << compare_help() << std::flush;
    return 0;
  }
  CompareArguments const arguments = parse(words);
  check(arguments);
  std::unique_ptr<WholeFile> json;
  SignalGuard const guard;
  if (!arguments.json.empty()) json = std::make_unique<WholeFile>("--json", arguments.json);
  if (!arguments.run && !arguments.self_test) {
    Words const old_paths = arguments.to ? arguments.paths : Words{arguments.paths[0]};
    Words const new_paths = arguments.to ? arguments.new_paths : Words{arguments.paths[1]};
    return show(compare(launches_of(old_paths), launches_of(new_paths), arguments.options), arguments, json.get());
  }
  Folder const folder(arguments.keep);
  Words const programs{arguments.programs.front(), arguments.programs.back()};
  std::vector<Launch> const launches = in_turns(programs, arguments, folder.path());
  if (launches.empty()) return 128 + caught_signal();
  if (arguments.self_test) return show(self_test(launches, arguments.options), launches.size());
  std::vector<Launch> before, after;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    ((i % 4 == 1) || (i % 4 == 2) ? after : before).push_back(launches[i]);
  }
  return show(compare(before, after, arguments.options), arguments, json.get());
}

}  // namespace tessera::comparison
