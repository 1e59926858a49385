/// \file
/// Slow on purpose, although nearly all accesses hit a cache: a team adds its tile 100 times (10 times on a host).
/// Memory delivers the tile once, and every later walk finds it in the second-level cache of a GPU. The hit rate is
/// high because most of the accesses are useless; time depends on their number.

#include "../problem.hpp"

#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::zip {

struct Repeated {
  static constexpr VariantInfo info{.name = "repeated",
                                    .level = Level::team,
                                    .summary = "a team adds its tile again and again, from a cache: slow on purpose",
                                    .lesson = true};

  template <ExecutionSpace Exec, class T>
    requires(!ShortFloat<T>)  // they have no volatile reads
  class Plan {
   public:
    using Teams = Kokkos::TeamPolicy<Exec>;
    static constexpr std::size_t tile = is_gpu<Exec> ? 1024 : 8192;
    static constexpr int walks = is_gpu<Exec> ? 100 : 10;

    Plan(Exec const& exec, InputOn<Zip, Exec, T> const& input)
        : threads_(kernels::team_size(exec, input.parameters.team)),
          league_(league_of(tiles_of(input.a.extent(0), tile))) {}

    void operator()(Exec const& exec, ArrayOn<T const*, Exec> const& a, ArrayOn<T const*, Exec> const& b,
                    ArrayOn<T*, Exec> const& out, Parameters const&) const {
      // A compiler must not leave out volatile reads, and a GPU does not serve them from the first-level cache.
      T const volatile* const again_a = a.data();
      T const volatile* const again_b = b.data();
      Kokkos::parallel_for(
          "tessera::zip::repeated::add", Teams(exec, league_, threads_),
          KOKKOS_LAMBDA(typename Teams::member_type const& team) {
            std::size_t const begin = team.league_rank() * tile;
            std::size_t const end = Kokkos::min(begin + tile, out.extent(0));
            for (int walk = 0; walk < walks; ++walk) {
              Kokkos::parallel_for(Kokkos::TeamThreadRange(team, begin, end), [&](std::size_t i) {
                T const x = again_a[i];
                T const y = again_b[i];
                out(i) = Add<T>{}(x, y);
              });
            }
          });
    }

   private:
    int threads_, league_;
  };
};

VariantRows repeated() { return rows<Zip, Repeated>(); }

}  // namespace tessera::zip
