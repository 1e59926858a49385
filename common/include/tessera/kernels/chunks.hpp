#pragma once
/// \file
/// Few large pieces instead of many small ones: one contiguous chunk a team, as many teams as fill the machine.

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>

#include <tessera/core/spaces.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/team_shape.hpp>

namespace tessera::kernels {

/// `count` chunks of `size` elements of n, the last of which may be short; every chunk but perhaps the last is whole
/// tiles.
struct Chunks {
  std::size_t n = 0;
  std::size_t size = 1;
  int count = 1;

  [[nodiscard]] KOKKOS_FUNCTION std::size_t begin(int chunk) const { return static_cast<std::size_t>(chunk) * size; }
  [[nodiscard]] KOKKOS_FUNCTION std::size_t end(int chunk) const {
    std::size_t const whole = begin(chunk) + size;
    return whole < n ? whole : n;
  }
};

/// n elements in whole tiles over at most `teams` teams; at least one chunk, also of nothing.
///
/// Example: 100 elements, tiles of 8, 4 teams -> 4 chunks of 32 elements, the last of 4.
[[nodiscard]] inline Chunks split(std::size_t n, std::size_t tile, std::size_t teams) {
  std::size_t const tiles = std::max<std::size_t>(1, tiles_of(n, tile));
  std::size_t const size = tile * tiles_of(tiles, std::clamp<std::size_t>(teams, 1, tiles));
  return {.n = n, .size = size, .count = static_cast<int>(std::max<std::size_t>(1, tiles_of(n, size)))};
}

/// Teams of so many lanes that run at once where nothing but lanes limits them; at least one. On hosts one a thread, as its caches
/// and memory controller like it best.
template <ExecutionSpace Exec>
[[nodiscard]] std::size_t teams_at_once(Exec const& exec, int lanes) {
  return std::max<std::size_t>(1, static_cast<std::size_t>(exec.concurrency()) / static_cast<std::size_t>(lanes));
}

/// Teams that fill the machine: on a GPU twice what runs at once, so that none waits for a straggler for long.
template <ExecutionSpace Exec>
[[nodiscard]] std::size_t teams_that_fill(Exec const& exec, int lanes) {
  return is_gpu<Exec> ? 2 * teams_at_once(exec, lanes) : teams_at_once(exec, lanes);
}

/// As many chunks as fill the machine. \param tile elements that a team takes at a time; \param lanes of a team
template <ExecutionSpace Exec>
[[nodiscard]] Chunks chunks_of(Exec const& exec, std::size_t n, std::size_t tile, int lanes) {
  return split(n, tile, teams_that_fill(exec, lanes));
}

}  // namespace tessera::kernels
