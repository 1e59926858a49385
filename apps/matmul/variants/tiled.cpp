/// \file
/// A team makes one square tile of c: tiles of a and b pass through its scratch, slice by slice along k, and every
/// element there is used `tile` times. The sums stay in registers: lane x of thread y has the columns x, x + lanes, ...
/// of the rows y, y + threads, ... A lane reads an element of b from scratch once and uses it for all rows of its
/// thread.

#include "../problem.hpp"
#include "../square_tiles.hpp"

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::matmul {

struct Tiled {
  static constexpr VariantInfo info{
      .name = "tiled", .level = Level::team, .summary = "square tiles of a and b in scratch, sums in registers"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<Matmul, Exec, T> const& input) : shape_(square_tiles<Exec, T>(exec, input, 1)) {}

    void operator()(Exec const& exec, InputOn<Matmul, Exec, T> const& input,
                    OutputOn<Matmul, Exec, T> const& output) const {
      using Policy = Kokkos::TeamPolicy<Exec>;
      using Member = typename Policy::member_type;
      using Lanes = lane::On<Exec, tile_lanes<Exec>>;
      using Sum = Accumulator<T>;
      constexpr int rows = rows_of_thread<Exec>;
      constexpr int columns = most_edge / Lanes::width;
      auto const a = input.a;
      auto const b = input.b;
      auto const c = output.c;
      auto const tiles = shape_.tiles;
      int const edge = shape_.edge;
      if (shape_.league == 0) return;
      Kokkos::parallel_for(
          "tessera::matmul::tiled::product",
          with_scratch(Policy(exec, shape_.league, shape_.threads, shape_.lanes), shape_.bytes),
          KOKKOS_LAMBDA(Member const& team) {
            ScratchTile<T, Exec> const tile_a(team.team_scratch(0), edge, edge);
            ScratchTile<T, Exec> const tile_b(team.team_scratch(0), edge, most_edge);
            auto const place = tiles.place(team.league_rank());
            std::size_t const inner = a.extent(1);
            Lanes const lanes;
            typename Lanes::template Value<Sum> sums[rows][columns];
            for (auto& of_row : sums) {
              for (auto& sum : of_row) sum = lanes.template fill<Sum>(Sum(0));
            }

            for (std::size_t k = 0; k < inner; k += edge) {
              Kokkos::parallel_for(Kokkos::TeamThreadRange(team, edge), [&](int row) {
                Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, most_edge), [&](int col) {
                  bool const in_a = row < place.row_count && k + col < inner;
                  bool const in_b = k + row < inner && col < place.col_count;
                  if (col < edge) tile_a(row, col) = in_a ? a(place.row + row, k + col) : T(0);
                  tile_b(row, col) = in_b ? b(k + row, place.col + col) : T(0);
                });
              });
              team.team_barrier();
              for (int i = 0; i < edge; ++i) {
                typename Lanes::template Value<T> of_b[columns];
                for (int j = 0; j < columns; ++j) {
                  lanes.each([&](int lane, T& value) { value = tile_b(i, j * Lanes::width + lane); }, of_b[j]);
                }
                for (int r = 0; r < rows; ++r) {
                  int const row = team.team_rank() + r * team.team_size();
                  if (row >= edge) continue;
                  T const of_a = tile_a(row, i);
                  for (int j = 0; j < columns; ++j) {
                    lanes.each([&](int, Sum& sum, T const& value) { sum += collective::product(of_a, value); },
                               sums[r][j], of_b[j]);
                  }
                }
              }
              leave_scratch(team);  // the tiles are loaded again, with the next slice or, on hosts, by the next team
            }

            for (int r = 0; r < rows; ++r) {
              int const row = team.team_rank() + r * team.team_size();
              if (row >= place.row_count) continue;
              for (int j = 0; j < columns; ++j) {
                lanes.each(
                    [&](int lane, Sum const& sum) {
                      int const col = j * Lanes::width + lane;
                      if (col < place.col_count) c(place.row + row, place.col + col) = static_cast<T>(sum);
                    },
                    sums[r][j]);
              }
            }
          });
    }

   private:
    SquareTiles shape_;
  };
};

VariantRows tiled() { return rows<Matmul, Tiled>(); }

}  // namespace tessera::matmul
