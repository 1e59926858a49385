#pragma once
/// \file
/// Runs the driver's own work (comparing, copying, generating) on all cores of the host. It has its own threads, so
/// that it depends on no Kokkos execution space and shares no code with the kernels that it checks.

#include <sched.h>

#include <cstddef>
#include <functional>
#include <utility>

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
[[nodiscard]] cpu_set_t& host_processors();

/// Returns the number of threads that for_blocks uses, at least 1.
[[nodiscard]] std::size_t host_threads();

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

/// for_blocks, compiled once: calls `call(body, index, begin, end)`.
void run_blocks(std::size_t count, std::size_t block, void const* body,
                void (*call)(void const* body, std::size_t index, std::size_t begin, std::size_t end));

}  // namespace detail

/// Calls `body(index, begin, end)` for each block [begin, end) of [0, count). Each block has `block` elements; the last
/// may have fewer. Calls come in any order and run concurrently; the caller works too. An exception in a body ends the
/// loop and is rethrown here. A nested loop runs serially on its thread if the outer loop keeps all threads busy.
template <class Body>
void for_blocks(std::size_t count, std::size_t block, Body const& body) {
  detail::run_blocks(count, block, &body, [](void const* of, std::size_t index, std::size_t begin, std::size_t end) {
    (*static_cast<Body const*>(of))(index, begin, end);
  });
}

/// True if two arrays in host memory have the same bytes. Compares on all cores.
[[nodiscard]] bool same_bytes(void const* one, void const* other, std::size_t count);

}  // namespace tessera
