#pragma once
/// \file
/// The tiles that the variants choose if `--tile` is not given.

#include <tessera/collective/pack.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/kernels/team_shape.hpp>

namespace tessera::zip {

/// On a GPU tiles are small, so that neighbouring threads stay near each other in memory; on a host they are large, so
/// that an index has enough work.
template <ExecutionSpace Exec, class T>
struct Tuning {
  static constexpr int width = collective::pack_width<T>;                      ///< elements of a 16-byte pack
  static constexpr int tiled = is_gpu<Exec> ? 4 : 4096;                        ///< elements of a tile
  static constexpr int vectorize = is_gpu<Exec> ? 2 * width : 4096;            ///< elements of a tile: two packs
  static constexpr int manual_vector = is_gpu<Exec> ? 2 : 4096 / width;        ///< packs of a chunk
  static constexpr int lanes = kernels::warp_lanes<Exec>;                      ///< of a thread of team_vector
  static constexpr int team_vector = is_gpu<Exec> ? 2 * width * lanes : 8192;  ///< elements of a tile: two packs a lane
};

}  // namespace tessera::zip
