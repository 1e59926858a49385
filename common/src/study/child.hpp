#pragma once
// Programs that this one starts.

#include <string>
#include <vector>

namespace tessera {

struct ChildEnd {
  std::string program;
  bool started = false;
  int code = -1;          // its exit code; 128 + signal if a signal ended it
  std::string complaint;  // its stderr without trailing newlines, or why it did not start

  // 1 means that a row failed; the report has the details.
  [[nodiscard]] bool ran() const { return started && (code == 0 || code == 1); }
  // Returns "it ended with 2: bad value ...", "mpirun cannot be started: No such file or directory".
  [[nodiscard]] std::string how() const;
};

// True if run_child finds it in the same way as a shell does.
[[nodiscard]] bool is_program(std::string const& word);

// Starts words[0], found as a shell does, and waits for its end. Its stdout goes to the file `out`, its stderr to
// `errors`; `errors` is removed if it is empty. The child may use all processors of this process (host_processors()). A
// signal that ends this program is passed on, except Ctrl-C, which reaches both.
[[nodiscard]] ChildEnd run_child(std::vector<std::string> words, std::string const& out, std::string const& errors);

}  // namespace tessera
