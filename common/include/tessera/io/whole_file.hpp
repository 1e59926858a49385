#pragma once
/// \file
/// Files that are written completely or not at all (--output, --json, --save-machine), and the identity of files.
///
/// - A file is written as `<path>.partial-<pid>`. It is renamed only after it was written, flushed, closed and read
///   back without an error. Until then, and after any failure, an existing file stays unchanged.
/// - `<path>.lock` prevents a second run from writing the same file.
/// - The destructor removes both files, and so does the handler of a signal that ends the process. Files that a killed
///   process left behind are removed by the next WholeFile with that path.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tessera {

/// Returns the target of a path: links are followed, even if their target does not exist yet.
[[nodiscard]] std::filesystem::path resolved(std::filesystem::path const& path);

/// The identity of a file on this machine: all paths of a file have equal identities. A file that does not exist yet
/// has the identity of its directory, plus its name.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t number = 0;
  std::string name;  ///< empty if the file exists

  bool operator==(FileIdentity const&) const = default;
};

/// Returns the identity of the file at `path`; nothing if neither the file nor its directory exists.
[[nodiscard]] std::optional<FileIdentity> identity_of(std::string const& path);

/// Returns the identity of an open file; nothing if it is not open.
[[nodiscard]] std::optional<FileIdentity> identity_of(int descriptor);

/// A file that this process will write. Only one object per path may exist at a time, on all machines that share the
/// file system (if the file system has no locks: as far as the lock file shows).
class WholeFile {
 public:
  /// `option` names the path in messages: "--json". Throws UserError if the file cannot be written (no such directory,
  /// no permission, not a regular file, a name too long for the temporary file; writing is tried), or if another
  /// process is writing it.
  WholeFile(std::string option, std::string path);
  /// A file that the first rank writes and publishes, on another rank that adds to it. `temporary` is the first rank's
  /// temporary().
  WholeFile(std::string option, std::string path, std::string temporary)
      : option_(std::move(option)), path_(std::move(path)), temporary_(std::move(temporary)), is_own_(false) {}
  WholeFile(WholeFile const&) = delete;
  WholeFile& operator=(WholeFile const&) = delete;
  ~WholeFile();

  /// Returns the path as the user wrote it.
  [[nodiscard]] std::string const& path() const { return path_; }
  /// Returns the path to write to. publish() renames this file.
  [[nodiscard]] std::string const& temporary() const { return temporary_; }

  /// Calls write() and publish().
  void replace(std::string_view text);
  /// Writes `text` to temporary() and to the disk. Throws std::runtime_error.
  void write(std::string_view text);
  /// Extends temporary() by `bytes` of allocated disk space. Throws std::runtime_error.
  void reserve(std::size_t bytes);
  /// Flushes temporary(), which must be closed, to the disk. Throws std::runtime_error.
  void flush();
  /// Renames temporary(), which must be closed, to path(). Throws std::runtime_error; an existing file then stays
  /// unchanged. May be called again for a new temporary().
  void publish();
  /// Removes temporary() if it exists.
  void discard() noexcept;

  /// Removes temporary() and throws the std::runtime_error for a file that could not be written.
  [[noreturn]] void fail(std::string const& why);

 private:
  void check() const;
  void take_lock();
  void release() noexcept;
  [[noreturn]] void refuse(std::string const& why, std::string const& what_to_do) const;
  [[noreturn]] void refuse(int error) const;
  void remove_leftovers() const;

  std::string option_;
  std::string path_;
  std::string final_;      ///< links resolved, so that the rename replaces the file instead of a link to it
  std::string temporary_;  ///< in the same directory
  std::string lock_path_;
  int lock_ = -1;
  int temporary_slot_ = -1;
  int lock_slot_ = -1;
  bool is_own_ = true;
};

/// Removes the temporary files and locks of this process before a signal ends it. Async-signal-safe.
void remove_unfinished_files() noexcept;

}  // namespace tessera
