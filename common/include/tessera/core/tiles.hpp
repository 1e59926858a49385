#pragma once
/// \file
/// How many tiles and teams there are.

#include <cstddef>
#include <limits>
#include <string>

#include <tessera/core/types.hpp>

namespace tessera {

/// How many tiles n elements have.
[[nodiscard]] constexpr std::size_t tiles_of(std::size_t n, std::size_t tile) { return (n + tile - 1) / tile; }

/// A number of teams, as the int that a launch takes. Throws Skip if a league cannot have so many.
[[nodiscard]] inline int league_of(std::size_t teams) {
  if (teams > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    throw Skip("a league of " + std::to_string(teams) + " teams (it has at most 2^31 - 1)");
  }
  return static_cast<int>(teams);
}

}  // namespace tessera
