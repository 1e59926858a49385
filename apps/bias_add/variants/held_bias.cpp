/// \file
/// A thread holds the bias of its columns in registers and goes down the rows of its team's tile: it reads the bias
/// once per tile instead of once per element. On a GPU a thread has one column, so that neighbouring threads read
/// neighbouring elements; on a host it has a cache line of columns.

#include "../problem.hpp"

#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::bias_add {

struct HeldBias {
  static constexpr VariantInfo info{.name = "held_bias",
                                    .level = Level::team,
                                    .summary = "a thread goes down its columns, their bias in registers",
                                    .lesson = true};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    using Policy = Kokkos::TeamPolicy<Exec>;
    static constexpr int width = is_gpu<Exec> ? 1 : 64 / static_cast<int>(sizeof(T));  // columns per thread
    static constexpr int tile_cols = is_gpu<Exec> ? 256 : 16 * width;
    static constexpr int tile_rows = 32;

    Plan(Exec const& exec, InputOn<BiasAdd, Exec, T> const& input)
        : threads_(kernels::team_size(exec, input.parameters.team)),
          across_(league_of(tiles_of(input.x.extent(1), tile_cols))),
          league_(league_of(tiles_of(input.x.extent(0), tile_rows) * static_cast<std::size_t>(across_))) {}

    void operator()(Exec const& exec, ArrayOn<T const**, Exec> const& x, ArrayOn<T const*, Exec> const& bias,
                    ArrayOn<T**, Exec> const& y) const {
      if (x.size() == 0) return;
      int const across = across_;
      Kokkos::parallel_for(
          "tessera::bias_add::held_bias::add", Policy(exec, league_, threads_),
          KOKKOS_LAMBDA(typename Policy::member_type const& team) {
            std::size_t const first_row = static_cast<std::size_t>(team.league_rank() / across) * tile_rows;
            std::size_t const first_col = static_cast<std::size_t>(team.league_rank() % across) * tile_cols;
            std::size_t const last_row = Kokkos::min<std::size_t>(first_row + tile_rows, x.extent(0));
            Kokkos::parallel_for(Kokkos::TeamThreadRange(team, tile_cols / width), [&](int part) {
              std::size_t const col = first_col + part * width;
              if (col >= x.extent(1)) return;
              int const count = static_cast<int>(Kokkos::min<std::size_t>(width, x.extent(1) - col));
              T held[width];
              for (int e = 0; e < count; ++e) held[e] = bias(col + e);
              for (std::size_t row = first_row; row < last_row; ++row) {
                for (int e = 0; e < count; ++e) y(row, col + e) = Add<T>{}(x(row, col + e), held[e]);
              }
            });
          });
    }

   private:
    int threads_;
    int across_;  // tiles along a row
    int league_;
  };
};

VariantRows held_bias() { return rows<BiasAdd, HeldBias>(); }

}  // namespace tessera::bias_add
