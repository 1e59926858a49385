#pragma once
/// \file
/// Sums over blocks of points, each by one team, for variants on one rank and on several.

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "points.hpp"

#include <tessera/core/spaces.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>

namespace tessera::monte_carlo {

/// A replicate's points are cut into blocks of 2^14 consecutive points. Each thread of a team takes a run of its block
/// and sums it in a register; one atomic addition per team goes to memory. Sums are integers, so their order does not
/// matter.
template <ExecutionSpace Exec, class T>
class BlockSums {
  using Memory = typename Exec::memory_space;
  using Policy = Kokkos::TeamPolicy<Exec, kernels::AnyTeamBounds<Exec>>;

 public:
  static constexpr std::uint64_t block = std::uint64_t{1} << 14;

  BlockSums(Exec const& exec, Parameters const& parameters, std::string label)
      : parameters_(parameters),
        threads_(kernels::team_size(exec, parameters.team)),
        blocks_(tiles_of(points_of(0, parameters.count).size(), block)),
        label_(std::move(label)) {}

  /// The number of blocks of all replicates; some of them may be empty.
  [[nodiscard]] std::size_t count() const { return blocks_ * replicates; }

  /// Enqueues `sums` [32] = the sums over the blocks `begin` to `end` - 1.
  void operator()(Exec const& exec, Array<std::int64_t*, Memory> const& sums, std::size_t begin,
                  std::size_t end) const {
    Kokkos::deep_copy(exec, sums, std::int64_t{0});
    if (begin >= end) return;
    with_points<T>(parameters_,
                   [&](auto const& points, auto const& value) { launch(exec, points, value, sums, begin, end); });
  }

  // Separate and public: nvcc accepts no device lambda in a generic lambda or a private function.
  template <class Points, class Value>
  void launch(Exec const& exec, Points const& points, Value const& value, Array<std::int64_t*, Memory> const& sums,
              std::size_t begin, std::size_t end) const {
    std::size_t const blocks = blocks_;
    std::uint64_t const n = parameters_.count;
    Kokkos::parallel_for(
        label_, Policy(exec, league_of(end - begin), threads_),
        KOKKOS_LAMBDA(typename Policy::member_type const& team) {
          std::size_t const index = begin + static_cast<std::size_t>(team.league_rank());
          std::size_t const r = index / blocks;
          std::uint64_t const less = n / replicates;
          std::uint64_t const larger = n % replicates;  // replicates with one point more
          std::uint64_t const first = r * less + Kokkos::min<std::uint64_t>(r, larger);
          std::uint64_t const own = less + (r < larger ? 1 : 0);
          std::uint64_t const of_block = index % blocks * block;
          std::uint64_t const end_of_block = Kokkos::min(of_block + block, own);
          auto const threads = static_cast<std::uint64_t>(team.team_size());
          std::uint64_t const run = (block + threads - 1) / threads;
          std::int64_t sum = 0;
          Kokkos::parallel_reduce(
              Kokkos::TeamThreadRange(team, team.team_size()),
              [&](int t, std::int64_t& of_thread) {
                std::uint64_t const from = of_block + static_cast<std::uint64_t>(t) * run;
                std::uint64_t const to = Kokkos::min(from + run, end_of_block);
                points.for_each(r, first, from, to, [&](Point point) { of_thread += value(point); });
              },
              sum);
          Kokkos::single(Kokkos::PerTeam(team), [&] { Kokkos::atomic_add(&sums(r), sum); });
        });
  }

 private:
  Parameters parameters_;
  int threads_;
  std::size_t blocks_;  // of a replicate
  std::string label_;
};

}  // namespace tessera::monte_carlo
