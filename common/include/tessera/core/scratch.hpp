#pragma once
/// \file
/// Scratch memory of a team: how a launch asks for it, and what a kernel must do before it reuses or leaves it.
///
/// Use:  using Tile = ScratchView<float*, Exec>;
///       Kokkos::parallel_for("name", with_scratch(Policy(exec, league, threads), Tile::shmem_size(n)), kernel);
/// and in the kernel:  Tile const tile(team.team_scratch(0), n);  ...  leave_scratch(team);

#include <Kokkos_Core.hpp>

#include <cstddef>

#include <tessera/core/spaces.hpp>

namespace tessera {

/// A View of scratch memory, constructed in the kernel: `ScratchView<T*, Exec>(team.team_scratch(0), n)`.
template <class DataType, class Exec>
using ScratchView =
    Kokkos::View<DataType, typename Exec::scratch_memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

/// The policy with so many bytes of scratch for each team: the sum of shmem_size() of the Views that its kernel makes.
/// \param level 0: small and fast; 1: large, and ordinary memory on a GPU
template <class Policy>
[[nodiscard]] Policy with_scratch(Policy policy, std::size_t bytes, int level = 0) {
  policy.set_scratch_size(level, Kokkos::PerTeam(static_cast<int>(bytes)));
  return policy;
}

/// How many bytes on_a_line() may skip; a kernel must ask for them besides its own.
template <class Exec>
inline constexpr std::size_t bytes_to_a_line = is_gpu<Exec> ? 128 : 0;

/// On a GPU the first element from `data` on, in a team's scratch, that begins a line of 128 bytes; elsewhere `data`.
/// Without it scratch is not aligned to sectors of 32 bytes, because Kokkos' own 16 bytes lie in front of it. Then two
/// lanes may copy one sector of memory, which is fetched twice if the copies are asynchronous and bypass the
/// first-level cache.
template <class T>
[[nodiscard]] KOKKOS_INLINE_FUNCTION T* on_a_line(T* data) {
#if defined(__CUDA_ARCH__)
  // By an index, since the compiler does not know of an address that is made from a number that it is in scratch.
  return data + (0U - static_cast<unsigned>(__cvta_generic_to_shared(data))) % 128 / sizeof(T);
#else
  return data;
#endif
}

/// Must be the last statement of a kernel that uses scratch, and of a loop's body that uses it again in the next
/// iteration. A host's threads go on with another team in the same memory, and a thread that is ahead would overwrite
/// what others still read.
///
/// Who calls: all threads of the team. Barriers: one.
template <class Member>
KOKKOS_INLINE_FUNCTION void leave_scratch(Member const& team) {
  team.team_barrier();
}

}  // namespace tessera
