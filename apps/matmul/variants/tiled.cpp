/// \file
/// A team makes one square tile of c: tiles of a and b pass through its scratch, slice by slice along k, and every
/// element there is used `tile` times. The sums stay in registers: lane x of thread y has the columns x, x + lanes, ...
/// of the rows y, y + threads, ... A lane reads an element of b from scratch once and uses it for all rows of its
/// thread.

#include "../square_tiles.hpp"
#include "../tile_sums.hpp"

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/table/shared_plan.hpp>

namespace tessera::matmul {

template <class Exec, class T>
struct TiledProduct {
  using Member = typename Kokkos::TeamPolicy<Exec>::member_type;
  using Tiles = ScratchTiles<T***, Exec>;
  using Lanes = lane::On<Exec, tile_lanes<Exec>>;
  static constexpr int pairs = 1;

  Array<T const**, typename Exec::memory_space> a;
  Array<T const**, typename Exec::memory_space> b;
  Array<T**, typename Exec::memory_space> c;
  collective::MatrixTiles tiles;
  int edge;

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Tiles const tile_a(team.team_scratch(0), pairs, edge, edge);
    Tiles const tile_b(team.team_scratch(0), pairs, edge, most_edge);
    auto const place = tiles.place(team.league_rank());
    std::size_t const inner = a.extent(1);
    TileSums<T, Lanes, rows_of_thread<Exec>> sums(Lanes{});
    for (std::size_t k = 0; k < inner; k += edge) {
      Kokkos::parallel_for(Kokkos::TeamThreadRange(team, edge), [&](int row) {
        Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, most_edge), [&](int col) {
          bool const in_a = row < place.row_count && k + col < inner;
          bool const in_b = k + row < inner && col < place.col_count;
          if (col < edge) tile_a(0, row, col) = in_a ? a(place.row + row, k + col) : T(0);
          tile_b(0, row, col) = in_b ? b(k + row, place.col + col) : T(0);
        });
      });
      team.team_barrier();
      sums.add(team, tile_a, tile_b, 0);
      leave_scratch(team);  // the tiles are loaded again, with the next slice or, on hosts, by the next team
    }
    sums.store(team, place, c);
  }
};

struct Tiled {
  static constexpr VariantInfo info{
      .name = "tiled", .level = Level::team, .summary = "square tiles of a and b in scratch, sums in registers"};

  template <ExecutionSpace Exec, class T>
  using Plan = SharedPlan<Matmul, Tiled, SquareTilesPlan<Exec, T, TiledProduct<Exec, T>>>;
};

VariantRows tiled() { return rows<Matmul, Tiled>(); }

}  // namespace tessera::matmul
