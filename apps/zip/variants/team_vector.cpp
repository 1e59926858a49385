/// \file
/// Kokkos' hierarchy: a team takes consecutive tiles, and each of its threads takes one tile. The thread's vector lanes
/// take the tile's packs, so that neighbouring lanes have neighbouring packs.

#include "../problem.hpp"
#include "../tuning.hpp"

#include <tessera/collective/pack.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::zip {

struct TeamVector {
  static constexpr VariantInfo info{
      .name = "team_vector", .level = Level::team, .summary = "TeamThread over tiles, ThreadVector over 16-byte packs"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    using Policy = Kokkos::TeamPolicy<Exec>;
    static constexpr int width = Tuning<Exec, T>::width;
    static constexpr int lanes = Tuning<Exec, T>::lanes;

    Plan(Exec const& exec, InputOn<Zip, Exec, T> const& input)
        : threads_(kernels::team_size(exec, input.parameters.team, lanes)),
          tile_(input.parameters.tile > 0 ? static_cast<int>(input.parameters.tile) : Tuning<Exec, T>::team_vector),
          league_(league_of(tiles_of(input.a.extent(0), static_cast<std::size_t>(tile_) * threads_))) {}

    void operator()(Exec const& exec, ArrayOn<T const*, Exec> const& a, ArrayOn<T const*, Exec> const& b,
                    ArrayOn<T*, Exec> const& out) const {
      std::size_t const n = a.extent(0);
      int const tile = tile_;
      bool const packed = tile % width == 0 && collective::is_aligned_for_packs<width>(a.data(), b.data(), out.data());
      Kokkos::parallel_for(
          "tessera::zip::team_vector::add", Policy(exec, league_, threads_, lanes),
          KOKKOS_LAMBDA(typename Policy::member_type const& team) {
            Kokkos::parallel_for(Kokkos::TeamThreadRange(team, team.team_size()), [&](int thread) {
              std::size_t const begin =
                  (static_cast<std::size_t>(team.league_rank()) * team.team_size() + thread) * tile;
              if (begin >= n) return;
              int const count = n - begin < static_cast<std::size_t>(tile) ? static_cast<int>(n - begin) : tile;
              int const packs = packed ? count / width : 0;
              Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, packs), [&](int p) {
                std::size_t const i = begin + static_cast<std::size_t>(p) * width;
                auto x = collective::pack_at<width>(&a(i));
                auto const y = collective::pack_at<width>(&b(i));
                for (int e = 0; e < width; ++e) x[e] = Add<T>{}(x[e], y[e]);
                collective::pack_at<width>(&out(i)) = x;
              });
              Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, packs * width, count),
                                   [&](int i) { out(begin + i) = Add<T>{}(a(begin + i), b(begin + i)); });
            });
          });
    }

   private:
    int threads_;
    int tile_;
    int league_;
  };
};

VariantRows team_vector() { return rows<Zip, TeamVector>(); }

}  // namespace tessera::zip
