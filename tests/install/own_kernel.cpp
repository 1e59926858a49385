// Collectives outside of mini-apps: a sum with team::tree_reduce, a prefix sum with decoupled look-back, and values of
// neighbours behind a split barrier, in the user's own kernels and Views.

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <cstdio>

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/operators.hpp>
#include <tessera/collective/team/lane_scan.hpp>
#include <tessera/collective/team/split_barrier.hpp>
#include <tessera/collective/team/tree_reduce.hpp>
#include <tessera/collective/thread/scan.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/look_back_workspace.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>

namespace {

namespace collective = tessera::collective;
namespace kernels = tessera::kernels;
namespace lane = tessera::lane;
namespace team = tessera::team;
namespace thread = tessera::thread;

using Exec = Kokkos::DefaultExecutionSpace;
using Policy = Kokkos::TeamPolicy<Exec>;
using Member = Policy::member_type;
using Values = Kokkos::View<std::int32_t*, Exec>;
using Scratch = Kokkos::View<std::int32_t*, Exec::scratch_memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

// The sum of all values by one team: first each thread's share, then the tree.
void sum(Exec const& exec, Values const& values, Kokkos::View<std::int32_t, Exec> const& result) {
  int const threads = kernels::team_size(exec, 0);
  int const n = static_cast<int>(values.extent(0));
  Kokkos::parallel_for(
      "consumer::sum", Policy(exec, 1, threads).set_scratch_size(0, Kokkos::PerTeam(Scratch::shmem_size(threads))),
      KOKKOS_LAMBDA(Member const& member) {
        Scratch const sums(member.team_scratch(0), member.team_size());
        std::int32_t own = 0;
        for (int i = member.team_rank(); i < n; i += member.team_size()) own += values(i);
        sums(member.team_rank()) = own;
        team::tree_reduce(member, sums.data(), member.team_size(), collective::Sum<std::int32_t>{});
        if (member.team_rank() == 0) result() = sums(0);
      });
}

// Shared by a team besides its threads' totals: the number of its tile, and the sum of all previous tiles.
struct Shared {
  std::uint32_t tile;
  std::int32_t before;
};
using SharedView = Kokkos::View<Shared, Exec::scratch_memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

// Replaces the values by their inclusive prefix sum in a single pass, with one value per lane.
void prefix_sum(Exec const& exec, Values const& values) {
  using Lanes = lane::On<Exec, lane::natural_width<Exec>>;
  using Op = collective::Sum<std::int32_t>;

  constexpr int vector_length = lane::vector_length<Exec>(Lanes::width);
  int const threads = kernels::team_size(exec, 0, vector_length);
  auto const n = values.extent(0);
  auto const tiles = tessera::tiles_of(n, static_cast<std::size_t>(threads) * Lanes::width);
  kernels::LookBackWorkspace<Exec, std::int32_t> look_back("consumer::look_back", tiles);
  auto const handle = look_back.next_launch(exec);
  auto const scratch = SharedView::shmem_size() + Scratch::shmem_size(threads);
  Kokkos::parallel_for(
      "consumer::prefix_sum",
      Policy(exec, static_cast<int>(tiles), threads, vector_length).set_scratch_size(0, Kokkos::PerTeam(scratch)),
      KOKKOS_LAMBDA(Member const& member) {
        Lanes const lanes;
        SharedView const shared(member.team_scratch(0));
        Scratch const totals(member.team_scratch(0), member.team_size());
        Kokkos::single(Kokkos::PerTeam(member), [&] { shared().tile = handle.next_tile(); });
        member.team_barrier();
        std::size_t const tile = shared().tile;
        std::size_t const first = (tile * member.team_size() + member.team_rank()) * Lanes::width;

        auto own = lanes.fill(std::int32_t{0});
        lanes.each([&](int i, std::int32_t& value) { value = first + i < n ? values(first + i) : 0; }, own);
        thread::inclusive_scan(lanes, own, Op{});
        auto const total = lanes.read<std::int32_t>(own, Lanes::width - 1);
        auto const in_team = team::scan_threads(member, lanes, total, totals.data(), Op{});
        if (member.team_rank() == 0) {
          auto const publish = [&](collective::TileState state, std::int32_t value) {
            Kokkos::single(Kokkos::PerThread(member), [&] { handle.publish(tile, state, value); });
          };
          std::int32_t before = 0;
          if (tile > 0) {
            publish(collective::TileState::partial, in_team.total);
            before = handle.before(lanes, tile, Op{});
          }
          publish(collective::TileState::inclusive, before + in_team.total);
          Kokkos::single(Kokkos::PerThread(member), [&] { shared().before = before; });
        }
        member.team_barrier();
        std::int32_t const before = shared().before + in_team.before;
        lanes.each(
            [&](int i, std::int32_t& value) {
              if (first + i < n) values(first + i) = before + value;
            },
            own);
      });
  exec.fence("consumer: look-back's memory is in use until here");
}

using BarrierState =
    Kokkos::View<team::SplitBarrierState*, Exec::scratch_memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

// result[i] = values[i]^2 + values[next], next being i's right neighbour in its tile of one element per thread, around
// the tile's end. A thread squares its own value while the others arrive.
void neighbours(Exec const& exec, Values const& values, Values const& result, int threads) {
  int const n = static_cast<int>(values.extent(0));
  int const tiles = static_cast<int>(tessera::tiles_of(values.extent(0), static_cast<std::size_t>(threads)));
  auto const scratch = BarrierState::shmem_size(1) + Scratch::shmem_size(threads);
  Kokkos::parallel_for(
      "consumer::neighbours", Policy(exec, tiles, threads).set_scratch_size(0, Kokkos::PerTeam(scratch)),
      KOKKOS_LAMBDA(Member const& member) {
        BarrierState const state(member.team_scratch(0), 1);
        Scratch const tile(member.team_scratch(0), member.team_size());
        team::SplitBarrier const barrier(member, state.data());
        int const first = member.league_rank() * member.team_size();
        int const rank = member.team_rank();
        int const count = n - first < member.team_size() ? n - first : member.team_size();
        if (rank < count) tile(rank) = values(first + rank);
        auto const token = barrier.arrive();
        std::int32_t const square = rank < count ? values(first + rank) * values(first + rank) : 0;
        barrier.wait(token);
        if (rank < count) result(first + rank) = square + tile((rank + 1) % count);
        barrier.invalidate(member);
      });
}

KOKKOS_INLINE_FUNCTION std::int32_t element(int i) { return (i % 101) * 37 % 101 - 50; }

int check(int n) {
  Exec const exec;
  Values const values("values", n);
  Kokkos::View<std::int32_t, Exec> const total("total");
  Kokkos::parallel_for(
      "consumer::fill", Kokkos::RangePolicy<Exec>(exec, 0, n), KOKKOS_LAMBDA(int i) { values(i) = element(i); });
  sum(exec, values, total);
  Values const result("result", n);
  int const most = kernels::most_team_threads(exec, 1);
  int const threads = most < 64 ? most : 64;
  neighbours(exec, values, result, threads);
  auto const beside = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), result);
  prefix_sum(exec, values);
  auto const scanned = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), values);
  std::int32_t found = 0;
  Kokkos::deep_copy(found, total);

  std::int32_t running = 0;
  for (int i = 0; i < n; ++i) {
    running += element(i);
    if (scanned(i) != running) {
      std::fprintf(stderr, "n = %d: prefix sum at %d is %d, not %d\n", n, i, scanned(i), running);
      return 1;
    }
  }
  for (int i = 0; i < n; ++i) {
    int const first = i / threads * threads;
    int const count = n - first < threads ? n - first : threads;
    std::int32_t const expected = element(i) * element(i) + element(first + (i - first + 1) % count);
    if (beside(i) != expected) {
      std::fprintf(stderr, "n = %d: %d beside a neighbour, not %d, at %d\n", n, beside(i), expected, i);
      return 1;
    }
  }
  if (found != running) {
    std::fprintf(stderr, "n = %d: the sum is %d, not %d\n", n, found, running);
    return 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  int wrong = 0;
  for (int n : {1, 31, 257, 4096, 100003}) wrong += check(n);
  if (wrong == 0) std::puts("own_kernel: ok");
  return wrong == 0 ? 0 : 1;
}
