#pragma once
/// \file
/// Gemm's kernel for GPUs (kernels/gemm.hpp), one team per tile of the product: sums in registers, factors through
/// scratch.
///
/// A lane sums `lane_rows` x `lane_cols` elements of the tile, in squares with sides of one pack (16 bytes). The
/// squares of the other lanes of its warp are between two squares of a lane, so that a warp's reads of scratch are few,
/// wide and without bank conflicts. A team goes along k in steps of `depth`. It loads the elements of the next step
/// from memory to registers before the multiply-adds of this step, and writes them to the other half of the scratch
/// after them, so that a step has only one barrier. For each k, scratch holds the tile's rows of a and its columns of b
/// side by side, for any layout in memory: a lane reads its rows and columns of one k with 16-byte accesses.
///
/// Sources: the hierarchy of blocks, warps and lanes of NVIDIA CUTLASS (efficient GEMM); S. Gray, maxas, for the order
/// of the lanes.

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>

#include <tessera/collective/matrix_tiles.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/kernels/detail/gemm/product_of_tiles.hpp>
#include <tessera/kernels/detail/launch/chunks.hpp>
#include <tessera/kernels/product_form.hpp>

namespace tessera::kernels {

/// The extents of a tile, of its steps along k, and of a lane's part. Teams: intended number of resident teams per
/// multiprocessor, which limits a lane's registers (65536 / lanes / teams).
template <int Rows, int Cols, int Depth, int LaneRows, int LaneCols, int Teams>
struct TileShape {
  static constexpr int rows = Rows;
  static constexpr int cols = Cols;
  static constexpr int depth = Depth;
  static constexpr int lane_rows = LaneRows;
  static constexpr int lane_cols = LaneCols;
  static constexpr int teams = Teams;
  static constexpr int lanes = (Rows / LaneRows) * (Cols / LaneCols);
};

namespace detail {

/// How a team's lanes copy `Outer` x `Depth` elements of an operand for one step along k. The rows of a, or the columns
/// of b, are its outer extent. AlongK: neighbours in memory are neighbours along k.
template <int Outer, int Depth, int Lanes, int Width, int ScratchPack, bool AlongK>
struct OperandTile {
  // A round is one access per lane. It covers `round` outer indices (AlongK) or steps of k.
  static constexpr int across = (AlongK ? Depth : Outer) / Width;
  static constexpr int loads = Outer * Depth / Width / Lanes;
  static constexpr int round = Lanes / across;
  // In scratch k is the slow index. An operand that is transposed during the copy has rows one pack longer than the
  // tile, so that lanes that store at the same time have no bank conflicts.
  static constexpr int stride = Outer + (AlongK ? ScratchPack : 0);
  static constexpr int size = Depth * stride;
  static_assert(loads * round == (AlongK ? Outer : Depth), "Tessera: every lane loads as much as the others");

  // Position of the element that the lane loads first.
  int outer;
  int k;

  KOKKOS_FUNCTION explicit OperandTile(int rank)
      : outer(AlongK ? rank / across : rank % across * Width), k(AlongK ? rank % across * Width : rank / across) {}

  /// Returns the offset of this element in memory.
  ///
  /// \param leading distance in elements between two stored rows
  [[nodiscard]] KOKKOS_FUNCTION std::size_t offset(std::size_t first_outer, std::size_t first_k,
                                                   std::size_t leading) const {
    return AlongK ? (first_outer + outer) * leading + first_k + k : (first_k + k) * leading + first_outer + outer;
  }
  /// Returns the distance between the first elements of two steps.
  [[nodiscard]] KOKKOS_FUNCTION static std::size_t step(std::size_t leading) {
    return AlongK ? Depth : Depth * leading;
  }

  /// \param outer_left, k_left number of outer indices and steps of k, counted from this lane's first
  template <class T, class Access>
  KOKKOS_FUNCTION static void fetch(T const* from, std::size_t leading, int outer_left, int k_left,
                                    Access (&next)[loads]) {
    for (int i = 0; i < loads; ++i) {
      bool const inside = AlongK ? i * round < outer_left && k_left > 0 : i * round < k_left && outer_left > 0;
      next[i] = inside ? collective::pack_at<Width>(from + i * round * leading) : Access{};
    }
  }

