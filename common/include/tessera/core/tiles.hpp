#pragma once
/// \file
/// The numbers of tiles and teams.

#include <cstddef>
#include <limits>
#include <string>

#include <tessera/core/types.hpp>

namespace tessera {

/// Returns the number of tiles of n elements.
[[nodiscard]] constexpr std::size_t tiles_of(std::size_t n, std::size_t tile) { return (n + tile - 1) / tile; }

/// Returns a number of teams as the int that a launch takes. Throws Skip if it exceeds the largest league.
[[nodiscard]] inline int league_of(std::size_t teams) {
  if (teams > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    throw Skip("a league of " + std::to_string(teams) + " teams (it has at most 2^31 - 1)");
  }
  return static_cast<int>(teams);
}

}  // namespace tessera
