// Prefix sums on the user's own Views: inclusive, exclusive, in place, by segments.

#include "program.hpp"

#include <array>
#include <cstdint>

#include <tessera/kernels/scan.hpp>
#include <tessera/kernels/two_level_scan.hpp>

using Exec = Kokkos::DefaultExecutionSpace;
using Values = Kokkos::View<std::int32_t*, Exec>;
using Sum = tessera::collective::Sum<std::int32_t>;
using Max = tessera::collective::Max<std::int32_t>;
using SumOfSegments = tessera::collective::SegmentedOperator<std::int32_t, Sum>;

// A simple user-defined scan of a tile by a team: the elements of one thread after another.
struct SerialTile : tessera::kernels::TileScanInScratch {
  [[nodiscard]] static std::array<int, 2> scratch(int tile, int) { return {tile, 0}; }
  [[nodiscard]] static double rounding_steps(int tile, int) { return tile; }
  template <class Member, class Tile, class Op>
  [[nodiscard]] KOKKOS_FUNCTION static tessera::kernels::ScannedTile<Tile> run(Member const& team, Tile const& tile,
                                                                               int n, Op const& op) {
    team.team_barrier();
    Kokkos::single(Kokkos::PerTeam(team), [&] {
      for (int i = 1; i < n; ++i) tile(i) = op(tile(i - 1), tile(i));
    });
    team.team_barrier();
    return {tile, true, op.identity()};
  }
};

void fill(Exec const& exec, Values const& in) {
  Kokkos::parallel_for(
      "fill", Kokkos::RangePolicy<Exec>(exec, 0, in.extent(0)),
      KOKKOS_LAMBDA(std::size_t i) { in(i) = static_cast<std::int32_t>(i % 101) - 50; });
}

// Returns 1 if an element differs from the serial scan of each segment.
template <class Op>
int check(char const* what, Values const& found, Op const& op, bool exclusive, std::size_t segment) {
  auto const on_host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), found);
  std::int32_t running = 0;
  for (std::size_t i = 0; i < found.extent(0); ++i) {
    if (i % segment == 0) running = op.identity();
    std::int32_t const before = running;
    running = op(running, static_cast<std::int32_t>(i % 101) - 50);
    if (differs(what, i, on_host(i), exclusive ? before : running) != 0) return 1;
  }
  return 0;
}

int check(Exec const& exec) {
  int wrong = 0;
  for (std::size_t n : {0, 1, 31, 4097, 1000003}) {
    Values const in("in", n);
    Values const out("out", n);
    std::size_t const whole = n + 1;
    fill(exec, in);
    tessera::kernels::inclusive_scan(exec, Kokkos::View<std::int32_t const*, Exec>(in), out);
    wrong += check("inclusive", out, Sum{}, false, whole);
    tessera::kernels::exclusive_scan(exec, in, out, Max{});
    wrong += check("exclusive max", out, Max{}, true, whole);
    tessera::kernels::inclusive_scan(exec, in, in);
    wrong += check("in place", in, Sum{}, false, whole);

    // Enqueued twice; the second call is in place.
    fill(exec, in);
    tessera::kernels::LookBackScan<Exec, std::int32_t> look_back(exec, n);
    look_back(exec, in, out);
    look_back(exec, in, in);
    exec.fence();
    wrong += check("look-back", out, Sum{}, false, whole);
    wrong += check("look-back in place", in, Sum{}, false, whole);
    fill(exec, in);
    tessera::kernels::LookBackScan<Exec, std::int32_t, SumOfSegments> segments(exec, n,
                                                                               {.exclusive = true, .segment = 100});
    segments(exec, in, out);
    exec.fence();
    wrong += check("segments", out, Sum{}, true, 100);
    tessera::kernels::ReduceThenScan<Exec, std::int32_t, SumOfSegments> chunks(exec, n, {.segment = 3000}, 100);
    chunks(exec, in, out);
    exec.fence();
    wrong += check("segments of chunks", out, Sum{}, false, 3000);

    // A user-defined scan of tiles so small that the totals need three levels.
    fill(exec, in);
    tessera::kernels::TwoLevelScan<Exec, std::int32_t, Sum, SerialTile> levels(exec, n, {}, 64);
    levels(exec, in, out);
    exec.fence();
    wrong += check("a tile of one's own", out, Sum{}, false, whole);
  }

  Kokkos::View<std::int32_t**, Kokkos::LayoutRight, Exec> const matrix("matrix", 4, 3);
  Values const four("four", 4);
  wrong += accepts("a strided column",
                   [&] { tessera::kernels::inclusive_scan(exec, Kokkos::subview(matrix, Kokkos::ALL, 1), four); });
  wrong += accepts("a short result", [&] { tessera::kernels::inclusive_scan(exec, four, Values("three", 3)); });
  return wrong;
}
