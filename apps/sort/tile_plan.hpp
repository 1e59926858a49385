#pragma once
/// \file
/// What the plans of team_bitonic and team_merge share: teams that sort a tile in scratch.

#include "problem.hpp"

#include <tessera/core/scratch.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::sort {

/// Plans without values. \tparam arrays number of arrays that keys move between, in scratch and in memory
template <ExecutionSpace Exec, class T, int arrays>
struct TilePlan {
  using Policy = Kokkos::TeamPolicy<Exec>;
  using Tile = ScratchView<T*, Exec>;

  /// Throws Skip for values, and if the space cannot provide the team or the scratch that the parameters request.
  TilePlan(Exec const& exec, InputOn<Sort, Exec, T> const& input)
      : threads(kernels::team_size(exec, input.parameters.team)),
        tile(kernels::scratch_tile<Exec>(input.parameters.tile, arrays * sizeof(T), 0)),
        spare(unset("tessera::sort::spare"), arrays == 1 ? 0 : input.keys.extent(0)) {
    if (input.has_values()) throw Skip("keys with values (it moves only keys)");
  }

  /// Returns the policy of one team per tile of n keys.
  [[nodiscard]] Policy policy(Exec const& exec, std::size_t n) const {
    return with_scratch(Policy(exec, league_of(tiles_of(n, tile)), threads), arrays * Tile::shmem_size(tile));
  }

  int threads;
  std::size_t tile;
  ArrayOn<T*, Exec> spare;
};

}  // namespace tessera::sort
