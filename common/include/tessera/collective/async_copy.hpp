#pragma once
/// \file
/// Asynchronous copies from memory into scratch. The calling thread continues while they are in flight, and they need
/// no registers.
///
/// Models of one concept:
/// - HardwareCopies: CUDA's cp.async, compute capability 8.0 or higher; see has_async_copies(). Device code for older
///   devices copies immediately.
/// - HardwareCopiesPastL1: the same, but copies of 16 bytes bypass the multiprocessor's first-level cache
///   (cp.async.cg). Use it for data that neighbouring teams do not read.
/// Tests on a host have two more models (tests/collective/emulated_copies.hpp).
///
/// Each lane has its own object (for emulated lanes: each thread):
///   copy_async<Bytes>(to, from, take)   starts a copy of 4, 8 or 16 bytes; both addresses must be aligned to Bytes.
///                                       If `take` is false, `to` is set to zero and `from` is not read, but `from`
///                                       must not be null.
///   commit()                            makes a group of all copies since the last commit; the group may be empty
///   wait<N>()                           returns when all of the calling lane's groups except the last N have arrived
///
/// May be called by any lane, also under a condition that differs between lanes. wait() counts groups, so each lane
/// must know how many groups it has committed. No barriers inside. Other threads see the copies only after wait() and
/// then a barrier of the team. Before copy_async() a barrier must ensure that no thread still reads the destination.
///
/// Example: copy_async<4>(s, x, true); commit(); copy_async<4>(s + 1, x + 1, false); commit();
///   wait<1>() -> s[0] is x[0], s[1] unknown;  wait<0>() -> s[1] is 0.
///
/// Source: NVIDIA, PTX ISA, "Data Movement and Conversion Instructions: Asynchronous copy", cp.async.

#include <Kokkos_Core.hpp>

#include <concepts>

#include <tessera/collective/pack.hpp>
#include <tessera/core/spaces.hpp>

namespace tessera::collective {

/// The operations that a kernel may use on its asynchronous copies.
template <class C>
concept AsyncCopies = std::default_initializable<C> && requires(C const& copies, int* to, int const* from) {
  copies.template copy_async<4>(to, from, true);
  copies.commit();
  copies.template wait<0>();
};

/// The copies of one lane, made by the hardware.
class HardwareCopies {
 public:
  template <int Bytes>
  KOKKOS_FUNCTION void copy_async(void* to, void const* from, bool take) const {
    static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16, "Tessera: an asynchronous copy has 4, 8 or 16 bytes");
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    auto const target = static_cast<unsigned>(__cvta_generic_to_shared(to));
    int const taken = take ? Bytes : 0;  // the remaining bytes become zero
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;"
                 :
                 : "r"(target), "l"(__cvta_generic_to_global(from)), "n"(Bytes), "r"(taken)
                 : "memory");
#else
    // One read and one write: both addresses are aligned for it.
    pack_at<Bytes>(static_cast<char*>(to)) =
        take ? pack_at<Bytes>(static_cast<char const*>(from)) : Pack<char, Bytes>{};
#endif
  }
  KOKKOS_FUNCTION void commit() const {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" : : : "memory");
#endif
  }
  template <int N>
  KOKKOS_FUNCTION void wait() const {
    static_assert(N >= 0);
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" : : "n"(N) : "memory");
#endif
  }
};

/// The same, but copies of 16 bytes bypass the first-level cache.
class HardwareCopiesPastL1 : public HardwareCopies {
 public:
  template <int Bytes>
  KOKKOS_FUNCTION void copy_async(void* to, void const* from, bool take) const {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    if constexpr (Bytes == 16) {
      auto const target = static_cast<unsigned>(__cvta_generic_to_shared(to));
      int const taken = take ? Bytes : 0;
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                   :
                   : "r"(target), "l"(__cvta_generic_to_global(from)), "r"(taken)
                   : "memory");
      return;
    }
#endif
    HardwareCopies::template copy_async<Bytes>(to, from, take);
  }
};

/// True if this build's code for Exec copies asynchronously: every device architecture that it was compiled for
/// supports it.
#if defined(KOKKOS_ENABLE_CUDA) && !defined(KOKKOS_ARCH_MAXWELL) && !defined(KOKKOS_ARCH_PASCAL) && \
    !defined(KOKKOS_ARCH_VOLTA) && !defined(KOKKOS_ARCH_TURING75)
template <class Exec>
inline constexpr bool is_built_for_async_copies = std::same_as<Exec, Kokkos::Cuda>;
#else
template <class Exec>
inline constexpr bool is_built_for_async_copies = false;
#endif

/// Returns true if the device supports asynchronous copies into scratch and this build's code uses them.
template <ExecutionSpace Exec>
[[nodiscard]] bool has_async_copies([[maybe_unused]] Exec const& exec) {
#if defined(KOKKOS_ENABLE_CUDA)
  if constexpr (is_built_for_async_copies<Exec>) return exec.cuda_device_prop().major >= 8;
#endif
  return false;
}

}  // namespace tessera::collective