  template <class T, class Access>
  KOKKOS_FUNCTION void put(Access const (&next)[loads], T* scratch) const {
    for (int i = 0; i < loads; ++i) {
      if constexpr (AlongK) {
        for (int e = 0; e < Width; ++e) scratch[(k + e) * stride + outer + i * round] = next[i][e];
      } else {
        collective::pack_at<Width>(scratch + (k + i * round) * stride + outer) = next[i];
      }
    }
  }
};

/// A lane's sums in a tile: their position, and how they are stored. A warp's lanes form a 4 x 8 rectangle in the order
/// (row / 2, col, row % 2). A lane has squares with sides of one pack; the squares of the other lanes are between them.
template <class T, class Shape>
struct TileLane {
  static constexpr int pack = collective::pack_width<T>;
  static constexpr int warp_rows = 4 * Shape::lane_rows;
  static constexpr int warp_cols = 8 * Shape::lane_cols;
  static constexpr int warps_across = Shape::cols / warp_cols;
  static_assert(Shape::rows % warp_rows == 0 && Shape::cols % warp_cols == 0 && Shape::lane_rows % pack == 0 &&
                    Shape::lane_cols % pack == 0,
                "Tessera: a tile is whole warps, a lane's part whole packs");

  int row, col;  // of its first sum

  KOKKOS_FUNCTION explicit TileLane(int rank) {
    int const warp = rank / 32;
    int const in_warp = rank % 32;
    row = warp / warps_across * warp_rows + (in_warp / 16 * 2 + in_warp % 2) * pack;
    col = warp % warps_across * warp_cols + in_warp / 2 % 8 * pack;
  }
  // Row of its i-th sums, and column of its j-th sums.
  KOKKOS_FUNCTION int row_of(int i) const { return row + i / pack * (4 * pack) + i % pack; }
  KOKKOS_FUNCTION int col_of(int j) const { return col + j / pack * (8 * pack) + j % pack; }

  /// Stores the sums that are inside the matrix c, whose rows have `cols` elements, Width at a time.
  ///
  /// \param one the number 1, which the compiler must not know (see the comment in the code)
  template <int Width, class Store>
  KOKKOS_FUNCTION void store(collective::MatrixTiles::Place const& tile, Store const& form, T* c, std::size_t cols,
                             T const (&sums)[Shape::lane_rows][Shape::lane_cols], [[maybe_unused]] T one) const {
    T of_col[Shape::lane_cols] = {};
    if constexpr (Store::changes) {
      for (int j = 0; j < Shape::lane_cols; ++j) {
        if (col_of(j) < tile.col_count) of_col[j] = form.of_column(tile.col + col_of(j));
      }
    }
    for (int i = 0; i < Shape::lane_rows; ++i) {
      if (row_of(i) >= tile.row_count) continue;
      T* const of_row = c + (tile.row + row_of(i)) * cols + tile.col;
      for (int j = 0; j < Shape::lane_cols; j += Width) {
        if (col_of(j) >= tile.col_count) continue;
        collective::Pack<T, Width> values;
        if constexpr (Store::adds) values = collective::pack_at<Width>(of_row + col_of(j));
        for (int e = 0; e < Width; ++e) {
          if constexpr (Store::adds) {
            values[e] += sums[i][j + e];
          } else if constexpr (Store::changes) {
            values[e] = form.finished(sums[i][j + e], of_col[j + e]);
            if constexpr (TakesElements<Store>) {
              values[e] += form.of_element(static_cast<std::size_t>(of_row - c) + col_of(j) + e);
            }
          } else {
            // Values that one access stores must be in neighbouring registers, and so must factors of b that one access
            // loaded. If the sums themselves were stored, each sum and its factor of b would be in the same register
            // bank: NVIDIA GPUs have two banks, and a multiply-add then waits. Therefore a copy of the sum is stored,
            // made by the product with 1. With it, tiles of 128 x 256 reach 50.6 instead of 44.5 TFLOP/s on an H200.
            values[e] = sums[i][j + e] * one;
          }
        }
        collective::pack_at<Width>(of_row + col_of(j)) = values;
      }
    }
  }
};

/// c = a b for row-major c [m, n], one team per tile; a functor for teams of `Shape::lanes` threads with vector length
/// 1. Extents may have any value. The form says how a and b are stored, and how elements and sums change. If k is
/// split, c is the first of `count` contiguous matrices [m, n], and the sums of part p go to matrix p.
///
/// Width: elements per access to memory. If it is above 1, n and the contiguous extents of a and b must be multiples of
/// it, and a, b and c must be aligned for it.
///
/// Scratch level 0: scratch_bytes(). Barriers: one before the first step, one after each step but the last. Factors
/// past the end of k are zero and add nothing; sums past the end of m or n are not stored.
template <class Exec, class T, class Shape, int Width, class Form = PlainProduct>
class ProductTile : public ProductOfTiles<T, Form> {
  using Base = ProductOfTiles<T, Form>;

