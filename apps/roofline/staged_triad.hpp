#pragma once
/// \file
/// The kernel of triad_scratch and triad_wide_scratch: triad with b staged through the scratch of a team.

#include "problem.hpp"

#include <tessera/core/scratch.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/table/make_app.hpp>
#include <tessera/table/one_field.hpp>

namespace tessera::roofline {

/// A team works on the same tile for any `places`; 0 stages nothing.
template <ExecutionSpace Exec, class T>
struct StagedTriad {
  static constexpr std::size_t tile = 12288;  // as many floats as 48 KiB hold
  using Staged = ScratchView<T*, Exec>;
  ArrayOn<T const*, Exec> a, b;
  ArrayOn<T*, Exec> out;
  std::size_t places;
  measure::Triad<T> triad;

  template <class Team>
  KOKKOS_FUNCTION void operator()(Team const& team) const {
    Staged const staged(team.team_scratch(0), places);
    std::size_t const begin = team.league_rank() * tile;
    std::size_t const end = Kokkos::min(begin + tile, a.extent(0));
    std::size_t const step = places > 0 ? places : tile;
    for (std::size_t first = begin; first < end; first += step) {
      std::size_t const last = Kokkos::min(first + step, end) - 1;
      auto const batch = Kokkos::TeamThreadRange(team, first, last + 1);
      if (places > 0) {
        Kokkos::parallel_for(batch, [&](std::size_t i) { staged(i - first) = b(i); });
        team.team_barrier();
      }
      Kokkos::parallel_for(batch, [&](std::size_t k) {
        std::size_t const i = first + last - k;  // from the end: another thread has staged this element
        out(i) = triad(a(i), places > 0 ? staged(i - first) : b(i));
      });
      leave_scratch(team);
    }
  }
};

}  // namespace tessera::roofline
