#pragma once
// What a command line asks for, and how a program does it: one message per mistake, and the same on all ranks.

#include <functional>
#include <string>
#include <vector>

#include <tessera/cli/options.hpp>
#include <tessera/ranks/agreement.hpp>

namespace tessera {

/// The request of a command line, determined without MPI, Kokkos and files.
struct Task {
  std::vector<ranks::Fact> facts;  // must be the same on all ranks that do it together
  std::function<int()> run;
  bool on_ranks = false;  // it computes, on all ranks; otherwise one process can do it
};

/// Returns the task that prints a text.
[[nodiscard]] Task task_of_text(std::string const& asked, std::function<std::string()> const& text);

/// Returns the task of a mini-app's command line. Throws UserError.
[[nodiscard]] Task task_of(Command const& command, std::vector<std::string> const& arguments);

/// Runs the task that `find` returns. Returns the exit code. An exception becomes one message on stderr. If `launches`,
/// MPI is not started (ranks::Alone).
[[nodiscard]] int guarded(std::string const& program, bool launches, std::function<Task()> const& find);

/// Plans and runs what the options request, on all ranks. Returns the exit code. Throws UserError only if nothing has
/// run yet. `arguments` is the command line as typed, for the report.
int run_plan(Command const& command, Options const& given, std::vector<std::string> const& arguments);

/// Returns the words after the program's name.
[[nodiscard]] std::vector<std::string> arguments_of(int argc, char const* const* argv);

}  // namespace tessera
