#include <tessera/core/host_threads.hpp>

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace tessera {

namespace {

/// True on a thread that runs a block of a loop with enough blocks for all threads.
bool& all_threads_work() {
  thread_local bool work = false;
  return work;
}

}  // namespace

cpu_set_t& host_processors() {
  static cpu_set_t processors = [] {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (::sched_getaffinity(0, sizeof set, &set) != 0) CPU_ZERO(&set);
    return set;
  }();
  return processors;
}

std::size_t host_threads() {
  auto const processors = static_cast<unsigned>(CPU_COUNT(&host_processors()));
  return std::max(1U, processors > 0 ? processors : std::thread::hardware_concurrency());
}

void detail::run_blocks(std::size_t count, std::size_t block, void const* body,
                        void (*call)(void const* body, std::size_t index, std::size_t begin, std::size_t end)) {
  std::size_t const blocks = blocks_in(count, block);
  std::atomic<std::size_t> next = 0;
  std::atomic<std::size_t> done = 0;
  std::exception_ptr failure;
  std::mutex of_failure;
  BlockWatch::Seen const* const watch = std::exchange(BlockWatch::current(), nullptr);
  auto const begin = std::chrono::steady_clock::now();
  bool const alone = all_threads_work();
  bool const enough = alone || blocks >= 4 * host_threads();
  auto const work = [&] {
    bool const before = std::exchange(all_threads_work(), enough);
    try {
      for (std::size_t i = next++; i < blocks; i = next++) {
        call(body, i, i * block, std::min(count, (i + 1) * block));
        if (watch != nullptr) {
          (*watch)(++done, blocks, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
        }
      }
    } catch (...) {
      next = blocks;
      std::lock_guard const lock(of_failure);
      if (!failure) failure = std::current_exception();
    }
    all_threads_work() = before;
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

bool same_bytes(void const* one, void const* other, std::size_t count) {
  std::atomic<bool> same = true;
  for_blocks(count, std::size_t{1} << 22, [&](std::size_t, std::size_t begin, std::size_t end) {
    auto const* const bytes = static_cast<unsigned char const*>(one);
    auto const* const others = static_cast<unsigned char const*>(other);
    if (same && std::memcmp(bytes + begin, others + begin, end - begin) != 0) same = false;
  });
  return same;
}

}  // namespace tessera
