#pragma once
// A team that turns a missing barrier into a wrong result, every time.
// Its threads are fibers. One fiber runs at a time, from one barrier to the next, in an order that the test chooses. A
// thread that reads a value before another thread writes it finds poison. A thread that overwrites a value before
// another thread reads it has done so by then. Ascending order shows one of these errors and descending order the
// other; both are reproducible. Threads between different barriers share only memory.
// If a thread returns while others wait at a barrier, run() reports an error; nothing hangs.

#include <ucontext.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <Kokkos_Core.hpp>

#include "operators_for_tests.hpp"

// AddressSanitizer must be told about stack switches.
#if defined(__SANITIZE_ADDRESS__)
#define TESSERA_TEST_ADDRESS_SANITIZER
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TESSERA_TEST_ADDRESS_SANITIZER
#endif
#endif
#if defined(TESSERA_TEST_ADDRESS_SANITIZER)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace tessera::test {

/// Order in which the threads run between two barriers.
enum class Order : std::uint8_t { ascending, descending, rotating, random };

inline constexpr Order all_orders[] = {Order::ascending, Order::descending, Order::rotating, Order::random};

[[nodiscard]] inline char const* name_of(Order order) {
  switch (order) {
    case Order::ascending: return "ascending";
    case Order::descending: return "descending";
    case Order::rotating: return "rotating";
    case Order::random: return "random";
  }
  return "unknown";
}

class AdversarialTeam {
 public:
  /// The team as a collective sees it, from one thread.
  class Member {
   public:
    Member(AdversarialTeam* team, int rank) : team_(team), rank_(rank) {}

    [[nodiscard]] KOKKOS_FUNCTION int team_rank() const { return rank_; }
    [[nodiscard]] KOKKOS_FUNCTION int team_size() const {
      KOKKOS_IF_ON_HOST((return team_->size();))
      KOKKOS_IF_ON_DEVICE((return 0;))
    }
    KOKKOS_FUNCTION void team_barrier() const { KOKKOS_IF_ON_HOST((team_->arrive(rank_);)) }

   private:
    AdversarialTeam* team_;
    int rank_;
  };

  explicit AdversarialTeam(int size) : fibers_(static_cast<std::size_t>(size)) {
    for (Fiber& fiber : fibers_) fiber.stack = std::make_unique<char[]>(stack_bytes);
  }
  AdversarialTeam(AdversarialTeam const&) = delete;
  AdversarialTeam& operator=(AdversarialTeam const&) = delete;

  [[nodiscard]] int size() const { return static_cast<int>(fibers_.size()); }
  /// Number of barriers that the last run passed.
  [[nodiscard]] int barriers() const { return barriers_; }

  /// Runs `body(Member const&)` in every thread. Returns an error (threads that disagree on the number of barriers, or
  /// an exception), or nothing if there is none.
  template <class Body>
  [[nodiscard]] std::optional<std::string> run(Order order, std::uint64_t seed, Body const& body) {
    body_ = [&body](Member const& member) { body(member); };
    barriers_ = 0;
    abandoned_ = false;
    error_.reset();
    for (Fiber& fiber : fibers_) prepare(fiber);
    while (true) {
      for (int const rank : ranks(order, seed)) resume(rank);
      auto const finished = static_cast<int>(
          std::count_if(fibers_.begin(), fibers_.end(), [](Fiber const& fiber) { return fiber.finished; }));
      if (finished == size()) return error_;
      if (finished > 0) {
        std::string const why = std::to_string(finished) + " of " + std::to_string(size()) +
                                " threads returned after barrier " + std::to_string(barriers_) +
                                ", the others wait at the next one";
        unwind();
        return error_ ? error_ : why;
      }
      ++barriers_;
    }
  }

 private:
  static constexpr std::size_t stack_bytes = std::size_t{1} << 16;

  // Thrown out of a barrier that can never be passed, so that the objects on the fiber's stack are destroyed.
  struct Abandoned {};

  struct Fiber {
    ucontext_t context;
    std::unique_ptr<char[]> stack;
    void* fake_stack = nullptr;
    bool finished = false;
  };

  // makecontext passes only ints.
  static void enter(unsigned high, unsigned low) {
    auto const address = (static_cast<std::uintptr_t>(high) << 32) | low;
    reinterpret_cast<AdversarialTeam*>(address)->work();
  }

