/// \file
/// triad with b staged through the scratch of each team: with more --scratch, fewer teams are resident on a
/// multiprocessor, and fewer loads are in flight. A team works on the same tile for any --scratch; 0 stages nothing.

#include "../staged_triad.hpp"

#include <tessera/kernels/detail/launch/team_shape.hpp>

namespace tessera::roofline {

struct TriadScratch {
  static constexpr VariantInfo info{.name = "triad_scratch",
                                    .level = Level::team,
                                    .summary = "triad with --scratch bytes per team: occupancy falls",
                                    .lesson = true};

  template <ExecutionSpace Exec, class T>
  class Plan : public OneField {
    using Own = StagedTriad<Exec, T>;

   public:
    Plan(Exec const& exec, InputOn<Roofline, Exec, T> const& input)
        : OneField("triad", input.a.extent(0), 3 * sizeof(T), 2),
          threads_(kernels::team_size(exec, is_gpu<Exec> ? 128 : 1)),
          league_(league_of(tiles_of(input.a.extent(0), Own::tile))),
          places_(static_cast<std::size_t>(input.parameters.scratch) / sizeof(T)),
          bytes_(places_ > 0 ? Own::Staged::shmem_size(places_) : 0) {
      kernels::require_scratch<Exec>(bytes_);
    }

    void operator()(Exec const& exec, InputOn<Roofline, Exec, T> const& input,
                    OutputOn<Roofline, Exec, T> const& output) const {
      Kokkos::parallel_for("tessera::roofline::triad_scratch::triad",
                           with_scratch(Kokkos::TeamPolicy<Exec>(exec, league_, threads_), bytes_),
                           Own{input.a, input.b, output.triad, places_, {static_cast<T>(input.parameters.s)}});
    }

   private:
    int threads_, league_;
    std::size_t places_, bytes_;
  };
};

VariantRows triad_scratch() { return rows<Roofline, TriadScratch>(); }

}  // namespace tessera::roofline
