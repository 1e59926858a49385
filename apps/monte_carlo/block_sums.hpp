#pragma once
/// \file
/// Sums over blocks of points, each by one team, for variants on one rank and on several.

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "points.hpp"

#include <tessera/collective/divider.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>

namespace tessera::monte_carlo {

/// A replicate's points are cut into blocks of 2^14 to 2^16 consecutive points. Each thread of a team takes a run of
/// its block and sums it in a register; one atomic addition per team goes to memory. Sums are integers, so their order
/// does not matter. Large blocks spread the start and the end of a team, some hundred instructions per thread, over
/// more points. There are 2^14 blocks before they grow, so that several GPUs have enough.
template <ExecutionSpace Exec, class T>
class BlockSums {
  using Memory = typename Exec::memory_space;
  using Policy = Kokkos::TeamPolicy<Exec, kernels::AnyTeamBounds<Exec>>;

 public:
  [[nodiscard]] static std::uint64_t block_of(std::uint64_t count) {
    return std::clamp(std::bit_floor(count >> 14), std::uint64_t{1} << 14, std::uint64_t{1} << 16);
  }

  /// \param block points per block; 0: chosen by their number, for one rank
  BlockSums(Exec const& exec, Parameters const& parameters, std::string label, std::uint64_t block = 0)
      : parameters_(parameters),
        threads_(kernels::team_size(exec, parameters.team)),
        block_(block > 0 ? block : block_of(parameters.count)),
        blocks_(tiles_of(points_of(0, parameters.count).size(), block_)),
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
    std::uint64_t const block = block_;
    std::uint64_t const blocks = blocks_;
    collective::Divider const replicate_of(blocks);
    std::uint64_t const less = parameters_.count / replicates;
    std::uint64_t const larger = parameters_.count % replicates;  // replicates with one point more
    std::uint64_t const run = tiles_of(block, threads_);
    Kokkos::parallel_for(
        label_, Policy(exec, league_of(end - begin), threads_),
        KOKKOS_LAMBDA(typename Policy::member_type const& team) {
          std::uint64_t const index = begin + static_cast<std::size_t>(team.league_rank());
          std::uint64_t const r = replicate_of(index);
          std::uint64_t const first = r * less + Kokkos::min(r, larger);
          std::uint64_t const own = less + (r < larger ? 1 : 0);
          std::uint64_t const of_block = (index - r * blocks) * block;
          std::uint64_t const end_of_block = Kokkos::min(of_block + block, own);
          std::int64_t sum = 0;
          Kokkos::parallel_reduce(
              Kokkos::TeamThreadRange(team, team.team_size()),
              [&](int t, std::int64_t& of_thread) {
                std::uint64_t const from = of_block + static_cast<std::uint64_t>(t) * run;
                std::uint64_t const to = Kokkos::min(from + run, end_of_block);
                of_thread += sum_of_run(points, value, r, first, from, to);
              },
              sum);
          Kokkos::single(Kokkos::PerTeam(team), [&] { Kokkos::atomic_add(&sums(r), sum); });
        });
  }

 private:
  Parameters parameters_;
  int threads_;
  std::uint64_t block_;
  std::size_t blocks_;  // of a replicate
  std::string label_;
};

}  // namespace tessera::monte_carlo
