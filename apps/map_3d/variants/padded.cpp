/// \file
/// Boxes of fixed extents over an array of any extents: the number of boxes is rounded up, so there may be more indices
/// than elements, and each index guards its plane, row and column. The book's "guards" puzzle in three dimensions.

#include <cstddef>

#include "../boxes.hpp"
#include "../problem.hpp"

#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::map_3d {

struct Padded {
  static constexpr VariantInfo info{.name = "padded",
                                    .level = Level::team,
                                    .summary = "one box of fixed extents per team, rounded up, every index guarded",
                                    .lesson = true};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    using Policy = Kokkos::TeamPolicy<Exec>;
    static constexpr int box_cols = BoxTuning<Exec>::cols;
    static constexpr int box_rows = BoxTuning<Exec>::rows;
    static constexpr int box_planes = BoxTuning<Exec>::planes;

    Plan(Exec const& exec, InputOn<Map3d, Exec, T> const& input)
        : threads_(kernels::team_size(exec, input.parameters.team)),
          across_(league_of(tiles_of(input.a.extent(2), box_cols))),
          down_(league_of(tiles_of(input.a.extent(1), box_rows))),
          league_(league_of(tiles_of(input.a.extent(0), box_planes) * static_cast<std::size_t>(down_) *
                            static_cast<std::size_t>(across_))) {}

    void operator()(Exec const& exec, ArrayOn<T const***, Exec> const& a, ArrayOn<T***, Exec> const& out,
                    Map3d::Parameters const& parameters) const {
      if (a.size() == 0) return;
      AddConstant<T> const add{static_cast<T>(parameters.c)};
      int const across = across_;
      int const down = down_;
      Kokkos::parallel_for(
          "tessera::map_3d::padded::add", Policy(exec, league_, threads_),
          KOKKOS_LAMBDA(typename Policy::member_type const& team) {
            int const box = team.league_rank();
            std::size_t const first_col = static_cast<std::size_t>(box % across) * box_cols;
            std::size_t const first_row = static_cast<std::size_t>(box / across % down) * box_rows;
            std::size_t const first_plane = static_cast<std::size_t>(box / across / down) * box_planes;
            Kokkos::parallel_for(Kokkos::TeamThreadRange(team, box_planes * box_rows * box_cols), [&](int i) {
              std::size_t const col = first_col + i % box_cols;
              std::size_t const row = first_row + i / box_cols % box_rows;
              std::size_t const plane = first_plane + i / (box_cols * box_rows);
              if (col < a.extent(2) && row < a.extent(1) && plane < a.extent(0)) {
                out(plane, row, col) = add(a(plane, row, col));
              }
            });
          });
    }

   private:
    int threads_;
    int across_;  // boxes along a row
    int down_;    // boxes along a column
    int league_;
  };
};

VariantRows padded() { return rows<Map3d, Padded>(); }

}  // namespace tessera::map_3d
