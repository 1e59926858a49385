#pragma once
/// \file
/// Scratch memory of a team, from the launch to the kernel's last statement.
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

/// Bytes that on_a_line() may skip, to be asked for beside a kernel's own.
template <class Exec>
inline constexpr std::size_t bytes_to_a_line = is_gpu<Exec> ? 128 : 0;

/// On a GPU the first element at or behind `data`, in a team's scratch, that begins a line of 128 bytes; elsewhere `data`. Kokkos'
/// own 16 bytes lie in front of a team's scratch, so that a sector of 32 bytes there is half of one and half of the next: where
/// two lanes copy a sector of memory asynchronously past the first cache, it is fetched twice.
template <class T>
[[nodiscard]] KOKKOS_INLINE_FUNCTION T* on_a_line(T* data) {
#if defined(__CUDA_ARCH__)
  // By an index: of an address that is made from a number the compiler does not know that it is scratch.
  return data + (0U - static_cast<unsigned>(__cvta_generic_to_shared(data))) % 128 / sizeof(T);
#else
  return data;
#endif
}

/// The last statement of a kernel that uses scratch, and of a loop's body that uses it again in the next iteration.
/// A host's threads go on with another team in the same memory, and one that is ahead would overwrite what the others
/// still read.
///
/// Who calls: all threads of the team. Barriers: one.
template <class Member>
KOKKOS_INLINE_FUNCTION void leave_scratch(Member const& team) {
  team.team_barrier();
}

}  // namespace tessera
