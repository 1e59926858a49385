/// \file
/// triad with b staged through the scratch of each team: with more --scratch, fewer teams are resident on a
/// multiprocessor, and fewer loads are in flight. A team works on the same tile for any --scratch; 0 stages nothing.

#include "../problem.hpp"

#include <tessera/core/scratch.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/table/make_app.hpp>
#include <tessera/table/one_field.hpp>

namespace tessera::roofline {

struct TriadScratch {
  static constexpr VariantInfo info{.name = "triad_scratch",
                                    .level = Level::team,
                                    .summary = "triad with --scratch bytes per team: occupancy falls",
                                    .lesson = true};

  template <ExecutionSpace Exec, class T>
  class Plan : public OneField {
   public:
    using Teams = Kokkos::TeamPolicy<Exec>;
    using Staged = ScratchView<T*, Exec>;
    static constexpr std::size_t tile = 12288;  // as many floats as 48 KiB hold

    Plan(Exec const& exec, InputOn<Roofline, Exec, T> const& input)
        : OneField("triad", input.a.extent(0), 3 * sizeof(T), 2),
          threads_(kernels::team_size(exec, is_gpu<Exec> ? 128 : 1)),
          league_(league_of(tiles_of(input.a.extent(0), tile))),
          places_(static_cast<std::size_t>(input.parameters.scratch) / sizeof(T)),
          bytes_(places_ > 0 ? Staged::shmem_size(places_) : 0) {
      kernels::require_scratch<Exec>(bytes_);
    }

    void operator()(Exec const& exec, InputOn<Roofline, Exec, T> const& input,
                    OutputOn<Roofline, Exec, T> const& output) const {
      auto const a = input.a, b = input.b;
      auto const out = output.triad;
      std::size_t const places = places_;
      measure::Triad<T> const triad{static_cast<T>(input.parameters.s)};
      Kokkos::parallel_for(
          "tessera::roofline::triad_scratch::triad", with_scratch(Teams(exec, league_, threads_), bytes_),
          KOKKOS_LAMBDA(typename Teams::member_type const& team) {
            Staged const staged(team.team_scratch(0), places);
            std::size_t const begin = team.league_rank() * tile;
            std::size_t const end = Kokkos::min(begin + tile, a.extent(0));
            std::size_t const step = places > 0 ? places : tile;
            for (std::size_t first = begin; first < end; first += step) {
              std::size_t const last = Kokkos::min(first + step, end) - 1;
              auto const batch = Kokkos::TeamThreadRange(team, first, last + 1);
              if (places > 0) {
                Kokkos::parallel_for(batch, [&](std::size_t i) { staged(i - first) = b(i); });
                team.team_barrier();
              }
              Kokkos::parallel_for(batch, [&](std::size_t k) {
                std::size_t const i = first + last - k;  // from the end: another thread has staged this element
                out(i) = triad(a(i), places > 0 ? staged(i - first) : b(i));
              });
              leave_scratch(team);
            }
          });
    }

   private:
    int threads_, league_;
    std::size_t places_, bytes_;
  };
};

VariantRows triad_scratch() { return rows<Roofline, TriadScratch>(); }

}  // namespace tessera::roofline
