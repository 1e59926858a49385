/// \file
/// tiled with two pairs of tiles: the next pair is under way while this one is multiplied, and a step has one barrier
/// instead of two. On a GPU the next pair waits in registers, so that the loads of memory and the multiply-adds of the
/// same lane overlap.

#include "../problem.hpp"
#include "../square_tiles.hpp"

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::matmul {

namespace {

template <class Exec, class Sum>
struct OverlappedProduct : SquareTiles<Exec, Sum> {
  using Base = SquareTiles<Exec, Sum>;
  using Base::Base;
  using Member = typename Base::Member;
  using Place = collective::MatrixTiles::Place;
  using Lanes = lane::On<Exec, 32>;
  static constexpr int tile_count = 5;
  static constexpr char const* label = "tessera::matmul::tiled_overlap::product";

  // A lane's part of the next pair: one column, these many rows of it.
  static constexpr int held_rows = 4;
  struct Held {
    Sum a[held_rows];
    Sum b[held_rows];
  };

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    int const size = this->edge * this->edge;
    Sum* const pairs = this->in_scratch(team, 4);  // tiles of a and b, and the next ones
    Sum* const sums = this->in_scratch(team, 1);
    auto const place = this->tiles.place(team.league_rank());
    // Where registers do not hold it, the next pair is loaded straight into its tiles: so on hosts, whose teams have few
    // threads and whose caches prefetch by themselves.
    bool const hold = this->edge <= Lanes::width && this->edge <= held_rows * team.team_size();
    Lanes const lanes{};
    typename Lanes::template Value<Held> held;
    Sum* a = pairs;
    Sum* next_a = pairs + 2 * size;
    this->clear(team, sums);
    if (this->of.k > 0) this->load(team, place, 0, a, a + size);
    for (std::size_t k = 0; k < this->of.k; k += this->edge) {
      std::size_t const next = k + this->edge;
      // This pair is loaded, and nobody reads the other one any more.
      team.team_barrier();
      if (next < this->of.k) {
        if (hold) {
          fetch(team, lanes, place, next, held);
        } else {
          this->load(team, place, next, next_a, next_a + size);
        }
      }
      this->multiply(team, a, a + size, sums);
      if (hold && next < this->of.k) put(team, lanes, held, next_a, next_a + size);
      Kokkos::kokkos_swap(a, next_a);
    }
    this->store(team, place, sums);
    leave_scratch(team);
  }

 private:
  KOKKOS_FUNCTION void fetch(Member const& team, Lanes const& lanes, Place const& place, std::size_t k,
                             typename Lanes::template Value<Held>& held) const {
    auto const& of = this->of;
    int const edge = this->edge;
    lanes.each(
        [&](int lane, Held& own) {
          for (int i = 0; i < held_rows; ++i) {
            int const row = team.team_rank() + i * team.team_size();
            bool const inside = row < edge && lane < edge;
            bool const in_a = inside && row < place.row_count && k + lane < of.k;
            bool const in_b = inside && k + row < of.k && lane < place.col_count;
            own.a[i] = in_a ? of.a[(place.row + row) * of.k + k + lane] : Sum(0);
            own.b[i] = in_b ? of.b[(k + row) * of.n + place.col + lane] : Sum(0);
          }
        },
        held);
  }

  KOKKOS_FUNCTION void put(Member const& team, Lanes const& lanes, typename Lanes::template Value<Held>& held, Sum* a,
                           Sum* b) const {
    int const edge = this->edge;
    lanes.each(
        [&](int lane, Held& own) {
          for (int i = 0; i < held_rows; ++i) {
            int const row = team.team_rank() + i * team.team_size();
            if (row >= edge || lane >= edge) continue;
            a[row * edge + lane] = own.a[i];
            b[row * edge + lane] = own.b[i];
          }
        },
        held);
  }
};

}  // namespace

struct TiledOverlap {
  static constexpr VariantInfo info{.name = "tiled_overlap",
                                    .level = Level::team,
                                    .summary = "as tiled, the next tiles loaded while these are multiplied"};

  template <ExecutionSpace Exec, class T>
  using Plan = SquareTilesPlan<Exec, T, OverlappedProduct>;
};

VariantRows tiled_overlap() { return rows<Matmul, TiledOverlap>(); }

}  // namespace tessera::matmul
