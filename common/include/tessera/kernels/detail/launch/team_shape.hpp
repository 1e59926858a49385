#pragma once
/// \file
/// The number of threads of a team on an execution space, and the capacity of its scratch.

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include <tessera/core/spaces.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/core/types.hpp>

namespace tessera::kernels {

/// Vector lanes per thread that fill a warp on a GPU; 1 on a host, where the compiler vectorizes a thread's loop.
template <ExecutionSpace Exec>
inline constexpr int warp_lanes = is_gpu<Exec> ? 32 : 1;

/// Returns the most threads that a team may have.
template <ExecutionSpace Exec>
[[nodiscard]] int most_team_threads(Exec const& exec, int lanes) {
  if constexpr (is_gpu<Exec>) {
    // With 512 lanes each lane has 128 registers, which is enough for every kernel here; with 1024 lanes it is not.
    return 512 / lanes;
  } else {
    // Kokkos' host teams have at most 64 threads, for any concurrency of the space.
    using Policy = Kokkos::TeamPolicy<Exec>;
    auto const nothing = [](typename Policy::member_type const&) {};
    return std::min(exec.concurrency(), Policy(exec, 1, 1).team_size_max(nothing, Kokkos::ParallelForTag()));
  }
}

/// Returns the number of threads per team: `requested`, if it is above 0; otherwise 256 lanes on a GPU, and one thread
/// on a host, where one core handles a whole tile and barriers would only add cost. Throws Skip if the space cannot
/// provide them.
///
/// \param requested threads per team (0: choose)
/// \param lanes vector lanes per thread
template <ExecutionSpace Exec>
[[nodiscard]] int team_size(Exec const& exec, std::int64_t requested, int lanes = 1) {
  int const most = most_team_threads(exec, lanes);
  if (requested > most) {
    throw Skip("a team of " + std::to_string(requested) + " threads (" + std::string(space_name<Exec>()) +
               " has at most " + std::to_string(most) + " here)");
  }
  if (requested > 0) return static_cast<int>(requested);
  return is_gpu<Exec> ? std::max(1, 256 / lanes) : 1;
}

/// Throws Skip if the user requests threads per team, but not the number for which tiles are cut.
inline void require_team_of_tile(std::int64_t requested, int threads, std::string const& tile = "a tile") {
  if (requested == 0 || requested == threads) return;
  throw Skip("a team of " + std::to_string(requested) + " threads (" + tile + " is cut for " + std::to_string(threads) +
             ")");
}

/// Launch bounds of a kernel whose teams may be as large as team_size allows. Without them, Kokkos' HIP back end tells
/// its compiler to expect 1024 lanes with 128 registers each; with 512 lanes, each has 256. CUDA's compiler has no such
/// limit.
template <ExecutionSpace Exec>
using AnyTeamBounds = std::conditional_t<is_hip<Exec>, Kokkos::LaunchBounds<512, 1>, Kokkos::LaunchBounds<>>;

/// Launch bounds of a kernel whose teams have `lanes` lanes, if a multiprocessor should have registers for `teams`
/// teams. HIP's compiler reads the second number as wavefronts per SIMD unit; a multiprocessor has four of these units.
template <ExecutionSpace Exec, int lanes, int teams>
using TeamBounds = Kokkos::LaunchBounds<lanes, (is_hip<Exec> ? std::max(1, lanes* teams / (4 * 64)) : teams)>;

/// Throws Skip if scratch level 0 of a team holds fewer than `bytes` bytes.
template <ExecutionSpace Exec>
void require_scratch(std::size_t bytes) {
  auto const most = static_cast<std::size_t>(Kokkos::TeamPolicy<Exec>(1, 1).scratch_size_max(0));
  if (bytes <= most) return;
  throw Skip("a team's scratch of " + std::to_string(bytes) + " bytes (there are " + std::to_string(most) + ")");
}

/// Returns the number of elements of a team's tile in scratch level 0: `requested`, if it is above 0; otherwise a power
/// of two that fits into 16 KiB, so that several teams share a multiprocessor. Throws Skip if the requested tile does
/// not fit.
///
/// \param requested elements of a tile (0: choose)
/// \param bytes_per_element scratch per element
/// \param fixed_bytes additional scratch
template <ExecutionSpace Exec>
[[nodiscard]] int scratch_tile(std::int64_t requested, std::size_t bytes_per_element, std::size_t fixed_bytes) {
  // Each scratch array is padded by at most 64 bytes, and there are only a few arrays.
  std::size_t const spare = fixed_bytes + 512;
  auto const most = static_cast<std::size_t>(Kokkos::TeamPolicy<Exec>(1, 1).scratch_size_max(0));
  require_scratch<Exec>(spare + bytes_per_element);
  if (requested > 0) {
    double const needed =
        static_cast<double>(requested) * static_cast<double>(bytes_per_element) + static_cast<double>(spare);
    if (needed > static_cast<double>(most)) {
      throw Skip("a tile of " + std::to_string(requested) + " elements (a team's scratch holds " +
                 std::to_string((most - spare) / bytes_per_element) + ")");
    }
    return static_cast<int>(requested);
  }
  std::size_t const budget = std::min<std::size_t>(most - spare, std::size_t{1} << 14);
  int tile = 1;
  while (static_cast<std::size_t>(2 * tile) * bytes_per_element <= budget) tile *= 2;
  return tile;
}

}  // namespace tessera::kernels
