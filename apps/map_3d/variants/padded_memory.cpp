/// \file
/// padded without guards in the loop: the array is copied into memory whose extents are whole boxes, so that every
/// index has an element, and the result is copied out. The constant is also added to the padding, which nobody reads.

#include <cstddef>
#include <cstdint>
#include <string>

#include "../boxes.hpp"
#include "../problem.hpp"

#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/table/make_app.hpp>
#include <tessera/table/runtime.hpp>

namespace tessera::map_3d {

struct PaddedMemory {
  static constexpr VariantInfo info{.name = "padded_memory",
                                    .level = Level::team,
                                    .summary = "copied into memory of whole boxes, no index guarded, copied back"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    using Policy = Kokkos::TeamPolicy<Exec>;
    static constexpr int box_cols = BoxTuning<Exec>::cols;
    static constexpr int box_rows = BoxTuning<Exec>::rows;
    static constexpr int box_planes = BoxTuning<Exec>::planes;
    static constexpr int box_elements = box_planes * box_rows * box_cols;

    Plan(Exec const& exec, InputOn<Map3d, Exec, T> const& input)
        : threads_(kernels::team_size(exec, input.parameters.team)),
          across_(league_of(tiles_of(input.a.extent(2), box_cols))),
          down_(league_of(tiles_of(input.a.extent(1), box_rows))),
          deep_(league_of(tiles_of(input.a.extent(0), box_planes))) {
      // On a GPU the boxes of an array with one column take 32 times its memory; with one row as well, 8 times more.
      double const needed = static_cast<double>(deep_) * down_ * across_ * box_elements * sizeof(T);
      double const array = static_cast<double>(input.a.size()) * sizeof(T);
      double const free = free_memory_bytes(std::string(space_name<Exec>()));
      if (needed > 16 * array + (1 << 26) || needed > free) {
        throw Skip("whole boxes take " + std::to_string(static_cast<std::int64_t>(needed / (1 << 20))) +
                   " MiB for an array of " + std::to_string(static_cast<std::int64_t>(array / (1 << 20))) +
                   " (at most 16 times the array plus 64 MiB, and the free memory); use --variant padded");
      }
      boxes_ = Boxes("tessera::map_3d::padded_memory", static_cast<std::size_t>(deep_) * box_planes,
                     static_cast<std::size_t>(down_) * box_rows, static_cast<std::size_t>(across_) * box_cols);
    }

    void operator()(Exec const& exec, ArrayOn<T const***, Exec> const& a, ArrayOn<T***, Exec> const& out,
                    Map3d::Parameters const& parameters) const {
      if (a.size() == 0) return;
      using Places = Kokkos::MDRangePolicy<Exec, Kokkos::Rank<3, Kokkos::Iterate::Left, Kokkos::Iterate::Left>,
                                           Kokkos::IndexType<std::int64_t>>;
      auto const boxes = boxes_;
      AddConstant<T> const add{static_cast<T>(parameters.c)};
      int const across = across_;
      int const down = down_;
      int const league = league_of(static_cast<std::size_t>(deep_) * static_cast<std::size_t>(down_) *
                                   static_cast<std::size_t>(across_));
      Places const places(exec, {0, 0, 0}, {a.extent(2), a.extent(1), a.extent(0)});
      Kokkos::parallel_for(
          "tessera::map_3d::padded_memory::copy_in", places,
          KOKKOS_LAMBDA(std::int64_t col, std::int64_t row, std::int64_t plane) {
            boxes(plane, row, col) = a(plane, row, col);
          });
      Kokkos::parallel_for(
          "tessera::map_3d::padded_memory::add", Policy(exec, league, threads_),
          KOKKOS_LAMBDA(typename Policy::member_type const& team) {
            int const box = team.league_rank();
            std::size_t const first_col = static_cast<std::size_t>(box % across) * box_cols;
            std::size_t const first_row = static_cast<std::size_t>(box / across % down) * box_rows;
            std::size_t const first_plane = static_cast<std::size_t>(box / across / down) * box_planes;
            Kokkos::parallel_for(Kokkos::TeamThreadRange(team, box_elements), [&](int i) {
              T& place = boxes(first_plane + i / (box_cols * box_rows), first_row + i / box_cols % box_rows,
                               first_col + i % box_cols);
              place = add(place);
            });
          });
      Kokkos::parallel_for(
          "tessera::map_3d::padded_memory::copy_out", places,
          KOKKOS_LAMBDA(std::int64_t col, std::int64_t row, std::int64_t plane) {
            out(plane, row, col) = boxes(plane, row, col);
          });
    }

   private:
    using Boxes = Kokkos::View<T***, Kokkos::LayoutRight, typename Exec::memory_space>;

    int threads_;
    int across_;  // boxes along a row
    int down_;    // boxes along a column
    int deep_;    // boxes along the planes
    Boxes boxes_;
  };
};

VariantRows padded_memory() { return rows<Map3d, PaddedMemory>(); }

}  // namespace tessera::map_3d
