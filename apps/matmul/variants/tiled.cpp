/// \file
/// A team makes one square tile of c: tiles of a and b pass through its scratch, where every element is used `tile`
/// times.

#include "../problem.hpp"
#include "../square_tiles.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::matmul {

namespace {

template <class Exec, class Sum>
struct TiledProduct : SquareTiles<Exec, Sum> {
  using Base = SquareTiles<Exec, Sum>;
  using Base::Base;
  static constexpr int tile_count = 3;
  static constexpr char const* label = "tessera::matmul::tiled::product";

  KOKKOS_FUNCTION void operator()(typename Base::Member const& team) const {
    Sum* const a = this->in_scratch(team, 1);
    Sum* const b = this->in_scratch(team, 1);
    Sum* const sums = this->in_scratch(team, 1);
    auto const place = this->tiles.place(team.league_rank());
    this->clear(team, sums);
    for (std::size_t k = 0; k < this->of.k; k += this->edge) {
      this->load(team, place, k, a, b);
      team.team_barrier();
      this->multiply(team, a, b, sums);
      team.team_barrier();  // the tiles are loaded again, by the next k or, on hosts, the next team
    }
    this->store(team, place, sums);
  }
};

}  // namespace

struct Tiled {
  static constexpr VariantInfo info{
      .name = "tiled", .level = Level::team, .summary = "square tiles of a and b in scratch, zero-filled at the edges"};

  template <ExecutionSpace Exec, class T>
  using Plan = SquareTilesPlan<Exec, T, TiledProduct>;
};

VariantRows tiled() { return rows<Matmul, Tiled>(); }

}  // namespace tessera::matmul
