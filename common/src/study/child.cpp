#include "child.hpp"

#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include <tessera/cli/nearest.hpp>
#include <tessera/core/host_threads.hpp>
#include <tessera/table/runtime.hpp>

#include "../driver/interruption.hpp"

extern char** environ;  // NOLINT(readability-redundant-declaration): not every unistd.h declares it

namespace tessera {

std::string ChildEnd::how() const {
  std::string const end = !started     ? program + " cannot be started"
                          : code > 128 ? concat("signal ", code - 128, " ended it")
                                       : "it ended with " + std::to_string(code);
  return end + (complaint.empty() ? "" : ": " + complaint);
}

bool is_program(std::string const& word) {
  if (word.find('/') != std::string::npos) return ::access(word.c_str(), X_OK) == 0;
  char const* const path = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe): nobody sets it
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (::access((std::filesystem::path(folder) / word).c_str(), X_OK) == 0) return true;
  }
  return false;
}

ChildEnd run_child(std::vector<std::string> words, std::string const& out, std::string const& errors) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t streams;
  (void)::posix_spawn_file_actions_init(&streams);
  int const as_new = O_WRONLY | O_CREAT | O_TRUNC;
  (void)::posix_spawn_file_actions_addopen(&streams, STDOUT_FILENO, out.c_str(), as_new, 0644);
  (void)::posix_spawn_file_actions_addopen(&streams, STDERR_FILENO, errors.c_str(), as_new, 0644);
  // A child inherits the processors of this thread, which OpenMP may have bound to only one of them.
  find_processors();
  (void)::sched_setaffinity(0, sizeof(cpu_set_t), &host_processors());
  pid_t child = -1;
  ChildEnd end;
  end.program = words.front();
  int const error = ::posix_spawnp(&child, argv.front(), &streams, nullptr, argv.data(), environ);
  (void)::posix_spawn_file_actions_destroy(&streams);
  std::error_code ignored;
  if (error != 0) {
    end.complaint = std::strerror(error);
    std::filesystem::remove(errors, ignored);
    return end;
  }
  end.started = true;
  int status = 0;
  bool handed_on = false;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    if (handed_on || !interrupted() || caught_signal() == SIGINT) continue;
    ::kill(child, caught_signal());
    handed_on = true;
  }
  end.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  std::ifstream said(errors);
  end.complaint.assign(std::istreambuf_iterator<char>(said), {});
  while (!end.complaint.empty() && end.complaint.back() == '\n') end.complaint.pop_back();
  if (end.complaint.empty()) std::filesystem::remove(errors, ignored);
  return end;
}

}  // namespace tessera
