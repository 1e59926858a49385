#pragma once
// Programs that this one starts.

#include <string>
#include <vector>

namespace tessera {

struct ChildEnd {
  std::string program;
  bool started = false;
  int code = -1;          // its exit code; 128 + signal if one ended it
  std::string complaint;  // what it wrote to stderr, without newlines at the end; or why it did not start

  // 1 is a row that failed, which the report says.
  [[nodiscard]] bool ran() const { return started && (code == 0 || code == 1); }
  // "it ended with 2: bad value ...", "mpirun cannot be started: No such file or directory"
  [[nodiscard]] std::string how() const;
};

// True if run_child finds it, as a shell does.
[[nodiscard]] bool is_program(std::string const& word);

// Starts words[0], found as a shell does, and waits for its end. Its stdout goes to the file `out`, its stderr to `errors`, which
// is removed where nothing was said. It may use all processors of this process (host_processors()). A signal that ends this program, but for Ctrl-C, which reaches both, is handed on.
[[nodiscard]] ChildEnd run_child(std::vector<std::string> words, std::string const& out, std::string const& errors);

}  // namespace tessera
