#pragma once
/// \file
/// Splits an array into few chunks instead of many tiles: one contiguous chunk per team, and as many teams as fill the
/// machine.

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>

#include <tessera/core/spaces.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>

namespace tessera::kernels {

/// n elements in `count` chunks of `size`, a whole number of tiles. The last chunk may be shorter.
struct Chunks {
  std::size_t n = 0;
  std::size_t size = 1;
  int count = 1;

  [[nodiscard]] KOKKOS_FUNCTION std::size_t begin(int chunk) const { return chunk * size; }
  [[nodiscard]] KOKKOS_FUNCTION std::size_t end(int chunk) const {
    std::size_t const whole = begin(chunk) + size;
    return whole < n ? whole : n;
  }
};

/// Splits n elements, in whole tiles, among at most `teams` teams. Returns at least one chunk, even if n is 0.
///
/// Example: 100 elements, tiles of 8, 4 teams -> 4 chunks of 32 elements, the last of 4.
[[nodiscard]] inline Chunks split(std::size_t n, std::size_t tile, std::size_t teams) {
  std::size_t const tiles = std::max<std::size_t>(1, tiles_of(n, tile));
  std::size_t const size = tile * tiles_of(tiles, std::clamp<std::size_t>(teams, 1, tiles));
  return {.n = n, .size = size, .count = static_cast<int>(std::max<std::size_t>(1, tiles_of(n, size)))};
}

/// Returns the number of teams with `lanes` lanes that are resident if only lanes limit occupancy; at least one. On
/// hosts one per thread, which suits caches and memory controller best.
template <ExecutionSpace Exec>
[[nodiscard]] std::size_t teams_at_once(Exec const& exec, int lanes) {
  return std::max<std::size_t>(1, static_cast<std::size_t>(exec.concurrency()) / static_cast<std::size_t>(lanes));
}

/// Returns the number of teams that fill the machine: on a GPU twice the resident teams, so that a slow team delays the
/// end less.
template <ExecutionSpace Exec>
[[nodiscard]] std::size_t teams_that_fill(Exec const& exec, int lanes) {
  return is_gpu<Exec> ? 2 * teams_at_once(exec, lanes) : teams_at_once(exec, lanes);
}

/// Returns as many chunks as fill the machine.
///
/// \param tile elements that a team handles at a time
/// \param lanes lanes per team
template <ExecutionSpace Exec>
[[nodiscard]] Chunks chunks_of(Exec const& exec, std::size_t n, std::size_t tile, int lanes) {
  return split(n, tile, teams_that_fill(exec, lanes));
}

}  // namespace tessera::kernels
