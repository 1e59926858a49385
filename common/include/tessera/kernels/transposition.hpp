#pragma once
/// \file
/// A matrix transposed: tiles that are turned in registers, block by block, on their way through a team's scratch.
///
/// On a GPU the packs of a row of the tile are permuted in scratch (pack p of a row of block b lies at p xor b), so
/// that a quarter of a warp, which scratch serves at once, never meets in one bank: neither when it writes the same
/// pack of neighbouring blocks, nor when it reads neighbouring packs. No padding, and every pack stays aligned.

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

#include <tessera/collective/matrix_tiles.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/collective/streaming_store.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/kernels/team_shape.hpp>

namespace tessera::kernels {

/// The kernel of one team and tile; its policy needs scratch for `blocks * pack` packs.
template <ExecutionSpace Exec, class T>
struct TurnedTiles {
  using Policy = Kokkos::TeamPolicy<Exec>;
  using Member = typename Policy::member_type;
  static constexpr int pack = collective::pack_width<T>;
  using Pack = collective::Pack<T, pack>;
  using Scratch = Kokkos::View<Pack*, typename Exec::scratch_memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  // Blocks of pack x pack elements that a tile has, in each direction. A host reads its rows as long streams, which it
  // fetches ahead, and writes single cache lines of the output.
  static constexpr int most_down = is_gpu<Exec> ? 16 : 4;
  static constexpr int most_across = is_gpu<Exec> ? 16 : 64;
  static constexpr int blocks = most_down * most_across;
  // Blocks that a lane has under way.
  static constexpr int most_together = is_gpu<Exec> ? 2 : 1;
  // Rows of tiles that go together, and write whole stretches of the output's rows: 2 KiB each.
  static constexpr int band = is_gpu<Exec> ? 8 : 32;

  T const* a;
  T* out;
  collective::MatrixTiles tiles;
  bool aligned_in;   // every row of the input begins with a whole pack, and is whole packs
  bool aligned_out;  // as is every row of the output
  bool streaming;    // the output does not stay in a host's caches

  /// Tiles of whole blocks: as many of them in another shape where the matrix is too narrow for a square.
  [[nodiscard]] static collective::MatrixTiles tiles_of(std::size_t rows, std::size_t cols) {
    auto const in_blocks =
        collective::fitted_tiles(tessera::tiles_of(rows, pack), tessera::tiles_of(cols, pack), most_down, most_across);
    return {.rows = rows,
            .cols = cols,
            .tile_rows = in_blocks.tile_rows * pack,
            .tile_cols = in_blocks.tile_cols * pack,
            .band = band};
  }

  // Where pack `down` of row `row` of the turned tile lies in scratch; the row belongs to block `row / pack`.
  [[nodiscard]] KOKKOS_FUNCTION static int slot(int row, int down, int blocks_down) {
    return row * blocks_down + (is_gpu<Exec> ? down ^ (row / pack & (blocks_down - 1)) : down);
  }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Scratch const staged(team.team_scratch(0), blocks * pack);
    auto const place = tiles.place(team.league_rank());
    // Both are powers of two.
    int const blocks_across = tiles.tile_cols / pack;
    int const blocks_down = tiles.tile_rows / pack;
    T const* const from = a + place.row * tiles.cols + place.col;
    T* const to = out + place.col * tiles.rows + place.row;
    if constexpr (!is_gpu<Exec>) {
      if (aligned_in && aligned_out && blocks_down == most_down && place.row_count == most_down * pack) {
        turn_lines(team, place, from, to);
        return;
      }
    }
    load(team, place, from, staged.data(), blocks_across, blocks_down);
    team.team_barrier();
    if constexpr (is_gpu<Exec>) {
      store(team, place, staged.data(), to, blocks_down);
    } else {
      store_rows(team, place, staged.data(), to, blocks_down);
    }
    team.team_barrier();  // hosts go on with the next tile in the same scratch
  }

  KOKKOS_FUNCTION void load(Member const& team, collective::MatrixTiles::Place const& place, T const* from,
                            Pack* staged, int blocks_across, int blocks_down) const {
    int const bits = Kokkos::countr_zero(static_cast<unsigned>(blocks_across));
    // Blocks of one call, all of which are under way at once.
    int const count = blocks_across * blocks_down;
    int const together = count < most_together ? count : most_together;
    int const calls = count / together;  // powers of two
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, calls), [&](int call) {
      Pack loaded[most_together][pack] = {};
      for (int b = 0; b < most_together; ++b) {
        if (b < together) load_block(place, from, call + b * calls, bits, loaded[b]);
      }
      for (int b = 0; b < most_together; ++b) {
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

  // Neighbouring lanes store neighbours in a row of the output, whichever row that is.
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

  // A whole tile of a host: a column of blocks is turned in registers, and leaves as whole cache lines of the output.
  KOKKOS_FUNCTION void turn_lines(Member const& team, collective::MatrixTiles::Place const& place, T const* from,
                                  T* to) const {
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, place.col_count / pack), [&](int across) {
      T const* const corner = from + across * pack;
      Pack turned[pack][most_down];
      for (int down = 0; down < most_down; ++down) {
        Pack loaded[pack];
        for (int k = 0; k < pack; ++k) loaded[k] = collective::pack_at<pack>(corner + (down * pack + k) * tiles.cols);
        for (int e = 0; e < pack; ++e) {
          for (int k = 0; k < pack; ++k) turned[e][down][k] = loaded[k][e];
        }
      }
      for (int e = 0; e < pack; ++e) {
        T* const to_row = to + (across * pack + e) * tiles.rows;
        for (int down = 0; down < most_down; ++down) {
          if (streaming) {
            collective::streaming_store(to_row + down * pack, turned[e][down]);
          } else {
            collective::pack_at<pack>(to_row + down * pack) = turned[e][down];
          }
        }
      }
    });
    if (streaming) collective::streaming_fence();
  }

  // A row of the output after the other, in loops that a host's compiler makes vectors of.
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

/// out[c, r] = a[r, c] for row-major a [rows, cols], out [cols, rows], which do not overlap. One launch; none if there
/// is nothing to move. Who calls: the host; the call only enqueues. Scratch: the teams' own.
///
/// Example: a = [1 2 3; 4 5 6] -> out = [1 4; 2 5; 3 6].
template <ExecutionSpace Exec, class T>
class Transposition {
 public:
  /// \param team threads of a team (0: choose). Throws Skip if it cannot be so.
  Transposition(Exec const& exec, std::size_t rows, std::size_t cols, std::int64_t team = 0)
      : tiles_(Kernel::tiles_of(rows, cols)), threads_(team_size(exec, team)), league_(tiles_.league_size()) {}

  void operator()(std::string const& label, Exec const& exec, T const* a, T* out) const {
    if (league_ == 0) return;
    constexpr int pack = Kernel::pack;
    Kernel const kernel{.a = a,
                        .out = out,
                        .tiles = tiles_,
                        .aligned_in = tiles_.cols % pack == 0 && collective::is_aligned_for_packs<pack>(a),
                        .aligned_out = tiles_.rows % pack == 0 && collective::is_aligned_for_packs<pack>(out),
                        .streaming = collective::streams<Exec>(tiles_.rows * tiles_.cols * sizeof(T))};
    typename Kernel::Policy policy(exec, league_, threads_);
    policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(Kernel::Scratch::shmem_size(Kernel::blocks * pack))));
    Kokkos::parallel_for(label, policy, kernel);
  }

 private:
  using Kernel = TurnedTiles<Exec, T>;

  collective::MatrixTiles tiles_;
  int threads_;
  int league_;
};

}  // namespace tessera::kernels
