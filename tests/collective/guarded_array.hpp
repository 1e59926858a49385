#pragma once
// An array between guard pages whose surroundings are watched. Reading or writing past the guarded end, or before the
// first page, kills the test program. A write beside the array within its pages is detected afterwards.

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <new>

namespace tessera::test {

template <class T>
class GuardedArray {
 public:
  /// Provides room for `capacity` elements between two inaccessible pages.
  explicit GuardedArray(std::size_t capacity) {
    auto const page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    readable_ = (capacity * sizeof(T) + page - 1) / page * page;
    if (readable_ == 0) readable_ = page;
    mapped_ = readable_ + 2 * page;
    void* const memory = mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    memory_ = static_cast<char*>(memory);
    begin_ = memory_ + page;
    if (mprotect(begin_, readable_, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
  }
  GuardedArray(GuardedArray const&) = delete;
  GuardedArray& operator=(GuardedArray const&) = delete;
  ~GuardedArray() { munmap(memory_, mapped_); }

  /// Returns the n elements just before the guard page; fills all other memory with a canary.
  [[nodiscard]] T* last(std::size_t n) { return place(readable_ - n * sizeof(T), n); }
  /// Returns n elements that begin `offset` elements after the first accessible page's begin; fills all other memory
  /// with a canary.
  [[nodiscard]] T* first(std::size_t n, std::size_t offset = 0) { return place(offset * sizeof(T), n); }

  /// Returns true if nothing was written outside the elements returned last.
  [[nodiscard]] bool untouched() const {
    for (std::size_t i = 0; i < readable_; ++i) {
      if ((i < given_ || i >= given_ + given_bytes_) && begin_[i] != canary) return false;
    }
    return true;
  }

 private:
  static constexpr char canary = 0x5a;

  [[nodiscard]] T* place(std::size_t at, std::size_t n) {
    given_ = at;
    given_bytes_ = n * sizeof(T);
    std::memset(begin_, canary, readable_);
    return reinterpret_cast<T*>(begin_ + at);
  }

  char* memory_ = nullptr;
  char* begin_ = nullptr;
  std::size_t mapped_ = 0;
  std::size_t readable_ = 0;
  std::size_t given_ = 0;
  std::size_t given_bytes_ = 0;
};

}  // namespace tessera::test
