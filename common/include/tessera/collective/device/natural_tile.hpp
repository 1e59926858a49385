#pragma once
/// \file
/// The register tile that suits an execution space.

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/collective/team/register_tile.hpp>
#include <tessera/core/spaces.hpp>

namespace tessera::device {

/// On a GPU a warp's rows of 16-byte packs: 16 bytes a lane and row, 64 bytes a lane in all, which keeps registers free
/// for several teams a multiprocessor. On a host eight runs of a cache line each, so that eight chains of additions
/// overlap.
template <ExecutionSpace Exec, class Elements>
struct NaturalTile {
  using Scalar = typename Elements::Scalar;
  using Lanes = lane::On<Exec, lane::natural_width<Exec>>;
  static constexpr int rows = is_gpu<Exec> ? 4 : 8;
  static constexpr int pack = is_gpu<Exec> ? collective::pack_width<Scalar> : 4 * collective::pack_width<Scalar>;
  using type = team::RegisterTile<Lanes, Elements, rows, pack>;
};

}  // namespace tessera::device
