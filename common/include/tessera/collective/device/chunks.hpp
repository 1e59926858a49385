#pragma once
/// \file
/// Few large pieces instead of many small ones: one contiguous chunk a team, as many teams as fill the machine.

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>

#include <tessera/collective/device/team_shape.hpp>
#include <tessera/core/spaces.hpp>

namespace tessera::device {

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

/// At least one chunk, also of nothing. \param tile elements that a team takes at a time; \param lanes of a team
template <ExecutionSpace Exec>
[[nodiscard]] Chunks chunks_of(Exec const& exec, std::size_t n, std::size_t tile, int lanes) {
  std::size_t const tiles = std::max<std::size_t>(1, tiles_of(n, tile));
  // On a GPU twice what runs at once, so that none waits for a straggler for long; on hosts one a thread, as its caches
  // and memory controller like it best.
  std::size_t const at_once = std::max<std::size_t>(1, static_cast<std::size_t>(exec.concurrency()) / lanes);
  std::size_t const teams = std::min(tiles, is_gpu<Exec> ? 2 * at_once : at_once);
  std::size_t const size = tile * tiles_of(tiles, teams);
  return {.n = n, .size = size, .count = static_cast<int>(std::max<std::size_t>(1, tiles_of(n, size)))};
}

}  // namespace tessera::device
