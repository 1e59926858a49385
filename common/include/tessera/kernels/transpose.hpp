#pragma once
/// \file
/// The transpose of a matrix, out(c, r) = in(r, c), in one launch that reads each element once and writes it once, with
/// 16-byte loads and stores.
///
/// A team handles one tile. A lane loads square blocks of it, one pack (16 bytes) per row of a block, transposes them
/// in registers, and writes the packs of the output's rows to team scratch, from where other lanes store them. On a GPU
/// the packs of a row of the tile are permuted in scratch: pack p of a row of block b is at p xor b. Scratch serves a
/// quarter of a warp at once. With the permutation there are no bank conflicts when it writes the same pack of
/// neighbouring blocks, or reads neighbouring packs. No padding is needed, and every pack stays aligned. On a
/// host a column of blocks is stored from registers as whole cache lines.
///
/// A matrix whose rows are not whole packs is accessed element by element.
///
/// Example: in = [1 2 3; 4 5 6] -> out = [1 4; 2 5; 3 6].
///
/// Use:  transpose(exec, in, out);
/// or, enqueued many times:  Transpose<Exec, float> transpose(exec, rows, cols);  transpose(exec, in, out);

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include <tessera/collective/matrix_tiles.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/collective/streaming_store.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/kernels/detail/launch/views.hpp>

namespace tessera::kernels {

/// For hosts: the tile of a team, in blocks of pack x pack elements, and how it is stored.
template <ExecutionSpace Exec, class T>
struct TransposeTuning {
  static constexpr int blocks_down = 4;  ///< most per tile: with packs of 16 bytes, one cache line of the output
  /// Most per tile: rows of the input become long streams, which are prefetched. A block of 16-bit elements has
  /// twice the bytes of a block of floats, and a host's scratch is 32 KiB.
  static constexpr int blocks_across = sizeof(T) == 2 ? 32 : 64;
  static constexpr int blocks_in_flight = 1;  ///< per lane
  static constexpr int band = 32;  ///< rows of tiles that are handled together: they write 2 KiB of an output row
  /// True: neighbouring lanes store neighbouring packs. False: a thread stores whole rows, which a compiler vectorizes.
  static constexpr bool by_lanes = false;
};

/// For GPUs.
template <ExecutionSpace Exec, class T>
  requires is_gpu<Exec>
struct TransposeTuning<Exec, T> {
  static constexpr int blocks_down = 32;  ///< 128 x 64 floats: a team writes 512 bytes of each output row
  static constexpr int blocks_across =
      sizeof(T) == 2 ? 8 : 16;                ///< 32 KiB of scratch, so that several teams are resident
  static constexpr int blocks_in_flight = 2;  ///< more loads in flight hide more latency
  static constexpr int band = 128;            ///< 64 KiB: concurrent teams write to few pages of memory
  static constexpr bool by_lanes = true;
};

namespace detail {

template <ExecutionSpace Exec, class T, class Tuning>
struct TransposeKernel {
  using Policy = Kokkos::TeamPolicy<Exec>;
  using Member = typename Policy::member_type;
  static constexpr int pack = collective::pack_width<T>;
  using Pack = collective::Pack<T, pack>;
  using Scratch = ScratchView<Pack*, Exec>;

  T const* in;
  T* out;
  collective::MatrixTiles tiles;
  bool aligned_in;   // every row of the input is aligned and consists of whole packs
  bool aligned_out;  // every row of the output, too
  bool streaming;    // the output bypasses a host's caches

  // Returns tiles of whole blocks. If the matrix is too narrow or too low, a tile has as many blocks in another shape.
  [[nodiscard]] static collective::MatrixTiles cut(std::size_t rows, std::size_t cols) {
    auto const in_blocks = collective::fitted_tiles(tiles_of(rows, pack), tiles_of(cols, pack), Tuning::blocks_down,
                                                    Tuning::blocks_across);
    return {.rows = rows,
            .cols = cols,
            .tile_rows = in_blocks.tile_rows * pack,
            .tile_cols = in_blocks.tile_cols * pack,
            .band = Tuning::band};
  }

  // Returns the number of packs of a tile.
  [[nodiscard]] static KOKKOS_FUNCTION int staged_packs(collective::MatrixTiles const& tiles) {
    return tiles.tile_rows / pack * tiles.tile_cols;
  }

  // Returns the position in scratch of pack `down` of row `row` of the transposed tile; the row belongs to block `row /
  // pack`.
  [[nodiscard]] KOKKOS_FUNCTION static int slot(int row, int down, int blocks_down) {
    return row * blocks_down + (Tuning::by_lanes ? down ^ (row / pack & (blocks_down - 1)) : down);
  }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Scratch const staged(team.team_scratch(0), staged_packs(tiles));
    auto const place = tiles.place(team.league_rank());
    // Both are powers of two.
    int const blocks_across = tiles.tile_cols / pack;
    int const blocks_down = tiles.tile_rows / pack;
    T const* const from = in + place.row * tiles.cols + place.col;
    T* const to = out + place.col * tiles.rows + place.row;
    if constexpr (!Tuning::by_lanes) {
      if (aligned_in && aligned_out && place.row_count == Tuning::blocks_down * pack) {
        turn_lines(team, place, from, to);
        return;
      }
    }
    load(team, place, from, staged.data(), blocks_across, blocks_down);
    team.team_barrier();
    if constexpr (Tuning::by_lanes) {
      store(team, place, staged.data(), to, blocks_down);
    } else {
      store_rows(team, place, staged.data(), to, blocks_down);
    }
    leave_scratch(team);
  }

