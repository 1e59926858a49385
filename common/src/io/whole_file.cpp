#include <tessera/io/whole_file.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <tessera/core/types.hpp>

namespace tessera {

namespace fs = std::filesystem;

namespace {

std::string reason(int error) { return std::generic_category().message(error); }

// The names of files that a signal handler removes. Plain memory, because a handler must not allocate.
struct Unfinished {
  std::atomic<int> state{0};  // 0 free, 1 being filled, 2 a name
  std::array<char, PATH_MAX> path{};
};
std::array<Unfinished, 16> unfinished;

int remember(std::string const& path) {
  if (path.size() >= PATH_MAX) return -1;
  for (std::size_t i = 0; i < unfinished.size(); ++i) {
    int free = 0;
    if (!unfinished[i].state.compare_exchange_strong(free, 1)) continue;
    std::copy_n(path.c_str(), path.size() + 1, unfinished[i].path.begin());
    unfinished[i].state = 2;
    return static_cast<int>(i);
  }
  return -1;
}

void forget(int& slot) {
  if (slot >= 0) unfinished[static_cast<std::size_t>(slot)].state = 0;
  slot = -1;
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor const&) = delete;
  Descriptor& operator=(Descriptor const&) = delete;
  ~Descriptor() { (void)close(); }
  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] bool is_open() const { return number_ >= 0; }
  // Returns false, with errno, if closing fails: a network file system may report an error late.
  [[nodiscard]] bool close() { return number_ < 0 || ::close(std::exchange(number_, -1)) == 0; }
  [[nodiscard]] int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    ssize_t const count = ::write(descriptor, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

std::string read_some(int descriptor, std::size_t most) {
  std::string text(most, '\0');
  std::size_t size = 0;
  while (size < most) {
    ssize_t const count = ::pread(descriptor, text.data() + size, most - size, static_cast<off_t>(size));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    size += static_cast<std::size_t>(count);
  }
  text.resize(size);
  return text;
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

FileIdentity identity_of(struct stat const& status) {
  return {static_cast<std::uint64_t>(status.st_dev), static_cast<std::uint64_t>(status.st_ino), {}};
}

}  // namespace

fs::path resolved(fs::path const& path) {
  fs::path result = path;
  std::error_code error;
  for (int links = 0; links < 40 && !fs::exists(result, error) && fs::is_symlink(result, error); ++links) {
    fs::path const target = fs::read_symlink(result, error);
    result = target.is_absolute() ? target : result.parent_path() / target;
  }
  fs::path const canonical = fs::weakly_canonical(fs::absolute(result, error), error);
  return error ? result : canonical;
}

std::optional<FileIdentity> identity_of(std::string const& path) {
  struct stat status{};
  // Not by the resolved name: /dev/stdout may lead to a pipe, which has no name.
  if (::stat(path.c_str(), &status) == 0) return identity_of(status);
  fs::path const real = resolved(path);
  fs::path const directory = real.parent_path().empty() ? fs::path(".") : real.parent_path();
  if (::stat(directory.c_str(), &status) != 0) return std::nullopt;
  FileIdentity identity = identity_of(status);
  identity.name = real.filename().string();
  return identity;
}

std::optional<FileIdentity> identity_of(int descriptor) {
  struct stat status{};
  if (::fstat(descriptor, &status) != 0) return std::nullopt;
  return identity_of(status);
}

void remove_unfinished_files() noexcept {
  for (Unfinished const& file : unfinished) {
    if (file.state == 2) ::unlink(file.path.data());
  }
}

WholeFile::WholeFile(std::string option, std::string path) : option_(std::move(option)), path_(std::move(path)) {
  check();
  final_ = resolved(path_).string();
  temporary_ = final_ + ".partial-" + std::to_string(::getpid());
  lock_path_ = final_ + ".lock";
  take_lock();
  lock_slot_ = remember(lock_path_);
  temporary_slot_ = remember(temporary_);
  remove_leftovers();
  // Only creating the file shows whether its name and one more file are possible: better now than after a run.
  Descriptor const file(::open(temporary_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (int const error = file.is_open() ? 0 : errno; error != 0) {
    release();
    refuse(error);
  }
  discard();
}

WholeFile::~WholeFile() {
  if (!is_own_) return;
  release();
}

void WholeFile::release() noexcept {
  discard();
  forget(temporary_slot_);
  // The lock file is removed while the lock is held, so that a process that waits for the lock sees that the file is
  // gone.
  ::unlink(lock_path_.c_str());
  forget(lock_slot_);
  ::close(lock_);
}

void WholeFile::refuse(std::string const& why, std::string const& what_to_do) const {
  throw UserError("cannot write " + option_ + " " + path_ + " (" + why + "); " + what_to_do);
}

void WholeFile::refuse(int error) const {
  bool const full = error == ENOSPC || error == EDQUOT;
  bool const many = error == EMFILE || error == ENFILE;
  refuse(reason(error), error == ENAMETOOLONG ? "choose a shorter name: .partial- and a number are added to it"
                        : full                ? "free some space, or choose another file"
                        : many                ? "allow more open files (ulimit -n), or close some"
                                              : "choose a file in a directory that can be written");
}

void WholeFile::check() const {
  if (path_.empty()) refuse("the path is empty", "name a file");
  struct stat status{};
  if (::stat(path_.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) refuse("it is a directory", "name a file in it");
    if (!S_ISREG(status.st_mode)) refuse("it is not a regular file", "name a file on disk");
    if (::access(path_.c_str(), W_OK) != 0) refuse(reason(errno), "remove it or choose another file");
  } else if (errno != ENOENT && errno != ENOTDIR) {
    refuse(errno);
  }
  fs::path const parent = resolved(path_).parent_path();
  std::string const directory = parent.empty() ? "." : parent.string();
  if (::stat(directory.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) {
    refuse("there is no directory " + directory, "make it first");
  }
  if (::access(directory.c_str(), W_OK | X_OK) != 0) {
    refuse(directory + ": " + reason(errno), "choose a directory that can be written");
  }
}

void WholeFile::take_lock() {
  std::string const own_host = host_name();
  while (true) {
    Descriptor lock(::open(lock_path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
    if (!lock.is_open()) refuse(errno);
    bool const held = ::flock(lock.number(), LOCK_EX | LOCK_NB) == 0;
    int const error = held ? 0 : errno;
    std::string const owner = read_some(lock.number(), 512);  // "<pid> <host>"
    std::string const pid = owner.substr(0, owner.find(' '));
    std::string const host = owner.size() > pid.size() ? owner.substr(pid.size() + 1) : "unknown";
    bool const number = std::ranges::all_of(pid, [](char c) { return c >= '0' && c <= '9'; }) && pid.size() < 10;
    bool const is_lock = owner.empty() || (number && !pid.empty() && host.find_first_of(" \n") == std::string::npos);
    if (!is_lock) refuse(lock_path_ + " exists and is not a lock of Tessera", "rename it or choose another file");
    if (error == EWOULDBLOCK) {
      refuse("process " + (pid.empty() ? "of another run" : pid + " on " + host) + " is writing it",
             "wait until it is done, or choose another file");
    }
    if (!held && !owner.empty()) {
      // The file system has no locks: the process named in the file decides.
      bool const dead = host == own_host && number && ::kill(std::stoi(pid), 0) != 0 && errno == ESRCH;
      if (!dead) {
        refuse("process " + pid + " on " + host + " is writing it, or was killed while writing it",
               "wait until it is done, or remove " + lock_path_ + " if it no longer runs");
      }
    }
    // The owner may have removed the file between open and lock: then it is no longer the lock for this name.
    if (identity_of(lock.number()) != tessera::identity_of(lock_path_)) continue;
    // The owner is written only for the message above. A full disk is therefore no error here; the output itself will
    // report it.
    if (::ftruncate(lock.number(), 0) == 0 && ::lseek(lock.number(), 0, SEEK_SET) == 0) {
      (void)write_all(lock.number(), std::to_string(::getpid()) + " " + own_host);
    }
    lock_ = lock.release();
    return;
  }
}

// Only the holder of the lock writes. Temporary files of other processes therefore belong to killed processes, and are
// removed.
void WholeFile::remove_leftovers() const {
  fs::path const file(final_);
  std::string const stem = file.filename().string() + ".partial-";
  std::error_code error;
  for (fs::directory_iterator entry(file.parent_path(), error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    std::string const name = entry->path().filename().string();
    if (!name.starts_with(stem) || name.size() == stem.size()) continue;
    bool const number = std::all_of(name.begin() + static_cast<std::ptrdiff_t>(stem.size()), name.end(),
                                    [](char c) { return c >= '0' && c <= '9'; });
    if (number) ::unlink(entry->path().c_str());
  }
}

void WholeFile::replace(std::string_view text) {
  write(text);
  publish();
}

void WholeFile::reserve(std::size_t bytes) {
  Descriptor file(::open(temporary_.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  struct stat status{};
  int error = !file.is_open() || ::fstat(file.number(), &status) != 0 ? errno : 0;
  if (error == 0) error = ::posix_fallocate(file.number(), 0, status.st_size + static_cast<off_t>(bytes));
  if (error != 0) fail(reason(error));
}

void WholeFile::write(std::string_view text) {
  Descriptor file(::open(temporary_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (!file.is_open()) fail(reason(errno));
  if (!write_all(file.number(), text) || ::fsync(file.number()) != 0) fail(reason(errno));
  if (read_some(file.number(), text.size() + 1) != text) fail("the written file reads back differently");
  if (!file.close()) fail(reason(errno));
}

void WholeFile::flush() {
  Descriptor file(::open(temporary_.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!file.is_open() || ::fsync(file.number()) != 0 || !file.close()) fail(reason(errno));
}

void WholeFile::publish() {
  flush();
  if (::rename(temporary_.c_str(), final_.c_str()) != 0) fail(reason(errno));
  // So that the new name, too, survives a power failure. Not every file system supports it; the contents are already
  // safe.
  Descriptor const directory(::open(fs::path(final_).parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.is_open()) (void)::fsync(directory.number());
}

void WholeFile::discard() noexcept { ::unlink(temporary_.c_str()); }

void WholeFile::fail(std::string const& why) {
  discard();
  throw std::runtime_error("cannot write " + option_ + " " + path_ + " (" + why +
                           "); free some space or choose another file; an older file of this name is unchanged");
}

}  // namespace tessera
