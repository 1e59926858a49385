/// \file
/// Every lane makes a strip of neighbouring sums in registers (strip.hpp): it walks down the rows of the input, loads
/// each of them with 16-byte accesses, and adds it to all sums that it is part of. Neighbours' elements and rows come
/// from the first cache, where the lanes beside and below have brought them.

#include <bit>

#include "../convolution.hpp"
#include "../problem.hpp"
#include "../strip.hpp"

#include <tessera/collective/matrix_tiles.hpp>
#include <tessera/collective/streaming_store.hpp>
#include <tessera/kernels/team_shape.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::conv2d {

namespace {

template <ExecutionSpace Exec, class Sum, bool Aligned>
struct StripKernel {
  // Up to 128 registers: the sums and a row of the input, without spilling.
  using Policy = Kokkos::TeamPolicy<Exec, Kokkos::LaunchBounds<512, 1>>;
  using Member = typename Policy::member_type;
  using Sums = Strip<Exec, Sum, Aligned>;

  Convolution<Sum> of;
  collective::MatrixTiles tiles;
  std::size_t reach;
  bool streaming;

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    auto const place = tiles.place(team.league_rank());
    int const across = tiles.tile_cols / Sums::width;  // a power of two
    int const bits = Kokkos::countr_zero(static_cast<unsigned>(across));
    int const strips = across * (tiles.tile_rows / Sums::rows);
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, strips), [&](int i) {
      int const row = (i >> bits) * Sums::rows;
      int const col = (i & (across - 1)) * Sums::width;
      if (row >= place.row_count || col >= place.col_count) return;
      std::size_t const y = place.row + row;
      std::size_t const x = place.col + col;
      Sum const* const from = of.in + y * of.cols + x;
      Sums sums;
      if (y + Sums::rows + of.tap_rows - 1 <= of.rows && x + reach <= of.cols) {
        sums.add(of, from);
      } else {
        sums.add_at_edge(of, from, of.rows - y, of.cols - x);
      }
      sums.store(of, of.out + y * of.cols + x, place.row_count - row, place.col_count - col, streaming);
    });
    if (streaming) collective::streaming_fence();
  }
};

}  // namespace

struct RegisterTile {
  static constexpr VariantInfo info{.name = "register_tile",
                                    .level = Level::team,
                                    .summary = "a strip of sums in each lane's registers, 16-byte loads down the rows"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    using Sum = collective::Accumulator<T>;
    using Sums = Strip<Exec, Sum, true>;
    // Strips of a tile: warps below each other on a GPU, so that they share the rows in between. A host walks down as far
    // as it can: the rows above are in its caches, and those that two tiles both read are few.
    static constexpr int most_down = is_gpu<Exec> ? 8 : 128;
    static constexpr int across = is_gpu<Exec> ? 32 : 16;

    Plan(Exec const& exec, InputOn<Conv2d, Exec, T> const& input)
        : threads_(kernels::team_size(exec, input.parameters.team)) {
      auto const of = convolution(input);
      std::size_t const strip_rows = tiles_of(of.rows, Sums::rows);
      std::size_t const strip_cols = tiles_of(of.cols, Sums::width);
      int down = most_down;
      if constexpr (!is_gpu<Exec>) {
        // Four tiles for each thread, where there are so many rows.
        std::size_t const wanted = 4 * static_cast<std::size_t>(exec.concurrency());
        while (down > 8 && tiles_of(strip_rows, down) * tiles_of(strip_cols, across) < wanted) down /= 2;
      }
      auto const strips = collective::fitted_tiles(strip_rows, strip_cols, down, across);
      tiles_ = {.rows = of.rows,
                .cols = of.cols,
                .tile_rows = strips.tile_rows * Sums::rows,
                .tile_cols = strips.tile_cols * Sums::width};
      league_ = tiles_.league_size();
    }

    void operator()(Exec const& exec, InputOn<Conv2d, Exec, T> const& input,
                    OutputOn<Conv2d, Exec, T> const& output) const {
      if (league_ == 0) return;
      auto const of = convolution(input, output);
      constexpr int pack = collective::pack_width<Sum>;
      bool const aligned = of.cols % pack == 0 && collective::is_aligned_for_packs<pack>(of.in) &&
                           collective::is_aligned_for_packs<pack>(of.out);
      if constexpr (is_gpu<Exec>) {
        aligned ? enqueue<true>(exec, of, false) : enqueue<false>(exec, of, false);
      } else {
        enqueue<false>(exec, of, aligned && collective::streams<Exec>(of.rows * of.cols * sizeof(Sum)));
      }
    }

    template <bool Aligned>
    void enqueue(Exec const& exec, Convolution<Sum> const& of, bool streaming) const {
      using Kernel = StripKernel<Exec, Sum, Aligned>;
      Kernel const kernel{.of = of, .tiles = tiles_, .reach = Kernel::Sums::reach(of.tap_cols), .streaming = streaming};
      Kokkos::parallel_for("tessera::conv2d::register_tile::sum", typename Kernel::Policy(exec, league_, threads_),
                           kernel);
    }

   private:
    collective::MatrixTiles tiles_;
    int threads_;
    int league_;
  };
};

VariantRows register_tile() { return rows<Conv2d, RegisterTile>(); }

}  // namespace tessera::conv2d
