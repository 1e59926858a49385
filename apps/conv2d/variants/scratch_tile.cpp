/// \file
/// A tile of the input with its halo of Ky - 1 rows and Kx - 1 columns in team scratch: every element is read from
/// memory once per tile, and Ky * Kx times from scratch. A convolution kernel with more rows or columns than the halo
/// can hold is taken in parts, and each part adds to the output.

#include <utility>

#include "../problem.hpp"

#include <tessera/collective/matrix_tiles.hpp>
#include <tessera/collective/team/matrix_tile.hpp>
#include <tessera/collective/thread/rows.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/conv2d.hpp>
#include <tessera/kernels/detail/launch/row_tiles.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::conv2d {

namespace {

template <ExecutionSpace Exec, class Sum>
struct ScratchTileKernel {
  using Policy = Kokkos::TeamPolicy<Exec>;
  using Member = typename Policy::member_type;
  using Scratch = ScratchView<Sum*, Exec>;
  // Taps per part of the kernel: a tile of 1024 elements of 8 bytes with its halo takes 28 KiB at most.
  static constexpr int most_tap_rows = 16;
  static constexpr int most_tap_cols = 32;

  kernels::Convolution<Sum> of;
  collective::MatrixTiles tiles;

  [[nodiscard]] KOKKOS_FUNCTION int part_rows() const {
    return of.tap_rows < most_tap_rows ? static_cast<int>(of.tap_rows) : most_tap_rows;
  }
  [[nodiscard]] KOKKOS_FUNCTION int part_cols() const {
    return of.tap_cols < most_tap_cols ? static_cast<int>(of.tap_cols) : most_tap_cols;
  }
  [[nodiscard]] KOKKOS_FUNCTION int stride() const { return tiles.tile_cols + part_cols() - 1; }
  [[nodiscard]] KOKKOS_FUNCTION int tile_places() const { return (tiles.tile_rows + part_rows() - 1) * stride(); }
  [[nodiscard]] KOKKOS_FUNCTION int places() const { return tile_places() + part_rows() * part_cols(); }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Scratch const scratch(team.team_scratch(0), places());
    auto const place = tiles.place(team.league_rank());
    for (std::size_t ky = 0; ky < of.tap_rows; ky += most_tap_rows) {
      for (std::size_t kx = 0; kx < of.tap_cols; kx += most_tap_cols) {
        int const rows = thread::count_before(ky, of.tap_rows, most_tap_rows);
        int const cols = thread::count_before(kx, of.tap_cols, most_tap_cols);
        load(team, place, ky, kx, rows, cols, scratch.data());
        team.team_barrier();
        add(team, place, ky, kx, rows, cols, scratch.data());
        leave_scratch(team);
      }
    }
  }

  // Loads the part of the input and the part of k that begin at (ky, kx).
  KOKKOS_FUNCTION void load(Member const& team, collective::MatrixTiles::Place const& place, std::size_t ky,
                            std::size_t kx, int rows, int cols, Sum* scratch) const {
    team::load_tile(team, team::Matrix<Sum const>{of.in, of.rows, of.cols}, place.row + ky, place.col + kx,
                    tiles.tile_rows + rows - 1, tiles.tile_cols + cols - 1, Sum(0), scratch, stride());
    Sum* const taps = scratch + tile_places();
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, rows * cols), [&](int i) {
      int const row = i / cols;
      taps[i] = of.tap(ky + row, kx + (i - row * cols));
    });
  }

  KOKKOS_FUNCTION void add(Member const& team, collective::MatrixTiles::Place const& place, std::size_t ky,
                           std::size_t kx, int rows, int cols, Sum const* tile) const {
    Sum const* const taps = tile + tile_places();
    int const width = stride();
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, place.row_count), [&](int row) {
      // Terms beyond an edge are skipped instead of multiplied by zero: k may be infinite, and infinity * 0 is NaN.
      int const rows_here = thread::count_before(place.row + row + ky, of.rows, rows);
      Sum* const out = of.out + (place.row + row) * of.cols + place.col;
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, place.col_count), [&](int col) {
        int const cols_here = thread::count_before(place.col + col + kx, of.cols, cols);
        Sum sum = ky == 0 && kx == 0 ? Sum(0) : out[col];
        for (int i = 0; i < rows_here; ++i) {
          Sum const* const from = tile + (row + i) * width + col;
          for (int j = 0; j < cols_here; ++j) sum += from[j] * taps[i * cols + j];
        }
        out[col] = sum;
      });
    });
  }
};

}  // namespace

struct ScratchTile {
  static constexpr VariantInfo info{
      .name = "scratch_tile", .level = Level::team, .summary = "a tile and its halo in team scratch"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    using Kernel = ScratchTileKernel<Exec, collective::Accumulator<T>>;

    Plan(Exec const& exec, InputOn<Conv2d, Exec, T> const& input) {
      std::size_t rows = input.in.extent(0);
      std::size_t cols = input.in.extent(1);
      if (cols == 1) std::swap(rows, cols);  // as in kernels::convolution
      tiles_ = collective::fitted_tiles(rows, cols, 16, 64);
      lanes_ = kernels::lanes_for<Exec>(static_cast<std::size_t>(tiles_.tile_cols));
      threads_ = kernels::team_size(exec, input.parameters.team, lanes_);
      league_ = league_of(tiles_.count());
    }

    void operator()(Exec const& exec, InputOn<Conv2d, Exec, T> const& input,
                    OutputOn<Conv2d, Exec, T> const& output) const {
      if (league_ == 0) return;
      Kernel const kernel{.of = kernels::convolution(input.in, input.k, output.out), .tiles = tiles_};
      Kokkos::parallel_for("tessera::conv2d::scratch_tile::sum",
                           with_scratch(typename Kernel::Policy(exec, league_, threads_, lanes_),
                                        Kernel::Scratch::shmem_size(kernel.places())),
                           kernel);
    }

   private:
    collective::MatrixTiles tiles_;
    int lanes_;
    int threads_;
    int league_;
  };
};

VariantRows scratch_tile() { return rows<Conv2d, ScratchTile>(); }

}  // namespace tessera::conv2d