 public:
  using Policy = Kokkos::TeamPolicy<Exec, Kokkos::LaunchBounds<Shape::lanes, Shape::teams>>;
  using Member = typename Policy::member_type;

  ProductTile(T const* a, T const* b, T* c, std::size_t m, std::size_t n, Chunks const& k, Form const& form = {})
      : Base(a, b, c, k, {.rows = m, .cols = n, .tile_rows = Shape::rows, .tile_cols = Shape::cols}, form) {}

  [[nodiscard]] static std::size_t scratch_bytes() { return Scratch::shmem_size(2 * half / pack); }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Scratch const scratch(team.team_scratch(0), 2 * half / pack);
    T* const halves = reinterpret_cast<T*>(scratch.data());
    auto const tiles = static_cast<std::uint32_t>(tiles_.across() * tiles_.down());
    auto const part = static_cast<std::uint32_t>(team.league_rank()) / tiles;
    auto const tile = tiles_.place(static_cast<std::uint32_t>(team.league_rank()) - part * tiles);
    Lane const lane(team.team_rank());
    // The position that this lane loads first; both pointers advance along k.
    std::size_t k = k_.begin(static_cast<int>(part));
    std::size_t left = k_.end(static_cast<int>(part)) - k;
    std::size_t const leading_a = Form::a_transposed ? tiles_.rows : k_.n;
    std::size_t const leading_b = Form::b_transposed ? k_.n : tiles_.cols;
    T const* a = a_ + lane.a.offset(tile.row, k, leading_a);
    T const* b = b_ + lane.b.offset(tile.col, k, leading_b);
    int const rows_left = tile.row_count - lane.a.outer;
    int const cols_left = tile.col_count - lane.b.outer;
    Row rows[OfA::loads];
    read_rows(tile.row + lane.a.outer, rows_left, rows);
    Next next;
    T sums[Shape::lane_rows][Shape::lane_cols] = {};
    int at = 0;  // the half of the scratch that is multiplied
    OfA::fetch(a, leading_a, rows_left, depth_of(left) - lane.a.k, next.a);
    OfB::fetch(b, leading_b, cols_left, depth_of(left) - lane.b.k, next.b);
    change(lane, rows, k, left, next);
    put(lane, next, halves);
    team.team_barrier();
    while (left > Shape::depth) {
      left -= Shape::depth;
      k += Shape::depth;
      a += OfA::step(leading_a);
      b += OfB::step(leading_b);
      OfA::fetch(a, leading_a, rows_left, depth_of(left) - lane.a.k, next.a);
      OfB::fetch(b, leading_b, cols_left, depth_of(left) - lane.b.k, next.b);
      multiply(lane, halves + at, sums);
      at = half - at;
      change(lane, rows, k, left, next);
      put(lane, next, halves + at);
      team.team_barrier();
    }
    multiply(lane, halves + at, sums);
    lane.template store<Width>(tile, form_.store, c_ + part * tiles_.rows * tiles_.cols, tiles_.cols, sums, one_);
  }

 private:
  static constexpr int pack = collective::pack_width<T>;
  using Pack = collective::Pack<T, pack>;
  using Access = collective::Pack<T, Width>;
  using Scratch = ScratchView<Pack*, Exec>;
  using Load = typename Form::Load;
  using Store = typename Form::Store;
  using Row = typename Load::Row;

