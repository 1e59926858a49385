/// \file
/// The contiguous copy with neighbouring indices --stride elements apart: it goes through the array --stride times, and
/// each of these walks reads and writes one element of every stride. A request uses only one or a few elements of each
/// sector that memory moves. When a later walk needs the other elements, they have left the caches.

#include "../model.hpp"

#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>

namespace tessera::memory_access {

struct Strided {
  static constexpr VariantInfo info{.name = "strided",
                                    .level = Level::team,
                                    .summary = "neighbouring indices are --stride elements apart, reads and writes"};

  template <ExecutionSpace Exec, class T>
  class Plan : public Told {
   public:
    using Policy = Kokkos::TeamPolicy<Exec>;
    // Steps of a walk per team. A team divides only once: one division per step would cost more than the access.
    static constexpr int tile = is_gpu<Exec> ? 1024 : 8192;

    Plan(Exec const& exec, InputOn<MemoryAccess, Exec, T> const& input)
        : Told(machine_of<Exec>(), "copied", input.in.extent(0), 2 * sizeof(T)),
          stride_(static_cast<std::size_t>(input.parameters.stride)),
          walk_(tiles_of(input.in.extent(0), stride_)),
          threads_(kernels::team_size(exec, input.parameters.team)),
          tiles_(league_of(tiles_of(walk_, tile))),
          league_(league_of(static_cast<std::size_t>(tiles_) * stride_)) {
      std::size_t const n = input.in.extent(0);
      double const units =
          units_together(machine(), n, sizeof(T), [&](std::size_t i) { return i % walk_ * stride_ + i / walk_; });
      tell_units(units, moved_by(2 * units, n));
    }

    void operator()(Exec const& exec, InputOn<MemoryAccess, Exec, T> const& input,
                    OutputOn<MemoryAccess, Exec, T> const& output) const {
      auto const in = input.in;
      auto const out = output.copied;
      auto const stride = stride_;
      auto const walk = walk_;
      int const tiles = tiles_;
      Kokkos::parallel_for(
          "tessera::memory_access::strided::copy", Policy(exec, league_, threads_),
          KOKKOS_LAMBDA(typename Policy::member_type const& team) {
            auto const number = static_cast<std::size_t>(team.league_rank() / tiles);  // number of the walk
            std::size_t const begin = static_cast<std::size_t>(team.league_rank() % tiles) * tile;
            int const count = static_cast<int>(Kokkos::min<std::size_t>(tile, walk - begin));
            Kokkos::parallel_for(Kokkos::TeamThreadRange(team, count), [&](int step) {
              std::size_t const element = (begin + step) * stride + number;
              // The last step of some walks lies beyond the end.
              if (element < in.extent(0)) out(element) = in(element);
            });
          });
    }

   private:
    std::size_t stride_;
    std::size_t walk_;  // steps per walk
    int threads_;
    int tiles_;  // per walk
    int league_;
  };
};

VariantRows strided() { return rows<MemoryAccess, Strided>(); }

}  // namespace tessera::memory_access
