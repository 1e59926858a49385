#pragma once
/// \file
/// What the variants share: the result as pointers, set to zero by a launch of its own, and the shares of teams that
/// count in 32 bits before they add to it.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "problem.hpp"

#include <tessera/kernels/chunks.hpp>
#include <tessera/kernels/team_shape.hpp>

namespace tessera::histogram {

/// counts and outside as one array of bins + 1: `outside` follows the last bin, as Bins says it.
struct Result {
  std::int64_t* counts;
  std::int64_t* outside;
  std::int32_t bins;

  [[nodiscard]] KOKKOS_FUNCTION std::int64_t& operator[](std::int32_t bin) const {
    return bin < bins ? counts[bin] : *outside;
  }
  [[nodiscard]] KOKKOS_FUNCTION std::int32_t size() const { return bins + 1; }

  /// Adds what `of(bin)` says for each bin and for outside. Who calls: all threads and lanes of a team; no barriers.
  template <class Member, class Of>
  KOKKOS_FUNCTION void add(Member const& team, Of const& of) const {
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, size()), [&](std::int32_t bin) {
      std::uint32_t const more = of(bin);
      if (more != 0) Kokkos::atomic_add(&(*this)[bin], static_cast<std::int64_t>(more));
    });
  }
};

template <class T, class Memory>
[[nodiscard]] Result result_of(Histogram::Output<T, Memory> const& output) {
  return {.counts = output.counts.data(),
          .outside = output.outside.data(),
          .bins = static_cast<std::int32_t>(output.counts.extent(0))};
}

struct SetToZero {
  Result result;

  KOKKOS_FUNCTION void operator()(std::int32_t bin) const { result[bin] = 0; }
};

/// Enqueues zeros for every bin and outside.
template <ExecutionSpace Exec>
void set_to_zero(std::string const& label, Exec const& exec, Result const& result) {
  Kokkos::parallel_for(label, Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int32_t>>(exec, 0, result.size()),
                       SetToZero{result});
}

/// The teams' shares: the user's `tile`, or enough to fill the machine, but none so small that adding its counts to the
/// result costs more than counting. A share is about 2^30 elements at most: its 32-bit counts cannot overflow.
///
/// \param part elements that a team takes at a time; \param lanes of a team
template <ExecutionSpace Exec>
[[nodiscard]] kernels::Chunks shares(Exec const& exec, std::size_t n, Histogram::Parameters const& parameters,
                                     std::size_t part, int lanes) {
  if (parameters.tile > 0) {
    auto const tile = static_cast<std::size_t>(parameters.tile);
    return {.n = n, .size = tile, .count = league_of(std::max<std::size_t>(1, tiles_of(n, tile)))};
  }
  // On a GPU more teams than chunks usually are: scratch lets few of them run at once, and the last ones to start are
  // waited for.
  std::size_t const fill = kernels::teams_that_fill(exec, lanes) * (is_gpu<Exec> ? 2 : 1);
  std::size_t const worthwhile = std::max<std::size_t>(1, n / (4 * static_cast<std::size_t>(parameters.bins)));
  std::size_t const necessary = tiles_of(n, std::size_t{1} << 30);
  return kernels::split(n, part, std::max(std::min(fill, worthwhile), necessary));
}

}  // namespace tessera::histogram
