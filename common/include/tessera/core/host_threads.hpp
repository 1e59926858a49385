#pragma once
/// \file
/// The driver's own work (comparing, copying, generating) on all of the host's cores. It has threads of its own, so
/// that nothing depends on which spaces this Kokkos has, and it shares no code with what it checks.

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace tessera {

namespace detail {

[[nodiscard]] inline cpu_set_t& processors_in_use() {
  static cpu_set_t processors = [] {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (::sched_getaffinity(0, sizeof set, &set) != 0) CPU_ZERO(&set);
    return set;
  }();
  return processors;
}

}  // namespace detail

/// The processors of this process: those that the first caller may run on, or what use_processors() said. The umbrella
/// program calls it before any library can bind its thread.
[[nodiscard]] inline cpu_set_t const& host_processors() { return detail::processors_in_use(); }

/// Says which processors this process has, for programs whose first caller was bound already: if OMP_PROC_BIND is set,
/// OpenMP's runtime binds the main thread to one processor as it is loaded. Called by find_processors(), before other
/// threads start.
inline void use_processors(cpu_set_t const& processors) { detail::processors_in_use() = processors; }

/// How many threads for_blocks works with, at least 1.
[[nodiscard]] inline std::size_t host_threads() {
  auto const processors = static_cast<unsigned>(CPU_COUNT(&host_processors()));
  return std::max(1U, processors > 0 ? processors : std::thread::hardware_concurrency());
}

/// Number of blocks of at most `block` elements in `count`.
[[nodiscard]] constexpr std::size_t blocks_in(std::size_t count, std::size_t block) {
  return count / block + (count % block == 0 ? 0 : 1);
}

/// Calls `body(index, begin, end)` for each block [begin, end) of [0, count). Each has `block` elements, the last may
/// have fewer. The calls come in any order, several at a time; the caller works, too. An exception of a body ends the
/// loop and is thrown again here.
template <class Body>
void for_blocks(std::size_t count, std::size_t block, Body const& body) {
  std::size_t const blocks = blocks_in(count, block);
  std::atomic<std::size_t> next = 0;
  std::exception_ptr failure;
  std::mutex of_failure;
  auto const work = [&] {
    try {
      for (std::size_t i = next++; i < blocks; i = next++) body(i, i * block, std::min(count, (i + 1) * block));
    } catch (...) {
      next = blocks;
      std::lock_guard const lock(of_failure);
      if (!failure) failure = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> helpers;
    try {
      for (std::size_t t = 1; t < std::min(blocks, host_threads()); ++t) {
        helpers.emplace_back([&] {
          (void)::pthread_setaffinity_np(::pthread_self(), sizeof(cpu_set_t), &host_processors());
          work();
        });
      }
    } catch (std::system_error const&) {  // NOLINT(bugprone-empty-catch)
      // If no more threads can be started, those that exist do the work.
    }
    work();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace tessera