  using OfA = OperandTile<Shape::rows, Shape::depth, Shape::lanes, Width, pack, !Form::a_transposed>;
  using OfB = OperandTile<Shape::cols, Shape::depth, Shape::lanes, Width, pack, Form::b_transposed>;
  static constexpr int half = OfA::size + OfB::size;

  // The next step's elements, in flight from memory.
  struct Next {
    Access a[OfA::loads];
    Access b[OfB::loads];
  };

  // Positions in a tile: of the elements that the lane loads, and of its sums.
  struct Lane : TileLane<T, Shape> {
    OfA a;
    OfB b;

    KOKKOS_FUNCTION explicit Lane(int rank) : TileLane<T, Shape>(rank), a(rank), b(rank) {}
  };

  // Returns the length of the team's next step along k.
  KOKKOS_FUNCTION static int depth_of(std::size_t left) {
    return left < Shape::depth ? static_cast<int>(left) : Shape::depth;
  }

  // Reads the data that the form keeps for the rows that this lane loads.
  KOKKOS_FUNCTION void read_rows([[maybe_unused]] std::size_t first, [[maybe_unused]] int rows_left,
                                 [[maybe_unused]] Row (&rows)[OfA::loads]) const {
    if constexpr (Load::changes) {
      for (int i = 0; i < OfA::loads; ++i) {
        rows[i] = i * OfA::round < rows_left ? form_.load.row(first + i * OfA::round) : Row{};
      }
    }
  }

  // Changes only elements inside k: past its end b is zero, and a must stay finite for the product to be zero, too.
  // Called as late as possible, so that the loads from memory overlap with a step's multiply-adds.
  KOKKOS_FUNCTION void change([[maybe_unused]] Lane const& lane, [[maybe_unused]] Row const (&rows)[OfA::loads],
                              [[maybe_unused]] std::size_t k, [[maybe_unused]] std::size_t left,
                              [[maybe_unused]] Next& next) const {
    if constexpr (Load::changes) {
      if (static_cast<std::size_t>(lane.a.k) < left) {
        for (int i = 0; i < OfA::loads; ++i) form_.load.change(rows[i], k + lane.a.k, next.a[i]);
      }
    }
  }

  KOKKOS_FUNCTION static void put(Lane const& lane, Next const& next, T* to) {
    lane.a.put(next.a, to);
    lane.b.put(next.b, to + OfA::size);
  }

  KOKKOS_FUNCTION static void multiply(Lane const& lane, T const* a, T (&sums)[Shape::lane_rows][Shape::lane_cols]) {
    T const* const b = a + OfA::size;
    // Fully unrolled, so that the reads of one k overlap with the multiply-adds of another. Only by four on AMD GPUs:
    // fully unrolled, registers spill.
#if defined(__HIP_DEVICE_COMPILE__)
#pragma unroll 4
#elif defined(KOKKOS_ENABLE_PRAGMA_UNROLL)
#pragma unroll
#endif
    for (int k = 0; k < Shape::depth; ++k) {
      T of_a[Shape::lane_rows];
      T of_b[Shape::lane_cols];
      for (int i = 0; i < Shape::lane_rows; i += pack) {
        Pack const values = collective::pack_at<pack>(a + k * OfA::stride + lane.row_of(i));
        for (int e = 0; e < pack; ++e) of_a[i + e] = values[e];
      }
      for (int j = 0; j < Shape::lane_cols; j += pack) {
        Pack const values = collective::pack_at<pack>(b + k * OfB::stride + lane.col_of(j));
        for (int e = 0; e < pack; ++e) of_b[j + e] = values[e];
      }
      for (int i = 0; i < Shape::lane_rows; ++i) {
        for (int j = 0; j < Shape::lane_cols; ++j) sums[i][j] += of_a[i] * of_b[j];
      }
    }
  }

  using Base::a_, Base::b_, Base::c_, Base::k_, Base::tiles_, Base::form_;
  T one_ = 1;  // see TileLane::store
};

}  // namespace detail
}  // namespace tessera::kernels
