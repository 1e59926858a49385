/// \file
/// 16-byte accesses on both sides of memory (turned_tiles.hpp). A lane loads a square block, one pack from each of its
/// rows, all of them under way at once; turns it in registers, so that it holds packs of the output's rows; and puts
/// these into team scratch. Another lane takes them from there: neighbouring packs of a row of the output, stored by
/// neighbouring lanes. On a host the same tile lies in the first cache, and memory is read and written in whole cache
/// lines.

#include "../problem.hpp"
#include "../turned_tiles.hpp"

#include <tessera/app/make_app.hpp>
#include <tessera/collective/device/team_shape.hpp>

namespace tessera::transpose {

struct Vector {
  static constexpr VariantInfo info{.name = "vector",
                                    .level = Level::team,
                                    .summary = "blocks turned in registers, 16-byte accesses to memory and scratch"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    using Kernel = TurnedTiles<Exec, T>;

    Plan(Exec const& exec, InputOn<Transpose, Exec, T> const& input)
        : tiles_(Kernel::tiles_of(input.a.extent(0), input.a.extent(1))),
          threads_(device::team_size(exec, input.parameters.team)),
          league_(tiles_.league_size()) {}

    void operator()(Exec const& exec, InputOn<Transpose, Exec, T> const& input,
                    OutputOn<Transpose, Exec, T> const& output) const {
      if (league_ == 0) return;
      constexpr int pack = Kernel::pack;
      T const* const a = input.a.data();
      T* const out = output.out.data();
      Kernel const kernel{.a = a,
                          .out = out,
                          .tiles = tiles_,
                          .aligned_in = tiles_.cols % pack == 0 && collective::is_aligned_for_packs<pack>(a),
                          .aligned_out = tiles_.rows % pack == 0 && collective::is_aligned_for_packs<pack>(out),
                          .streaming = collective::streams<Exec>(input.a.size() * sizeof(T))};
      typename Kernel::Policy policy(exec, league_, threads_);
      policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(Kernel::Scratch::shmem_size(Kernel::blocks * pack))));
      Kokkos::parallel_for("tessera::transpose::vector::move", policy, kernel);
    }

   private:
    device::MatrixTiles tiles_;
    int threads_;
    int league_;
  };
};

VariantRows vector() { return rows<Transpose, Vector>(); }

}  // namespace tessera::transpose