  KOKKOS_FUNCTION void load(Member const& team, collective::MatrixTiles::Place const& place, T const* from,
                            Pack* staged, int blocks_across, int blocks_down) const {
    int const bits = Kokkos::countr_zero(static_cast<unsigned>(blocks_across));
    // A call handles several blocks, all in flight at once.
    int const count = blocks_across * blocks_down;
    int const together = count < Tuning::blocks_in_flight ? count : Tuning::blocks_in_flight;
    int const calls = count / together;  // powers of two
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, calls), [&](int call) {
      Pack loaded[Tuning::blocks_in_flight][pack] = {};
      for (int b = 0; b < Tuning::blocks_in_flight; ++b) {
        if (b < together) load_block(place, from, call + b * calls, bits, loaded[b]);
      }
      for (int b = 0; b < Tuning::blocks_in_flight; ++b) {
        if (b < together) turn_block(loaded[b], call + b * calls, bits, staged, blocks_down);
      }
    });
  }

  KOKKOS_FUNCTION void load_block(collective::MatrixTiles::Place const& place, T const* from, int block, int bits,
                                  Pack (&loaded)[pack]) const {
    int const row = (block >> bits) * pack;
    int const col = (block & ((1 << bits) - 1)) * pack;
    T const* const corner = from + row * tiles.cols + col;
    if (aligned_in) {
      for (int k = 0; k < pack; ++k) {
        bool const inside = row + k < place.row_count && col < place.col_count;
        if (inside) loaded[k] = collective::pack_at<pack>(corner + k * tiles.cols);
      }
    } else {
      for (int k = 0; k < pack; ++k) {
        for (int e = 0; e < pack; ++e) {
          bool const inside = row + k < place.row_count && col + e < place.col_count;
          if (inside) loaded[k][e] = corner[k * tiles.cols + e];
        }
      }
    }
  }

  KOKKOS_FUNCTION static void turn_block(Pack const (&loaded)[pack], int block, int bits, Pack* staged,
                                         int blocks_down) {
    int const down = block >> bits;
    int const col = (block & ((1 << bits) - 1)) * pack;
    for (int e = 0; e < pack; ++e) {
      Pack turned;
      for (int k = 0; k < pack; ++k) turned[k] = loaded[k][e];
      staged[slot(col + e, down, blocks_down)] = turned;
    }
  }

  // Stores the tile; neighbouring lanes store neighbouring packs of an output row.
  KOKKOS_FUNCTION void store(Member const& team, collective::MatrixTiles::Place const& place, Pack const* staged, T* to,
                             int blocks_down) const {
    int const bits = Kokkos::countr_zero(static_cast<unsigned>(blocks_down));
    if (aligned_out) {
      Kokkos::parallel_for(Kokkos::TeamVectorRange(team, tiles.tile_cols * blocks_down), [&](int i) {
        int const row = i >> bits;
        int const down = i & (blocks_down - 1);
        bool const inside = row < place.col_count && down * pack < place.row_count;
        if (inside) {
          collective::pack_at<pack>(to + row * tiles.rows + down * pack) = staged[slot(row, down, blocks_down)];
        }
      });
    } else {
      Kokkos::parallel_for(Kokkos::TeamVectorRange(team, tiles.tile_cols * tiles.tile_rows), [&](int i) {
        int const row = i / pack >> bits;
        int const e = i & (tiles.tile_rows - 1);
        bool const inside = row < place.col_count && e < place.row_count;
        if (inside) to[row * tiles.rows + e] = staged[slot(row, e / pack, blocks_down)][e % pack];
      });
    }
  }

  // Transposes a column of Tuning::blocks_down blocks in registers, which is stored as whole cache lines of the output.
  // If rows map to the same set of the first-level cache, a line of the input is read at once; read in parts, it would
  // be evicted before its next part.
  KOKKOS_FUNCTION void turn_lines(Member const& team, collective::MatrixTiles::Place const& place, T const* from,
                                  T* to) const {
    constexpr int line = Tuning::blocks_down;  // packs of a cache line
    int const packs = place.col_count / pack;
    bool const by_lines = tiles.cols * sizeof(T) % 4096 == 0;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, (packs + line - 1) / line), [&](int number) {
      int const first = number * line;
      if (by_lines && packs - first >= line) {
        turn_packs<line>(from + first * pack, to + first * pack * tiles.rows);
      } else {
        int const end = packs - first < line ? packs : first + line;
        for (int p = first; p < end; ++p) turn_packs<1>(from + p * pack, to + p * pack * tiles.rows);
      }
    });
    if (streaming) collective::streaming_fence();
  }

  // Transposes `packs` packs of each of blocks_down * pack rows.
  template <int packs>
  KOKKOS_FUNCTION void turn_packs(T const* from, T* to) const {
    constexpr int line = Tuning::blocks_down;
    Pack loaded[line * pack][packs];
    for (int row = 0; row < line * pack; ++row) {
      for (int p = 0; p < packs; ++p) loaded[row][p] = collective::pack_at<pack>(from + row * tiles.cols + p * pack);
    }
    for (int p = 0; p < packs; ++p) {
      Pack turned[pack][line];
      for (int down = 0; down < line; ++down) {
        for (int e = 0; e < pack; ++e) {
          for (int k = 0; k < pack; ++k) turned[e][down][k] = loaded[down * pack + k][p][e];
        }
      }
      for (int e = 0; e < pack; ++e) {
        T* const to_row = to + (p * pack + e) * tiles.rows;
        for (int down = 0; down < line; ++down) {
          if (streaming) {
            collective::streaming_store(to_row + down * pack, turned[e][down]);
          } else {
            collective::pack_at<pack>(to_row + down * pack) = turned[e][down];
          }
        }
      }
    }
  }

  // Stores the tile, one output row after the other.
  KOKKOS_FUNCTION void store_rows(Member const& team, collective::MatrixTiles::Place const& place, Pack const* staged,
                                  T* to, int blocks_down) const {
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, place.col_count), [&](int row) {
      T* const to_row = to + row * tiles.rows;
      Pack const* const packs = staged + row * blocks_down;
      if (streaming && aligned_out) {
        for (int i = 0; i * pack < place.row_count; ++i) collective::streaming_store(to_row + i * pack, packs[i]);
      } else {
        auto const* const elements = reinterpret_cast<T const*>(packs);
        for (int e = 0; e < place.row_count; ++e) to_row[e] = elements[e];
      }
    });
    if (streaming) collective::streaming_fence();
  }
};

}  // namespace detail

