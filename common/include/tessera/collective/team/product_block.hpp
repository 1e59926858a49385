#pragma once
/// \file
/// One team's block of a matrix product on a GPU: sums in registers, factors through scratch.
///
/// A lane sums `lane_rows` x `lane_cols` elements of the block, in pieces of one pack (16 bytes) a side that lie as far
/// apart as the lanes of a warp reach: then a warp's reads of scratch are few, wide and without bank conflicts. Steps of
/// `depth` along k: what the next step needs is loaded from memory to registers before the multiply-adds of this one,
/// and put into the other half of the scratch after them, so that a step has one barrier. a stands transposed in
/// scratch: a lane reads its rows of one k with 16-byte accesses.
///
/// Sources: the hierarchy of blocks, warps and lanes of NVIDIA CUTLASS (efficient GEMM); S. Gray, maxas, for the order
/// of the lanes.

#include <Kokkos_Core.hpp>

#include <cstddef>

#include <tessera/collective/device/matrix_tiles.hpp>
#include <tessera/collective/pack.hpp>

namespace tessera::team {

/// Extents of a block, of its steps along k, and of a lane's share; teams that are to share a multiprocessor, which
/// bounds a lane's registers (65536 / lanes / teams).
template <int Rows, int Cols, int Depth, int LaneRows, int LaneCols, int Teams>
struct BlockShape {
  static constexpr int rows = Rows;
  static constexpr int cols = Cols;
  static constexpr int depth = Depth;
  static constexpr int lane_rows = LaneRows;
  static constexpr int lane_cols = LaneCols;
  static constexpr int teams = Teams;
  static constexpr int lanes = (Rows / LaneRows) * (Cols / LaneCols);
};

/// c = a b for row-major a [m, k], b [k, n], c [m, n], one team a block; a functor for teams of `Shape::lanes` threads
/// with vector length 1. No extent need be a multiple of anything.
///
/// Width: elements of an access to memory. Above 1 it divides k and n, and a, b and c are aligned for it.
/// Scratch level 0: scratch_bytes(). Barriers: one before the first step, one after each but the last.
/// What lies past the end of k is zero in both factors and adds nothing; sums past the end of m or n are not stored.
template <class Exec, class T, class Shape, int Width>
class ProductBlock {
 public:
  using Policy = Kokkos::TeamPolicy<Exec, Kokkos::LaunchBounds<Shape::lanes, Shape::teams>>;
  using Member = typename Policy::member_type;

  ProductBlock(T const* a, T const* b, T* c, std::size_t m, std::size_t n, std::size_t k)
      : a_(a), b_(b), c_(c), k_(k), tiles_{.rows = m, .cols = n, .tile_rows = Shape::rows, .tile_cols = Shape::cols} {}

  [[nodiscard]] static std::size_t scratch_bytes() { return Scratch::shmem_size(2 * half / pack); }
  [[nodiscard]] int league_size() const { return tiles_.league_size(); }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Scratch const scratch(team.team_scratch(0), 2 * half / pack);
    T* const halves = reinterpret_cast<T*>(scratch.data());
    auto const block = tiles_.place(team.league_rank());
    Lane const lane(team.team_rank());
    // What this lane loads first; both move on along k.
    T const* a = a_ + (block.row + lane.a_row) * k_ + lane.a_k;
    T const* b = b_ + lane.b_k * tiles_.cols + block.col + lane.b_col;
    int const rows_left = block.row_count - lane.a_row;
    int const cols_left = block.col_count - lane.b_col;
    Next next;
    T sums[Shape::lane_rows][Shape::lane_cols] = {};
    std::size_t left = k_;
    int at = 0;  // the half of the scratch that is multiplied
    fetch(lane, rows_left, cols_left, a, b, left, next);
    put(lane, next, halves);
    team.team_barrier();
    while (left > Shape::depth) {
      left -= Shape::depth;
      a += Shape::depth;
      b += Shape::depth * tiles_.cols;
      fetch(lane, rows_left, cols_left, a, b, left, next);
      multiply(lane, halves + at, sums);
      at = half - at;
      put(lane, next, halves + at);
      team.team_barrier();
    }
    multiply(lane, halves + at, sums);
    store(lane, block, sums);
  }

 private:
  static constexpr int pack = collective::pack_width<T>;
  using Pack = collective::Pack<T, pack>;
  using Access = collective::Pack<T, Width>;
  using Scratch = Kokkos::View<Pack*, typename Exec::scratch_memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

  // A row of the transposed a, one pack longer than the block: the lanes that put a down meet in no bank.
  static constexpr int a_stride = Shape::rows + pack;
  static constexpr int a_size = Shape::depth * a_stride;
  static constexpr int half = a_size + Shape::depth * Shape::cols;

  // A warp's lanes stand 4 x 8, in the order (row / 2, col, row % 2).
  static constexpr int warp_rows = 4 * Shape::lane_rows;
  static constexpr int warp_cols = 8 * Shape::lane_cols;
  static constexpr int warps_across = Shape::cols / warp_cols;

