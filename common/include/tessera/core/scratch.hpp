#pragma once
/// \file
/// Scratch memory of a team: how a launch requests it, and what a kernel must do before it reuses the scratch or ends.
///
/// Use:
///
///     using Tile = ScratchView<float*, Exec>;
///     Kokkos::parallel_for("name", with_scratch(Policy(exec, league, threads), Tile::shmem_size(n)), kernel);
///
/// and in the kernel:
///
///     Tile const tile(team.team_scratch(0), n);  ...  leave_scratch(team);

#include <Kokkos_Core.hpp>

#include <cstddef>

#include <tessera/core/spaces.hpp>

namespace tessera {

/// A View of scratch memory, to be constructed in the kernel: `ScratchView<T*, Exec>(team.team_scratch(0), n)`.
template <class DataType, class Exec>
using ScratchView =
    Kokkos::View<DataType, typename Exec::scratch_memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

/// A unit of scratch that holds any struct. For a View of one large struct, Kokkos asks for as many bytes once more, to
/// align it.
struct alignas(16) Sixteen {
  char bytes[16];
};
/// Returns the number of units that hold `bytes` bytes.
[[nodiscard]] constexpr std::size_t sixteens(std::size_t bytes) {
  return (bytes + sizeof(Sixteen) - 1) / sizeof(Sixteen);
}

/// Returns the policy with `bytes` bytes of scratch per team. `bytes` is the sum of shmem_size() of the Views that the
/// kernel makes.
/// \param level 0: small and fast; 1: large, and ordinary memory on a GPU
template <class Policy>
[[nodiscard]] Policy with_scratch(Policy policy, std::size_t bytes, int level = 0) {
  policy.set_scratch_size(level, Kokkos::PerTeam(static_cast<int>(bytes)));
  return policy;
}

/// The largest number of bytes that on_a_line() skips. A kernel must request them in addition to its own bytes.
template <class Exec>
inline constexpr std::size_t bytes_to_a_line = is_gpu<Exec> ? 128 : 0;

/// Returns, on a GPU, the first element at or after `data` in a team's scratch that begins a 128-byte line; elsewhere
/// `data`. Without this, scratch is not aligned to 32-byte sectors, because 16 bytes of Kokkos lie in front of it. Two
/// lanes may then copy the same sector of memory, which is fetched twice if the copies are asynchronous and bypass the
/// first-level cache.
template <class T>
[[nodiscard]] KOKKOS_INLINE_FUNCTION T* on_a_line(T* data) {
#if defined(__CUDA_ARCH__)
  // By an index: the compiler does not know that an address made from an integer is in scratch.
  return data + (0U - static_cast<unsigned>(__cvta_generic_to_shared(data))) % 128 / sizeof(T);
#else
  return data;
#endif
}

/// Must be the last statement of a kernel that uses scratch, and of a loop body that reuses scratch in the next
/// iteration. On a host, a thread that is ahead goes on with another team in the same memory, and would overwrite data
/// that other threads still read. No test fails without it in a kernel with a barrier before its first write there.
///
/// Must be called by all threads of the team. Barriers: one.
template <class Member>
KOKKOS_INLINE_FUNCTION void leave_scratch(Member const& team) {
  team.team_barrier();
}

}  // namespace tessera
