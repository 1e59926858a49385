/// \file
/// triad_scratch by a launch of CUDA's own, which grants a team up to 227 KB of scratch; Kokkos grants less than 48
/// KiB. CUDA only; elsewhere the row is skipped.

#include "../staged_triad.hpp"

#include <tessera/kernels/detail/launch/cluster.hpp>

namespace tessera::roofline {

struct TriadWideScratch {
  static constexpr VariantInfo info{.name = "triad_wide_scratch",
                                    .level = Level::team,
                                    .summary = "triad_scratch with up to 227 KB, by a launch of CUDA's own"};

  template <ExecutionSpace Exec, class T>
  class Plan : public OneField {
    using Own = StagedTriad<Exec, T>;
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