  // Accesses of one lane to load a step's a and b; each round of them covers so many rows.
  static constexpr int a_across = Shape::depth / Width;
  static constexpr int b_across = Shape::cols / Width;
  static constexpr int a_loads = Shape::rows * a_across / Shape::lanes;
  static constexpr int b_loads = Shape::depth * b_across / Shape::lanes;
  static constexpr int a_round = Shape::lanes / a_across;
  static constexpr int b_round = Shape::lanes / b_across;
  static_assert(Shape::rows % warp_rows == 0 && Shape::cols % warp_cols == 0 && Shape::lane_rows % pack == 0 &&
                    Shape::lane_cols % pack == 0,
                "Tessera: a block is whole warps, a lane's share whole packs");
  static_assert(a_loads * a_round == Shape::rows && b_loads * b_round == Shape::depth,
                "Tessera: every lane loads as much as the others");

  // What the next step needs, on its way.
  struct Next {
    Access a[a_loads];
    Access b[b_loads];
  };

  // Places in a block.
  struct Lane {
    int a_row, a_k;  // of a: what it loads first
    int b_k, b_col;  // of b
    int row, col;    // of its first sums

    KOKKOS_FUNCTION explicit Lane(int rank)
        : a_row(rank / a_across), a_k(rank % a_across * Width), b_k(rank / b_across), b_col(rank % b_across * Width) {
      int const warp = rank / 32;
      int const in_warp = rank % 32;
      row = warp / warps_across * warp_rows + (in_warp / 16 * 2 + in_warp % 2) * pack;
      col = warp % warps_across * warp_cols + in_warp / 2 % 8 * pack;
    }
    // Of sum i of its rows, and j of its columns.
    KOKKOS_FUNCTION int row_of(int i) const { return row + i / pack * (4 * pack) + i % pack; }
    KOKKOS_FUNCTION int col_of(int j) const { return col + j / pack * (8 * pack) + j % pack; }
  };

  // \param left how many k there are yet
  KOKKOS_FUNCTION void fetch(Lane const& lane, int rows_left, int cols_left, T const* a, T const* b, std::size_t left,
                             Next& next) const {
    int const depth = left < Shape::depth ? static_cast<int>(left) : Shape::depth;
    for (int i = 0; i < a_loads; ++i) {
      bool const inside = i * a_round < rows_left && lane.a_k < depth;
      next.a[i] = inside ? collective::pack_at<Width>(a + i * a_round * k_) : Access{};
    }
    for (int i = 0; i < b_loads; ++i) {
      bool const inside = lane.b_k + i * b_round < depth && cols_left > 0;
      next.b[i] = inside ? collective::pack_at<Width>(b + i * b_round * tiles_.cols) : Access{};
    }
  }

  KOKKOS_FUNCTION static void put(Lane const& lane, Next const& next, T* a) {
    T* const b = a + a_size;
    for (int i = 0; i < a_loads; ++i) {
      for (int e = 0; e < Width; ++e) a[(lane.a_k + e) * a_stride + lane.a_row + i * a_round] = next.a[i][e];
    }
    for (int i = 0; i < b_loads; ++i) {
      collective::pack_at<Width>(b + (lane.b_k + i * b_round) * Shape::cols + lane.b_col) = next.b[i];
    }
  }

  KOKKOS_FUNCTION static void multiply(Lane const& lane, T const* a, T (&sums)[Shape::lane_rows][Shape::lane_cols]) {
    T const* const b = a + a_size;
    // All of it: the reads of one k run ahead of the multiply-adds of another.
#ifdef KOKKOS_ENABLE_PRAGMA_UNROLL
#pragma unroll
#endif
    for (int k = 0; k < Shape::depth; ++k) {
      T of_a[Shape::lane_rows];
      T of_b[Shape::lane_cols];
      for (int i = 0; i < Shape::lane_rows; i += pack) {
        Pack const values = collective::pack_at<pack>(a + k * a_stride + lane.row_of(i));
        for (int e = 0; e < pack; ++e) of_a[i + e] = values[e];
      }
      for (int j = 0; j < Shape::lane_cols; j += pack) {
        Pack const values = collective::pack_at<pack>(b + k * Shape::cols + lane.col_of(j));
        for (int e = 0; e < pack; ++e) of_b[j + e] = values[e];
      }
      for (int i = 0; i < Shape::lane_rows; ++i) {
        for (int j = 0; j < Shape::lane_cols; ++j) sums[i][j] += of_a[i] * of_b[j];
      }
    }
  }

  KOKKOS_FUNCTION void store(Lane const& lane, device::MatrixTiles::Place const& block,
                             T const (&sums)[Shape::lane_rows][Shape::lane_cols]) const {
    for (int i = 0; i < Shape::lane_rows; ++i) {
      if (lane.row_of(i) >= block.row_count) continue;
      T* const c = c_ + (block.row + lane.row_of(i)) * tiles_.cols + block.col;
      for (int j = 0; j < Shape::lane_cols; j += Width) {
        if (lane.col_of(j) >= block.col_count) continue;
        Access values;
        for (int e = 0; e < Width; ++e) values[e] = sums[i][j + e];
        collective::pack_at<Width>(c + lane.col_of(j)) = values;
      }
    }
  }

  T const* a_;
  T const* b_;
  T* c_;
  std::size_t k_;
  device::MatrixTiles tiles_;
};

}  // namespace tessera::team