  void prepare(Fiber& fiber) {
    fiber.finished = false;
    fiber.fake_stack = nullptr;
#if defined(TESSERA_TEST_ADDRESS_SANITIZER)
    // Clear the poisoned stack areas left by the frames of the last run.
    ASAN_UNPOISON_MEMORY_REGION(fiber.stack.get(), stack_bytes);
#endif
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.get();
    fiber.context.uc_stack.ss_size = stack_bytes;
    fiber.context.uc_link = nullptr;  // work() does not return
    auto const address = reinterpret_cast<std::uintptr_t>(this);
    makecontext(&fiber.context, reinterpret_cast<void (*)()>(&AdversarialTeam::enter), 2,
                static_cast<unsigned>(address >> 32), static_cast<unsigned>(address & 0xffffffffu));
  }

  // Chooses the threads' order until the next barrier.
  [[nodiscard]] std::vector<int> ranks(Order order, std::uint64_t seed) const {
    std::vector<int> result(fibers_.size());
    std::iota(result.begin(), result.end(), 0);
    switch (order) {
      case Order::ascending: break;
      case Order::descending: std::reverse(result.begin(), result.end()); break;
      case Order::rotating: std::rotate(result.begin(), result.begin() + (barriers_ + 1) % size(), result.end()); break;
      case Order::random:
        for (std::size_t left = result.size(); left > 1; --left) {
          std::uint64_t const bits = random_bits((seed << 20) + (static_cast<std::uint64_t>(barriers_) << 10) + left);
          std::swap(result[left - 1], result[bits % left]);
        }
        break;
    }
    return result;
  }

  // Switches from the scheduler into a thread; returns at the thread's next barrier or end.
  void resume(int rank) {
    Fiber& fiber = fibers_[static_cast<std::size_t>(rank)];
    if (fiber.finished) return;
    running_ = rank;
#if defined(TESSERA_TEST_ADDRESS_SANITIZER)
    void* fake_stack = nullptr;
    __sanitizer_start_switch_fiber(&fake_stack, fiber.stack.get(), stack_bytes);
    swapcontext(&scheduler_, &fiber.context);
    __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
#else
    swapcontext(&scheduler_, &fiber.context);
#endif
  }

  // Entry point of a thread.
  void work() {
    int const rank = running_;
    Fiber& fiber = fibers_[static_cast<std::size_t>(rank)];
#if defined(TESSERA_TEST_ADDRESS_SANITIZER)
    __sanitizer_finish_switch_fiber(nullptr, &scheduler_stack_, &scheduler_stack_bytes_);
#endif
    try {
      body_(Member(this, rank));
    } catch (Abandoned const&) {
      // run() reports the error.
    } catch (std::exception const& exception) {
      if (!error_) error_ = "thread " + std::to_string(rank) + " threw: " + exception.what();
    }
    fiber.finished = true;
#if defined(TESSERA_TEST_ADDRESS_SANITIZER)
    // The null pointer discards the fake stack, because this fiber does not resume.
    __sanitizer_start_switch_fiber(nullptr, scheduler_stack_, scheduler_stack_bytes_);
#endif
    setcontext(&scheduler_);
  }

  // Switches from a thread back to the scheduler until all other threads have arrived.
  void arrive(int rank) {
    Fiber& fiber = fibers_[static_cast<std::size_t>(rank)];
#if defined(TESSERA_TEST_ADDRESS_SANITIZER)
    __sanitizer_start_switch_fiber(&fiber.fake_stack, scheduler_stack_, scheduler_stack_bytes_);
    swapcontext(&fiber.context, &scheduler_);
    __sanitizer_finish_switch_fiber(fiber.fake_stack, &scheduler_stack_, &scheduler_stack_bytes_);
#else
    swapcontext(&fiber.context, &scheduler_);
#endif
    if (abandoned_) throw Abandoned{};
  }

  // Ends the threads that wait at a barrier that cannot be passed.
  void unwind() {
    abandoned_ = true;
    for (int rank = 0; rank < size(); ++rank) resume(rank);
  }

  std::vector<Fiber> fibers_;
  ucontext_t scheduler_{};
  std::function<void(Member const&)> body_;
  std::optional<std::string> error_;
  int running_ = 0;
  int barriers_ = 0;
  bool abandoned_ = false;
  void const* scheduler_stack_ = nullptr;
  std::size_t scheduler_stack_bytes_ = 0;
};

}  // namespace tessera::test
