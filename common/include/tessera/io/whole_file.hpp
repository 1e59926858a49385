#pragma once
/// \file
/// Files that are written whole or not at all (--output, --json, --save-machine), and which file a path names.
///
/// - A file is written as `<path>.partial-<pid>`. It gets its name only when it was written, flushed, closed and read
///   back without an error. Until then, and after any failure, an older file stays as it is.
/// - `<path>.lock` keeps a second run from writing the same file.
/// - Both are removed by the destructor, and when a signal ends the process. Those of a killed process are removed by
///   the next WholeFile of that path.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tessera {

/// What a path leads to: links followed, also one whose target does not exist yet.
[[nodiscard]] std::filesystem::path resolved(std::filesystem::path const& path);

/// Which file of the machine a path names, however it is written: two paths of one file have equal identities. A file
/// that does not exist yet has the identity of its directory, and its name.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t number = 0;
  std::string name;  ///< empty if the file exists

  bool operator==(FileIdentity const&) const = default;
};

/// Nothing if neither the file nor its directory exists.
[[nodiscard]] std::optional<FileIdentity> identity_of(std::string const& path);

/// That of an open file; nothing if it is not open.
[[nodiscard]] std::optional<FileIdentity> identity_of(int descriptor);

/// A file that this process will write. One object for a path at a time, on all machines that share the file system
/// (where that has no locks: as far as the lock file tells).
class WholeFile {
 public:
  /// `option` names the path in messages: "--json". Throws UserError if the file cannot be written (no such directory,
  /// no permission, not a regular file, no room for the longer name of the temporary file: it is tried) or if another
  /// process is writing it.
  WholeFile(std::string option, std::string path);
  /// A file that the first of several ranks writes and publishes, on another one that adds to it: `temporary` is the first one's.
  WholeFile(std::string option, std::string path, std::string temporary)
      : option_(std::move(option)), path_(std::move(path)), temporary_(std::move(temporary)), is_own_(false) {}
  WholeFile(WholeFile const&) = delete;
  WholeFile& operator=(WholeFile const&) = delete;
  ~WholeFile();

  /// As the user wrote it.
  [[nodiscard]] std::string const& path() const { return path_; }
  /// Where to write what publish() will give the name to.
  [[nodiscard]] std::string const& temporary() const { return temporary_; }

  /// write() and publish().
  void replace(std::string_view text);
  /// Writes `text` to temporary(), and to the disk. Throws std::runtime_error.
  void write(std::string_view text);
  /// Makes temporary() longer by space that the disk has granted. Throws std::runtime_error.
  void reserve(std::size_t bytes);
  /// Brings temporary(), which must be closed, to the disk. Throws std::runtime_error.
  void flush();
  /// Gives temporary(), which must be closed, the file's name. Throws std::runtime_error; an older file stays then. May
  /// be called again for a new temporary().
  void publish();
  /// Removes temporary(), if it is there.
  void discard() noexcept;

  /// Throws the std::runtime_error of a file that could not be written.
  [[noreturn]] void fail(std::string const& why) const;

 private:
  void check() const;
  void take_lock();
  void release() noexcept;
  [[noreturn]] void refuse(std::string const& why, std::string const& what_to_do) const;
  [[noreturn]] void refuse(int error) const;
  void remove_leftovers() const;

  std::string option_;
  std::string path_;
  std::string final_;      ///< links resolved, so that the rename replaces the file and not a link to it
  std::string temporary_;  ///< in the same directory
  std::string lock_path_;
  int lock_ = -1;
  int temporary_slot_ = -1;
  int lock_slot_ = -1;
  bool is_own_ = true;
};

/// Removes the temporary files and locks of this process: for its end by a signal. Async-signal-safe.
void remove_unfinished_files() noexcept;

}  // namespace tessera
