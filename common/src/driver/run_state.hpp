#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <tessera/cli/options.hpp>
#include <tessera/measure/load.hpp>
#include <tessera/ranks/ranks.hpp>
#include <tessera/report/report.hpp>

#include "plan.hpp"
#include "progress.hpp"

namespace tessera {

/// What is run, and what it has found so far. `mutex` is locked while the results change, never while a row computes:
/// another thread may end the run, and report them.
class RunState {
 public:
  RunState(Command const& its_command, Options const& its_options, Plan const& its_plan,
           std::vector<std::string> const& its_arguments)
      : command(its_command),
        options(its_options),
        plan(its_plan),
        arguments(its_arguments),
        report(its_options.json) {}

  /// Adds the facts of the build, the machine and the command line to the report, and warnings about them. Plans the
  /// progress. Must be called by all ranks.
  void describe();
  /// Adds how busy others kept the machine. Must be called by all ranks, so an interrupted run has no such note.
  void note_other_load();

  /// True if a signal ends the run: a signal to one rank ends all ranks. Must be called by all ranks together.
  [[nodiscard]] bool stop();
  /// Returns that signal, or 0.
  [[nodiscard]] int stop_signal() const { return stop_signal_; }

  /// Adds a warning to the reports.
  void warn(std::string const& text);
  /// The same, unless there is such a warning.
  void warn_once(std::string const& text);

  /// Prints a complaint on stderr, the first time. A file that cannot be written (a full disk) does not end the run,
  /// but sets its exit code to 1.
  void complain(std::string const& text);
  /// Executes a step that writes a file. Complains if it throws.
  template <class Step>
  void attempt(Step const& step) {
    try {
      step();
    } catch (std::runtime_error const& error) {
      complain(error.what());
    }
  }
  [[nodiscard]] bool file_failed() const { return file_failed_; }

  [[nodiscard]] std::string noise() const;
  /// True for the one caller that must print the last line.
  [[nodiscard]] bool takes_last_line() { return !last_line_is_out_.exchange(true); }

  ranks::Ranks const& ranks = ranks::world();
  Command const& command;
  Options const& options;
  Plan const& plan;
  std::vector<std::string> const& arguments;  ///< the command line as typed
  Progress progress;
  Report report;
  std::vector<std::string> warnings;
  std::optional<OtherLoad> other_load;
  std::timed_mutex mutex;

 private:
  LoadMeter load_;
  int stop_signal_ = 0;
  std::set<std::string> complaints_;
  bool file_failed_ = false;
  std::atomic<bool> last_line_is_out_ = false;
};

}  // namespace tessera
