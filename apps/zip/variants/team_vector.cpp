/// \file
/// Kokkos' hierarchy: a team takes consecutive tiles, each of its threads one, and the thread's vector lanes take the
/// tile's packs, neighbouring lanes neighbouring ones.

#include "../problem.hpp"

#include <tessera/collective/pack.hpp>
#include <tessera/kernels/team_shape.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::zip {

namespace {

template <ExecutionSpace Exec, class T>
struct AddTeamTiles {
  static constexpr int width = collective::pack_width<T>;
  using Policy = Kokkos::TeamPolicy<Exec>;
  using Member = typename Policy::member_type;

  T const* a;
  T const* b;
  T* out;
  std::size_t n;
  int tile;
  bool packed;  // every tile begins where packs can be accessed

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, team.team_size()), [&](int thread) {
      std::size_t const begin = (static_cast<std::size_t>(team.league_rank()) * team.team_size() + thread) * tile;
      if (begin >= n) return;
      int const count = n - begin < static_cast<std::size_t>(tile) ? static_cast<int>(n - begin) : tile;
      int const packs = packed ? count / width : 0;
      T const* const x = a + begin;
      T const* const y = b + begin;
      T* const to = out + begin;
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, packs), [&](int p) {
        auto values = collective::pack_at<width>(x + p * width);
        auto const others = collective::pack_at<width>(y + p * width);
        for (int e = 0; e < width; ++e) values[e] = Add<T>{}(values[e], others[e]);
        collective::pack_at<width>(to + p * width) = values;
      });
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, packs * width, count),
                           [&](int i) { to[i] = Add<T>{}(x[i], y[i]); });
    });
  }
};

}  // namespace

struct TeamVector {
  static constexpr VariantInfo info{
      .name = "team_vector", .level = Level::team, .summary = "TeamThread over tiles, ThreadVector over 16-byte packs"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    using Kernel = AddTeamTiles<Exec, T>;
    static constexpr int width = Kernel::width;
    static constexpr int lanes = is_gpu<Exec> ? 32 : 1;

    // Two packs a lane on a GPU; on a host as much as a team is worth starting for.
    Plan(Exec const& exec, InputOn<Zip, Exec, T> const& input)
        : threads_(kernels::team_size(exec, input.parameters.team, lanes)),
          tile_(input.parameters.tile > 0 ? static_cast<int>(input.parameters.tile)
                                          : (is_gpu<Exec> ? 2 * width * lanes : 8192)),
          league_(league_of(tiles_of(input.a.extent(0), static_cast<std::size_t>(tile_) * threads_))) {}

    void operator()(Exec const& exec, InputOn<Zip, Exec, T> const& input, OutputOn<Zip, Exec, T> const& output) const {
      Kernel const add{.a = input.a.data(),
                       .b = input.b.data(),
                       .out = output.out.data(),
                       .n = input.a.extent(0),
                       .tile = tile_,
                       .packed = tile_ % width == 0 && collective::is_aligned_for_packs<width>(input.a.data()) &&
                                 collective::is_aligned_for_packs<width>(input.b.data()) &&
                                 collective::is_aligned_for_packs<width>(output.out.data())};
      Kokkos::parallel_for("tessera::zip::team_vector::add", typename Kernel::Policy(exec, league_, threads_, lanes),
                           add);
    }

   private:
    int threads_;
    int tile_;
    int league_;
  };
};

VariantRows team_vector() { return rows<Zip, TeamVector>(); }

}  // namespace tessera::zip
