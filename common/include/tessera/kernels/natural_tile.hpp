#pragma once
/// \file
/// The register tile that suits an execution space.

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/collective/team/register_tile.hpp>
#include <tessera/core/spaces.hpp>

namespace tessera::kernels {

/// On a GPU eight rows of 16-byte packs, 128 bytes a lane in flight: tiles so large that asking the predecessors is
/// rare, in 64 registers. On a host eight rows of a cache line, so that several chains of additions overlap.
template <ExecutionSpace Exec, class Elements>
struct NaturalTile {
  using Scalar = typename Elements::Scalar;
  using Lanes = lane::On<Exec, lane::natural_width<Exec>>;
  static constexpr int rows = 8;
  static constexpr int pack = is_gpu<Exec> ? collective::pack_width<Scalar> : 4 * collective::pack_width<Scalar>;
  using type = team::RegisterTile<Lanes, Elements, rows, pack>;
};

}  // namespace tessera::kernels
