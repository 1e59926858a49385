#pragma once
/// \file
/// How many threads a team has on an execution space, and what fits into its scratch.

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <type_traits>

#include <tessera/core/spaces.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/core/types.hpp>

namespace tessera::kernels {

/// How many vector lanes of a thread fill a warp on a GPU. On a host 1, since the compiler vectorises a thread's loop.
template <ExecutionSpace Exec>
inline constexpr int warp_lanes = is_gpu<Exec> ? 32 : 1;

/// The most threads that a team may have.
template <ExecutionSpace Exec>
[[nodiscard]] int most_team_threads(Exec const& exec, int lanes) {
  if constexpr (is_gpu<Exec>) {
    // 512 lanes leave each of them 128 registers, which every kernel here can do with; 1024 do not.
    return 512 / lanes;
  } else {
    // Kokkos' host teams have at most 64 threads, however many the space has.
    using Policy = Kokkos::TeamPolicy<Exec>;
    auto const nothing = [](typename Policy::member_type const&) {};
    return std::min(exec.concurrency(), Policy(exec, 1, 1).team_size_max(nothing, Kokkos::ParallelForTag()));
  }
}

/// How many threads a team has: as many as the user asked for; else those of 256 lanes on a GPU, and one on a host,
/// where a core works through a whole tile and barriers would only cost. Throws Skip if the space cannot give so many.
///
/// \param requested threads a team (0: choose)
/// \param lanes vector lanes of each thread
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

/// Launch bounds of a kernel whose teams may be as large as team_size allows. Without them Kokkos' HIP back end tells
/// its compiler to expect 1024 lanes, each of which then has 128 registers; with 512 each has 256. CUDA's compiler
/// knows no such limit.
template <ExecutionSpace Exec>
using AnyTeamBounds = std::conditional_t<is_hip<Exec>, Kokkos::LaunchBounds<512, 1>, Kokkos::LaunchBounds<>>;

/// Launch bounds of a kernel whose teams have `lanes` lanes, where a multiprocessor is to have registers for `teams` of them.
/// HIP's compiler takes the second number for wavefronts of a SIMD unit, of which a multiprocessor has four.
template <ExecutionSpace Exec, int lanes, int teams>
using TeamBounds = Kokkos::LaunchBounds<lanes, (is_hip<Exec> ? std::max(1, lanes* teams / (4 * 64)) : teams)>;

/// Throws Skip if scratch level 0 of a team does not hold so many bytes.
template <ExecutionSpace Exec>
void require_scratch(std::size_t bytes) {
  auto const most = static_cast<std::size_t>(Kokkos::TeamPolicy<Exec>(1, 1).scratch_size_max(0));
  if (bytes <= most) return;
  throw Skip("a team's scratch of " + std::to_string(bytes) + " bytes (there are " + std::to_string(most) + ")");
}

/// How many elements a team's tile has in scratch level 0: as many as the user asked for; else as many as 16 KiB hold
/// (so that several teams share a multiprocessor), a power of two. Throws Skip if the user's tile does not fit.
///
/// \param requested elements of a tile (0: choose)
/// \param bytes_per_element scratch that the method needs for an element
/// \param fixed_bytes scratch that it needs besides
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
