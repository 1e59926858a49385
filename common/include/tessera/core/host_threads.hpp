#pragma once
/// \file
/// Runs the driver's own work (comparing, copying, generating) on all cores of the host. It has its own threads, so
/// that it depends on no Kokkos execution space and shares no code with the kernels that it checks.

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <exception>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace tessera {

/// During its lifetime, observes the progress of the for_blocks loops that this thread starts. Nested loops in their
/// bodies are not observed.
class BlockWatch {
 public:
  /// Called by any thread, possibly concurrently, when a block is done: `done` of `blocks` blocks, `seconds` after the
  /// start of the loop.
  using Seen = std::function<void(std::size_t done, std::size_t blocks, double seconds)>;

  explicit BlockWatch(Seen seen) : seen_(std::move(seen)), before_(std::exchange(current(), &seen_)) {}
  ~BlockWatch() { current() = before_; }
  BlockWatch(BlockWatch const&) = delete;
  BlockWatch& operator=(BlockWatch const&) = delete;

  /// Returns the watch of this thread, or nullptr.
  [[nodiscard]] static Seen const*& current() {
    thread_local Seen const* watch = nullptr;
    return watch;
  }

 private:
  Seen seen_;
  Seen const* before_;
};

/// Returns the processors of this process: the processors that the first caller may run on. The umbrella program calls
/// it before any library can bind its thread. If OMP_PROC_BIND is set, OpenMP's runtime binds the main thread to one
/// processor when it is loaded: find_processors() then sets them, before other threads start.
[[nodiscard]] inline cpu_set_t& host_processors() {
  static cpu_set_t processors = [] {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (::sched_getaffinity(0, sizeof set, &set) != 0) CPU_ZERO(&set);
    return set;
  }();
  return processors;
}

/// Returns the number of threads that for_blocks uses, at least 1.
[[nodiscard]] inline std::size_t host_threads() {
  auto const processors = static_cast<unsigned>(CPU_COUNT(&host_processors()));
  return std::max(1U, processors > 0 ? processors : std::thread::hardware_concurrency());
}

/// Number of elements in one part of a reference, the serial work of one thread. Parts do not depend on the number of
/// threads, and so neither do results. Only tests change the value.
[[nodiscard]] inline std::size_t& part_elements() {
  static std::size_t elements = std::size_t{1} << 15;
  return elements;
}

/// Returns the number of blocks of at most `block` elements in `count` elements.
[[nodiscard]] constexpr std::size_t blocks_in(std::size_t count, std::size_t block) {
  return count / block + (count % block == 0 ? 0 : 1);
}

namespace detail {

/// True on a thread that runs a block of a loop with enough blocks for all threads.
[[nodiscard]] inline bool& all_threads_work() {
  thread_local bool work = false;
  return work;
}

}  // namespace detail

/// Calls `body(index, begin, end)` for each block [begin, end) of [0, count). Each block has `block` elements; the last
/// may have fewer. Calls come in any order and run concurrently; the caller works too. An exception in a body ends the
/// loop and is rethrown here. A nested loop runs serially on its thread if the outer loop keeps all threads busy.
template <class Body>
void for_blocks(std::size_t count, std::size_t block, Body const& body) {
  std::size_t const blocks = blocks_in(count, block);
  std::atomic<std::size_t> next = 0;
  std::atomic<std::size_t> done = 0;
  std::exception_ptr failure;
  std::mutex of_failure;
  BlockWatch::Seen const* const watch = std::exchange(BlockWatch::current(), nullptr);
  auto const begin = std::chrono::steady_clock::now();
  bool const alone = detail::all_threads_work();
  bool const enough = alone || blocks >= 4 * host_threads();
  auto const work = [&] {
    bool const before = std::exchange(detail::all_threads_work(), enough);
    try {
      for (std::size_t i = next++; i < blocks; i = next++) {
        body(i, i * block, std::min(count, (i + 1) * block));
        if (watch != nullptr) {
          (*watch)(++done, blocks, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
        }
      }
    } catch (...) {
      next = blocks;
      std::lock_guard const lock(of_failure);
      if (!failure) failure = std::current_exception();
    }
    detail::all_threads_work() = before;
  };
  {
    std::vector<std::jthread> helpers;
    try {
      for (std::size_t t = 1; !alone && t < std::min(blocks, host_threads()); ++t) {
        helpers.emplace_back([&] {
          (void)::pthread_setaffinity_np(::pthread_self(), sizeof(cpu_set_t), &host_processors());
          work();
        });
      }
    } catch (std::system_error const&) {  // NOLINT(bugprone-empty-catch)
      // If no more threads can be started, the existing threads do the work.
    }
    work();
  }
  BlockWatch::current() = watch;
  if (failure) std::rethrow_exception(failure);
}

/// True if two arrays in host memory have the same bytes. Compares on all cores.
[[nodiscard]] inline bool same_bytes(void const* one, void const* other, std::size_t count) {
  std::atomic<bool> same = true;
  for_blocks(count, std::size_t{1} << 22, [&](std::size_t, std::size_t begin, std::size_t end) {
    auto const* const bytes = static_cast<unsigned char const*>(one);
    auto const* const others = static_cast<unsigned char const*>(other);
    if (same && std::memcmp(bytes + begin, others + begin, end - begin) != 0) same = false;
  });
  return same;
}

}  // namespace tessera
