/// \file
/// Merge sort, one thread per key. Pairs of sorted runs are merged: each key finds by binary search how many keys of
/// the other run come before it, and so its place. A team sorts a tile in scratch in this way; after that each launch
/// merges runs in memory. If keys are equal, the key of the first run comes first: it is stable.

#include "../tile_plan.hpp"

namespace tessera::sort {

template <class T>
struct MoveInMerge {
  collective::KeyOrder<T> order;

  // Moves key i to its place in the merge of its run of `run` keys with the neighbouring run.
  template <class From, class To>
  KOKKOS_FUNCTION void operator()(From const& from, To const& to, std::size_t n, std::size_t run, std::size_t i) const {
    std::size_t const begin = i / (2 * run) * (2 * run);
    std::size_t const middle = Kokkos::min(begin + run, n);
    bool const in_first = i < middle;
    std::size_t least = in_first ? middle : begin;
    for (std::size_t most = in_first ? Kokkos::min(middle + run, n) : middle; least < most;) {
      std::size_t const half = (least + most) / 2;
      bool const before = in_first ? order.before(from(half), from(i)) : !order.before(from(i), from(half));
      (before ? least : most) = before ? half + 1 : half;
    }
    to(least + i - middle) = from(i);
  }
};

struct TeamMerge {
  static constexpr VariantInfo info{.name = "team_merge",
                                    .level = Level::team,
                                    .summary = "merge sort: each key searches its place, in scratch, then in memory",
                                    .lesson = true};
  template <ExecutionSpace Exec, class T>
  struct Plan : TilePlan<Exec, T, 2> {
    using Plan::TilePlan::TilePlan;

    void operator()(Exec const& exec, InputOn<Sort, Exec, T> const& in, OutputOn<Sort, Exec, T> const& out) const {
      MoveInMerge<T> const move{in.parameters.template order<T>()};
      std::size_t const n = in.keys.extent(0);
      std::size_t const size = this->tile;
      auto to = out.keys, other = this->spare;
      for (std::size_t run = size; run < n; run *= 2) Kokkos::kokkos_swap(to, other);  // the last pass writes out.keys
      Kokkos::parallel_for(
          "tessera::sort::team_merge::tiles", this->policy(exec, n),
          KOKKOS_LAMBDA(typename Plan::Policy::member_type const& team) {
            typename Plan::Tile a(team.team_scratch(0), size), b(team.team_scratch(0), size);
            std::size_t const begin = team.league_rank() * size;
            auto const each = Kokkos::TeamThreadRange(team, Kokkos::min(size, n - begin));
            Kokkos::parallel_for(each, [&](std::size_t i) { a(i) = in.keys(begin + i); });
            for (std::size_t run = 1; run < size; run *= 2) {
              team.team_barrier();
              Kokkos::parallel_for(each, [&](std::size_t i) { move(a, b, Kokkos::min(size, n - begin), run, i); });
              Kokkos::kokkos_swap(a, b);
            }
            team.team_barrier();
            Kokkos::parallel_for(each, [&](std::size_t i) { to(begin + i) = a(i); });
            leave_scratch(team);
          });
      for (std::size_t run = size; run < n; run *= 2) {
        Kokkos::parallel_for(
            "tessera::sort::team_merge::runs", over(exec, n),
            KOKKOS_LAMBDA(std::size_t i) { move(to, other, n, run, i); });
        Kokkos::kokkos_swap(to, other);
      }
    }
  };
};

VariantRows team_merge() { return rows<Sort, TeamMerge>(); }

}  // namespace tessera::sort
