#pragma once
/// \file
/// A barrier of a team in two steps: a thread arrives, does work that needs no other thread, and then waits for the
/// others. A slow thread delays the team less than at one team_barrier().
///
/// SplitBarrier is CUDA's mbarrier, compute capability 8.0 or higher. Elsewhere it is a counter of arrivals and the
/// number of the phase, both in scratch. Tests on a host have two more models
/// (tests/collective/emulated_split_barrier.hpp).
///
/// Each thread has its own object:
///   SplitBarrier(team, state)   prepares the state. Barriers: one
///   arrive()                    returns a token of the current phase. The phase ends when all threads have arrived;
///                               the next one then begins by itself
///   wait(token)                 returns when the token's phase has ended
///   invalidate(team)            must be called before the state's memory serves another purpose, or the kernel ends.
///                               Barriers: one, which also does what leave_scratch() does (core/scratch.hpp)
///
/// All threads of the team must call each of them equally often. A thread calls arrive() and wait() in turn, and waits
/// with the token of its last arrival. Between them it may read and write what no other thread uses. If lanes of one
/// warp wait and others still have to arrive, devices without mbarrier may not return: no branch between arrive() and
/// wait() may leave lanes behind.
///
/// Data that a thread wrote before arrive() are visible to each thread after its wait(). Data that it writes in
/// between may or may not be visible.
///
/// Scratch: one SplitBarrierState, aligned to 8 bytes. Teams must have one lane per thread (vector length 1).
///
/// Example, two threads with values 5 and 7, in scratch `s`:
///   s[rank] = value;  token = arrive();  (own work)  wait(token);  s[1 - rank] -> 7 and 5.
///
/// Source: NVIDIA, PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier"; the counter and phase
/// are a sense-reversing barrier (Mellor-Crummey and Scott, Algorithms for Scalable Synchronization, 1991).

#include <Kokkos_Core.hpp>

#include <cstdint>

#include <tessera/collective/shared_word.hpp>
#include <tessera/collective/team/team.hpp>

namespace tessera::team {

/// The memory of a SplitBarrier. Its contents are the barrier's own: with mbarrier, one opaque object of 64 bits.
struct alignas(8) SplitBarrierState {
  std::uint32_t arrived;
  std::uint32_t phase;
};

class SplitBarrier {
 public:
  using Token = std::uint64_t;

  /// Must be called by all threads of the team. Barriers: one.
  template <Team Member>
  KOKKOS_FUNCTION SplitBarrier(Member const& team, SplitBarrierState* state)
      : state_(state), threads_(static_cast<std::uint32_t>(team.team_size())) {
    if (team.team_rank() == 0) begin();
    team.team_barrier();
  }

  /// Returns the token of the phase at which the calling thread arrives.
  [[nodiscard]] KOKKOS_FUNCTION Token arrive() const {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    Token token;
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(token) : "r"(address()) : "memory");
    return token;
#else
    // The phase cannot end before this thread has arrived. x86 cannot show the loss of one of these fences: it keeps
    // the order of stores, and the addition is a fence by itself.
    std::uint32_t const phase = collective::load_word(&state_->phase);
    Kokkos::memory_fence();
    if (Kokkos::atomic_fetch_add(&state_->arrived, 1U) + 1 == threads_) {
      // Nobody arrives at the next phase before it is published.
      collective::store_word(&state_->arrived, 0U);
      Kokkos::memory_fence();
      collective::store_word(&state_->phase, phase + 1);
    }
    return phase;
#endif
  }

  /// Returns when all threads of the team have arrived at the token's phase.
  KOKKOS_FUNCTION void wait(Token token) const {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    unsigned is_over = 0;
    while (is_over == 0) {
// try_wait suspends the thread for a while; test_wait only asks.
#if __CUDA_ARCH__ >= 900
#define TESSERA_ASKED "mbarrier.try_wait.shared.b64"
#else
#define TESSERA_ASKED "mbarrier.test_wait.shared.b64"
#endif
      asm volatile("{ .reg .pred over; " TESSERA_ASKED " over, [%1], %2; selp.u32 %0, 1, 0, over; }"
                   : "=r"(is_over)
                   : "r"(address()), "l"(token)
                   : "memory");
#undef TESSERA_ASKED
    }
#else
    while (collective::load_word(&state_->phase) == static_cast<std::uint32_t>(token)) collective::back_off(0);
    Kokkos::memory_fence();
#endif
  }

  /// Must be called by all threads of the team after their last wait(). Barriers: one.
  template <Team Member>
  KOKKOS_FUNCTION void invalidate(Member const& team) const {
    team.team_barrier();
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    if (team.team_rank() == 0) asm volatile("mbarrier.inval.shared.b64 [%0];" : : "r"(address()) : "memory");
#endif
  }

 private:
  KOKKOS_FUNCTION void begin() const {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" : : "r"(address()), "r"(threads_) : "memory");
#else
    *state_ = {0, 0};
#endif
  }
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  [[nodiscard]] __device__ unsigned address() const { return static_cast<unsigned>(__cvta_generic_to_shared(state_)); }
#endif

  SplitBarrierState* state_;
  std::uint32_t threads_;
};

}  // namespace tessera::team