/// out(c, r) = in(r, c) for `in` [rows, cols] and `out` [cols, rows].
///
/// Construct it once: chooses tiles and teams, allocates nothing. A call only enqueues one launch, or none if the
/// matrix is empty; calls may run concurrently.
template <ExecutionSpace Exec, class T, class Tuning = TransposeTuning<Exec, T>>
class Transpose {
  using Kernel = detail::TransposeKernel<Exec, T, Tuning>;

 public:
  /// \param rows, cols extents of the input
  /// \param team threads per team; 0: choose. Throws Skip if the space cannot provide them.
  /// \param label kernel name that Kokkos Tools reports
  Transpose(Exec const& exec, std::size_t rows, std::size_t cols, std::int64_t team = 0,
            std::string label = "tessera::transpose")
      : label_(std::move(label)),
        tiles_(Kernel::cut(rows, cols)),
        threads_(team_size(exec, team)),
        league_(league_of(tiles_.count())) {}

  /// Enqueues. `in` and `out` must be contiguous and row-major and must not overlap. Throws std::invalid_argument for
  /// other extents or strides.
  template <Readable<Exec, T, 2> In, Writable<Exec, T, 2> Out>
  void operator()(Exec const& exec, In const& in, Out const& out) const {
    require_apart(out, in);
    T const* const from = row_major(in, tiles_.rows, tiles_.cols);
    T* const to = row_major(out, tiles_.cols, tiles_.rows);
    if (league_ == 0) return;
    constexpr int pack = Kernel::pack;
    Kernel const kernel{.in = from,
                        .out = to,
                        .tiles = tiles_,
                        .aligned_in = tiles_.cols % pack == 0 && collective::is_aligned_for_packs<pack>(from),
                        .aligned_out = tiles_.rows % pack == 0 && collective::is_aligned_for_packs<pack>(to),
                        .streaming = collective::streams<Exec>(tiles_.rows * tiles_.cols * sizeof(T))};
    typename Kernel::Policy policy(exec, league_, threads_);
    policy = with_scratch(policy, Kernel::Scratch::shmem_size(Kernel::staged_packs(tiles_)));
    Kokkos::parallel_for(label_, policy, kernel);
  }

 private:
  std::string label_;
  collective::MatrixTiles tiles_;
  int threads_;
  int league_;
};

/// out(c, r) = in(r, c). `in` [n, m], `out` [m, n], row-major, not overlapping. Convenience for a single call: enqueues
/// and waits.
template <ExecutionSpace Exec, class In, class Out>
void transpose(Exec const& exec, In const& in, Out const& out) {
  Transpose<Exec, typename In::non_const_value_type>(exec, in.extent(0), in.extent(1))(exec, in, out);
  exec.fence("tessera: transpose");
}

}  // namespace tessera::kernels
