#pragma once
/// \file
/// The tiles that the variants choose if `--tile` is not given.

#include <tessera/collective/pack.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>

namespace tessera::zip {

/// On a GPU tiles are small, so that neighbouring threads stay near each other in memory; on a host they are large, so
/// that an index has enough work.
template <ExecutionSpace Exec, class T>
struct Tuning {
  static constexpr int width = collective::pack_width<T>;                      ///< elements per 16-byte pack
  static constexpr int tiled = is_gpu<Exec> ? 4 : 4096;                        ///< elements per tile
  static constexpr int vectorize = is_gpu<Exec> ? 2 * width : 4096;            ///< elements per tile; GPU: two packs
  static constexpr int manual_vector = is_gpu<Exec> ? 2 : 4096 / width;        ///< packs per chunk
  static constexpr int lanes = kernels::warp_lanes<Exec>;                      ///< lanes per thread of team_vector
  static constexpr int team_vector = is_gpu<Exec> ? 2 * width * lanes : 8192;  ///< elements; GPU: 2 packs per lane
};

}  // namespace tessera::zip
