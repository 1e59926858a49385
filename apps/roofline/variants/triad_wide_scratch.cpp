/// \file
/// triad_scratch by a launch of CUDA's own, which grants a team up to 227 KB of scratch; Kokkos grants less than 48
/// KiB. CUDA only; elsewhere the row is skipped.

#include "../problem.hpp"

#include <tessera/core/scratch.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/cluster.hpp>
#include <tessera/table/make_app.hpp>
#include <tessera/table/one_field.hpp>

namespace tessera::roofline {

struct TriadWideScratch {
  static constexpr VariantInfo info{.name = "triad_wide_scratch",
                                    .level = Level::team,
                                    .summary = "triad_scratch with up to 227 KB, by a launch of CUDA's own"};

  template <ExecutionSpace Exec, class T>
  struct Kernel {
    static constexpr std::size_t tile = 12288;  // as many floats as 48 KiB hold
    using Staged = ScratchView<T*, Exec>;
    ArrayOn<T const*, Exec> a, b;
    ArrayOn<T*, Exec> out;
    std::size_t places;
    measure::Triad<T> triad;

    template <class Team>
    KOKKOS_FUNCTION void operator()(Team const& team) const {
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
    }
  };

  template <ExecutionSpace Exec, class T>
  class Plan : public OneField {
    using Own = Kernel<Exec, T>;
    static constexpr int threads = 128;

   public:
    Plan(Exec const& exec, InputOn<Roofline, Exec, T> const& input)
        : OneField("triad", input.a.extent(0), 3 * sizeof(T), 2),
          league_(league_of(tiles_of(input.a.extent(0), Own::tile))),
          places_(static_cast<std::size_t>(input.parameters.scratch) / sizeof(T)),
          launch_(exec, {.size = 1,  // teams per cluster
                         .threads = threads,
                         .lanes = 1,
                         .scratch_bytes = places_ > 0 ? Own::Staged::shmem_size(places_) : 0}) {}

    void operator()(Exec const& exec, InputOn<Roofline, Exec, T> const& input,
                    OutputOn<Roofline, Exec, T> const& output) const {
      launch_("tessera::roofline::triad_wide_scratch::triad", exec, league_,
              Own{input.a, input.b, output.triad, places_, {static_cast<T>(input.parameters.s)}});
    }

   private:
    int league_;
    std::size_t places_;
    kernels::ClusterLaunch<Exec, Own> launch_;
  };
};

VariantRows triad_wide_scratch() { return rows<Roofline, TriadWideScratch>(); }

}  // namespace tessera::roofline
