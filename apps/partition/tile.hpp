#pragma once
/// \file
/// What the variants that work on tiles share: the register tile of a thread, the scratch of a team, and how a team
/// writes a tile whose elements its scratch holds in their new order.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "predicate.hpp"
#include "problem.hpp"

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/operators.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/collective/team/lane_scan.hpp>
#include <tessera/collective/thread/split_rows.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/kernels/team_shape.hpp>

namespace tessera::partition {

/// On a GPU eight rows of 16-byte packs, 128 bytes a lane in flight, and tiles of 32 KiB for teams of 256 lanes. On a
/// host eight rows of cache lines. `as_gpu` is there for tests, which run a GPU's choices on hosts.
template <ExecutionSpace Exec, class T, bool as_gpu = is_gpu<Exec>>
struct TileShape {
  using Lanes = lane::On<Exec, as_gpu ? 32 : lane::natural_width<Exec>>;
  static constexpr bool for_gpu = as_gpu;
  static constexpr int pack = (as_gpu ? 1 : 4) * collective::pack_width<T>;
  using Part = thread::SplitRows<Lanes, T, 8, pack>;
  static constexpr int vector_length = lane::vector_length<Exec>(Lanes::width);

  int threads;       // of a team
  int part;          // elements of a tile that are one thread's
  std::size_t tile;  // elements of a tile

  /// Throws Skip if the space has no such team, or too little scratch for it.
  TileShape(Exec const& exec, Partition::Parameters const& parameters)
      : threads(kernels::team_size(exec, parameters.team, vector_length)) {
    // What remains of a team's scratch beside some numbers a thread. A large team shares the tile of a usual one.
    int const there = Kokkos::TeamPolicy<Exec>(1, 1).scratch_size_max(0) - 2048 - 24 * threads;
    auto const elements = std::clamp(there, 0, 32 << 10) / static_cast<int>(sizeof(T));
    if (elements < threads) throw Skip("a team of " + std::to_string(threads) + " threads (its scratch is too small)");
    auto const most = static_cast<std::size_t>(std::min(threads * Part::size, elements));
    tile = parameters.tile == 0 ? most : std::min(static_cast<std::size_t>(parameters.tile), most);
    // A smaller tile than fits into registers leaves some of them empty; threads share it evenly.
    part = static_cast<int>((tile + threads - 1) / threads);
  }
};

/// A team's tile: in registers, and on its way through scratch into its new order.
template <class Shape, class T>
class Tile {
 public:
  using Lanes = typename Shape::Lanes;

  struct Counts {
    int lefts;   // in the tile
    int before;  // of them before this thread's part
  };

  /// Loads a tile of `count` elements and counts its left ones. Who calls: all lanes of the team. Scratch: `totals`, a
  /// number for each thread, which may be written again after the caller's next barrier. Barriers: one.
  template <class Member>
  [[nodiscard]] KOKKOS_FUNCTION Counts load(Member const& team, T const* tile, int part, int count,
                                            LessThanPivot<T> const& is_left, int* totals) {
    begin_ = Kokkos::min(static_cast<int>(team.team_rank()) * part, count);
    part_.load(Lanes{}, tile + begin_, Kokkos::min(part, count - begin_));
    int const lefts = part_.count(Lanes{}, is_left);
    auto const threads = team::scan_threads(team, Lanes{}, lefts, totals, collective::Sum<int>{});
    return {threads.total, threads.before};
  }

  /// Puts the left elements to exchange[0, lefts), and the right ones, if they are wanted, behind them. Who calls: all
  /// lanes. Barriers: none; other threads find the elements after the next one.
  template <bool with_rights>
  KOKKOS_FUNCTION void exchange(LessThanPivot<T> const& is_left, Counts const& counts, T* exchange) const {
    int const begin = begin_;
    int const before = counts.before;
    int const lefts = counts.lefts;
    part_.place(Lanes{}, is_left, [=](int i, int rank, int left, T const& value) {
      int const place = before + rank;
      // A host takes the right ones along: a store costs less than a branch.
      if constexpr (with_rights || !Shape::for_gpu) {
        exchange[thread::either(left, place, lefts + (begin + i) - place)] = value;
      } else {
        if (left != 0) exchange[place] = value;
      }
    });
  }

 private:
  typename Shape::Part part_;
  int begin_;  // of this thread's part
};

/// How far `to` is behind the last border of 128 bytes, in elements: for accesses of a warp to one line each.
template <bool as_gpu, class T>
[[nodiscard]] KOKKOS_FUNCTION int behind_line(T const* to) {
  return as_gpu ? static_cast<int>(reinterpret_cast<std::uintptr_t>(to) / sizeof(T) % (128 / sizeof(T))) : 0;
}

/// Elements of a lane that are on their way.
template <class T, int Count>
struct InFlight {
  T at[Count];
};

/// Copies `count` elements from a team's scratch to neighbouring places in memory; on a GPU several of a lane are under
/// way. Who calls: all lanes of the team. Barriers: none.
template <class Shape, class T, class Member>
KOKKOS_FUNCTION void store_run(Member const& team, T const* from, int count, T* to) {
  if constexpr (Shape::for_gpu) {
    constexpr int in_flight = 8;
    using Block = InFlight<T, in_flight>;
    typename Shape::Lanes const lanes;
    int const stride = Shape::Lanes::width * team.team_size();
    for (int begin = -behind_line<true>(to); begin < count; begin += in_flight * stride) {
      int const first = begin + Shape::Lanes::width * team.team_rank();
      auto block = lanes.template fill<Block>({});
      lanes.each(
          [&](int lane, Block& own) {
            for (int k = 0; k < in_flight; ++k) {
              int const i = first + k * stride + lane;
              if (i >= 0 && i < count) own.at[k] = from[i];
            }
          },
          block);
      lanes.each(
          [&](int lane, Block const& own) {
            for (int k = 0; k < in_flight; ++k) {
              int const i = first + k * stride + lane;
              if (i >= 0 && i < count) to[i] = own.at[k];
            }
          },
          block);
    }
  } else {
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, count), [&](int i) { to[i] = from[i]; });
  }
}

}  // namespace tessera::partition
