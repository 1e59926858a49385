#pragma once
/// \file
/// Gemm's kernel for GPUs with asynchronous copies (kernels/gemm.hpp), one team per tile of the product. As in
/// product_tile.hpp, a lane's sums are in registers, but the factors are copied to scratch without passing through
/// registers (collective/async_copy.hpp). A lane thus has registers for up to 128 sums, and reads less scratch per sum.
///
/// Scratch has `stages` places for slices of `depth` along k: one slice is multiplied while the others are in flight.
/// In a slice, for each k, the tile's rows of a and its columns of b are side by side. An operand whose neighbours in
/// memory are neighbours along k is transposed during the copy, by copies of single elements; any other operand is
/// copied 16 bytes at a time. Before the multiply-adds of one k, a lane reads its rows and columns of the next k. If k
/// leaves an incomplete slice, it is the first one, so that the others are copied without checks. Rows and columns past
/// the edge of the matrix repeat its last ones; their sums are not stored.
///
/// With two groups, the team's lanes work as two teams: each group sums one half of every slice, and at the end the
/// sums of the second group are added to the sums of the first. This is for tiles so small that a multiprocessor would
/// have too few lanes.
///
/// Source: NVIDIA CUTLASS (efficient GEMM, multistage pipelines, sliced k).

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>

#include <tessera/collective/async_copy.hpp>
#include <tessera/collective/matrix_tiles.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/kernels/detail/gemm/product_of_tiles.hpp>
#include <tessera/kernels/detail/gemm/product_tile.hpp>
#include <tessera/kernels/detail/launch/chunks.hpp>
#include <tessera/kernels/product_form.hpp>

namespace tessera::kernels {

/// A TileShape whose steps along k are slices. Stages: number of slices in scratch. Groups: groups of lanes, which
/// share a slice. RowsTurn: for every second k, a lane processes its rows from the last to the first, which changes the
/// compiler's register assignment.
template <int Rows, int Cols, int Depth, int LaneRows, int LaneCols, int Stages, int Groups, int Teams,
          bool RowsTurn = false>
struct StreamShape : TileShape<Rows, Cols, Depth, LaneRows, LaneCols, Teams> {
  static constexpr int stages = Stages;
  static constexpr int groups = Groups;
  static constexpr bool rows_turn = RowsTurn;
  static constexpr int group_lanes = TileShape<Rows, Cols, Depth, LaneRows, LaneCols, Teams>::lanes;
  static constexpr int lanes = group_lanes * Groups;  // of all groups
};

namespace detail {

/// How a team's lanes copy slices of `Outer` x `Depth` elements of an operand, one after the other along k. The rows of
/// a, or the columns of b, are its outer extent. AlongK: neighbours in memory are neighbours along k.
template <class T, int Outer, int Depth, int Lanes, bool AlongK>
class StreamedOperand {
 public:
  static constexpr int pack = collective::pack_width<T>;
  // In scratch k is the slow index. An operand that is transposed during the copy has rows one pack longer than the
  // tile, so that the elements of 8 lanes along k times 4 along the outer extent are in 32 different banks.
  static constexpr int stride = Outer + (AlongK ? pack : 0);
  static constexpr int size = Depth * stride;

  /// \param outer, outer_count first outer index of the tile, and number of outer indices
  /// \param k begin of the first slice
  /// \param leading distance in elements between two stored rows
  KOKKOS_FUNCTION StreamedOperand(T const* data, int rank, std::size_t outer, int outer_count, std::size_t k,
                                  std::size_t leading)
      : outer_(AlongK ? rank / across : rank % across * width),
        k_(AlongK ? rank % across : rank / across),
        leading_(leading) {
    if constexpr (AlongK) {
      for (int i = 0; i < pointers; ++i) {
        int const own = outer_ + i * round < outer_count ? outer_ + i * round : outer_count - 1;
        from_[i] = data + (outer + own) * leading + k + k_;
      }
    } else {
      int const own = outer_ < outer_count ? outer_ : outer_count - width;
      from_[0] = data + (k + k_) * leading + outer + own;
    }
  }

  /// Starts the copies of the next slice, which has `count` steps along k, at most Depth; its remainder becomes zero.
  template <class Copies>
  KOKKOS_FUNCTION void start(Copies const& copies, T* slice, int count) {
    for (int i = 0; i < rounds; ++i) {
      for (int r = 0; r < repeats; ++r) copy(copies, slice, i, r, count);
    }
    for (T const*& from : from_) from += AlongK ? count : count * leading_;
  }

 private:
  static constexpr int width = AlongK ? 1 : pack;
  // Number of neighbouring lanes along k (AlongK) or along the outer extent; the next lanes follow in the other
  // direction.
  static constexpr int across = AlongK ? 8 : Outer / width;
  static constexpr int round = Lanes / across;
  static constexpr int rounds = (AlongK ? Outer : Depth) / round;
  static constexpr int repeats = AlongK ? Depth / across : 1;
  static constexpr int pointers = AlongK ? rounds : 1;
  static_assert(round * across == Lanes && rounds * round == (AlongK ? Outer : Depth) &&
                    (!AlongK || Depth % across == 0),
                "Tessera: every lane copies as much as the others");

  template <class Copies>
  KOKKOS_FUNCTION void copy(Copies const& copies, T* slice, int i, int r, int count) const {
    constexpr int bytes = width * static_cast<int>(sizeof(T));
    if constexpr (AlongK) {
      copies.template copy_async<bytes>(slice + (k_ + r * across) * stride + outer_ + i * round, from_[i] + r * across,
                                        k_ + r * across < count);
    } else {
      copies.template copy_async<bytes>(slice + (k_ + i * round) * stride + outer_, from_[0] + i * round * leading_,
                                        k_ + i * round < count);
    }
  }

  int outer_;
  int k_;
  std::size_t leading_;
  T const* from_[pointers];
};

/// c = a b for row-major c [m, n], one team per tile; a functor for teams of `Shape::lanes` threads with vector length
/// 1. The form says how a and b are stored and how the sums change; it must not change elements of a. If k is split, c
/// is the first of `count` contiguous matrices [m, n], and the sums of part p go to matrix p.
///
/// n and the contiguous extents of a and b must be multiples of a pack's elements, and a, b and c must be aligned for
/// packs. Scratch level 0: scratch_bytes(). Barriers: one before the first slice, one per slice; with two groups some
/// at the end. Copies: the hardware's, or a mock for tests.
template <class Exec, class T, class Shape, class Form = PlainProduct,
          collective::AsyncCopies Copies = collective::HardwareCopies>
class ProductStream : public ProductOfTiles<T, Form> {
  using Base = ProductOfTiles<T, Form>;
  static_assert(!Form::Load::changes, "Tessera: what is copied to scratch past the registers cannot change on the way");
  static_assert(Shape::stages >= 2, "Tessera: one slice is multiplied while another one is in flight");
  static_assert(Shape::groups == 1 || Shape::groups == 2, "Tessera: one or two groups of lanes share a slice");

 public:
  using Policy = Kokkos::TeamPolicy<Exec, Kokkos::LaunchBounds<Shape::lanes, Shape::teams>>;
  using Member = typename Policy::member_type;

  ProductStream(T const* a, T const* b, T* c, std::size_t m, std::size_t n, Chunks const& k, Form const& form = {})
      : Base(a, b, c, k, {.rows = m, .cols = n, .tile_rows = Shape::rows, .tile_cols = Shape::cols}, form) {}

  [[nodiscard]] static std::size_t scratch_bytes() { return Scratch::shmem_size(Shape::stages * slice_size / pack); }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Scratch const scratch(team.team_scratch(0), Shape::stages * slice_size / pack);
    T* const slices = reinterpret_cast<T*>(scratch.data());
    auto const tiles = static_cast<std::uint32_t>(tiles_.across() * tiles_.down());
    auto const part = static_cast<std::uint32_t>(team.league_rank()) / tiles;
    auto const tile = tiles_.place(static_cast<std::uint32_t>(team.league_rank()) - part * tiles);
    Lane const lane(team.team_rank() % Shape::group_lanes);
    int const group = team.team_rank() / Shape::group_lanes;
    std::size_t const k = k_.begin(static_cast<int>(part));
    std::size_t const inner = k_.end(static_cast<int>(part)) - k;
    auto const count = static_cast<int>((inner + depth - 1) / depth);  // of slices
    auto const first = count > 0 ? static_cast<int>(inner - (count - 1) * static_cast<std::size_t>(depth)) : 0;
    OfA a(a_, team.team_rank(), tile.row, tile.row_count, k, Form::a_transposed ? tiles_.rows : k_.n);
    OfB b(b_, team.team_rank(), tile.col, tile.col_count, k, Form::b_transposed ? k_.n : tiles_.cols);
    Copies const copies;

    // All places but one are filled in advance. A slice that does not exist is an empty group of copies, so that the
    // number of groups stays correct.
    start(copies, a, b, slices, first);
    copies.commit();
    for (int slice = 1; slice < Shape::stages - 1; ++slice) {
      if (slice < count) start(copies, a, b, slices + slice * slice_size, depth);
      copies.commit();
    }
    copies.template wait<Shape::stages - 2>();
    team.team_barrier();

    // This group's part of a slice, and a lane's rows and columns of it.
    T const* const own_a = slices + group * group_depth * OfA::stride + lane.row;
    T const* const own_b = slices + OfA::size + group * group_depth * OfB::stride + lane.col;
    T sums[Shape::lane_rows][Shape::lane_cols] = {};
    Factors factors[2];
    read(own_a, own_b, 0, factors[0]);
    int from = 0;                               // place of the slice that is multiplied
    int to = (Shape::stages - 1) * slice_size;  // place of the slice that is copied next
    for (int slice = 0; slice < count; ++slice) {
#ifdef KOKKOS_ENABLE_PRAGMA_UNROLL
#pragma unroll
#endif
      for (int step = 0; step < group_depth; ++step) {
        if (step == group_depth - 1) {
          // This lane has read everything that it needs of this slice. After the barrier this holds for all lanes, and
          // all their copies of the next slice have arrived.
          copies.template wait<Shape::stages - 2>();
          team.team_barrier();
          from = next(from);
        }
        read(own_a + from, own_b + from, (step + 1) % group_depth, factors[(step + 1) % 2]);
        if (step == 0) {
          if (slice + Shape::stages - 1 < count) start(copies, a, b, slices + to, depth);
          copies.commit();
          to = next(to);
        }
        multiply(factors[step % 2], Shape::rows_turn && step % 2 == 1, sums);
      }
    }
    if constexpr (Shape::groups == 2) add_groups(team, slices, sums, one_);
    if (group == 0) {
      lane.template store<pack>(tile, form_.store, c_ + part * tiles_.rows * tiles_.cols, tiles_.cols, sums, one_);
    }
    leave_scratch(team);
  }

 private:
  static constexpr int pack = collective::pack_width<T>;
  static constexpr int depth = Shape::depth;
  static constexpr int group_depth = depth / Shape::groups;
  static_assert(group_depth % 2 == 0, "Tessera: the factors of two steps along k are in registers in turn");
  using Pack = collective::Pack<T, pack>;
  using Scratch = ScratchView<Pack*, Exec>;
  using Lane = TileLane<T, Shape>;
  using OfA = StreamedOperand<T, Shape::rows, depth, Shape::lanes, !Form::a_transposed>;
  using OfB = StreamedOperand<T, Shape::cols, depth, Shape::lanes, Form::b_transposed>;
  static constexpr int slice_size = OfA::size + OfB::size;

  // Factors that a lane multiplies in one step along k.
  struct Factors {
    T a[Shape::lane_rows];
    T b[Shape::lane_cols];
  };

  // Returns the next place; the first one follows the last.
  [[nodiscard]] KOKKOS_FUNCTION static int next(int place) {
    return place == (Shape::stages - 1) * slice_size ? 0 : place + slice_size;
  }

  KOKKOS_FUNCTION static void start(Copies const& copies, OfA& a, OfB& b, T* slice, int count) {
    a.start(copies, slice, count);
    b.start(copies, slice + OfA::size, count);
  }

  KOKKOS_FUNCTION static void read(T const* a, T const* b, int step, Factors& factors) {
    for (int i = 0; i < Shape::lane_rows; i += pack) {
      Pack const values = collective::pack_at<pack>(a + step * OfA::stride + i * 4);
      for (int e = 0; e < pack; ++e) factors.a[i + e] = values[e];
    }
    for (int j = 0; j < Shape::lane_cols; j += pack) {
      Pack const values = collective::pack_at<pack>(b + step * OfB::stride + j * 8);
      for (int e = 0; e < pack; ++e) factors.b[j + e] = values[e];
    }
  }

  // Columns are processed alternately forwards and backwards, so that neighbouring multiply-adds share a register.
  KOKKOS_FUNCTION static void multiply(Factors const& factors, bool from_last,
                                       T (&sums)[Shape::lane_rows][Shape::lane_cols]) {
    for (int i = 0; i < Shape::lane_rows; ++i) {
      int const row = from_last ? Shape::lane_rows - 1 - i : i;
      for (int j = 0; j < Shape::lane_cols; ++j) {
        int const col = row % 2 == 0 ? j : Shape::lane_cols - 1 - j;
        sums[row][col] += factors.a[row] * factors.b[col];
      }
    }
  }

  // Adds the second group's sums to the first group's sums through scratch, some rows at a time. `one` is the number 1:
  // sums are multiplied by it before they are stored to scratch, for the reason given in TileLane::store.
  KOKKOS_FUNCTION static void add_groups(Member const& team, T* scratch, T (&sums)[Shape::lane_rows][Shape::lane_cols],
                                         T one) {
    constexpr int rows = 4;
    static_assert(
        Shape::lane_rows % rows == 0 && rows * Shape::lane_cols * Shape::group_lanes <= Shape::stages * slice_size,
        "Tessera: scratch holds some rows of a group's sums");
    // Packs of neighbouring lanes are neighbours in scratch.
    T* const own = scratch + team.team_rank() % Shape::group_lanes * pack;
    bool const gives = team.team_rank() >= Shape::group_lanes;
    for (int first = 0; first < Shape::lane_rows; first += rows) {
      team.team_barrier();  // all have read the data that are overwritten now
      for (int i = 0; i < rows; ++i) {
        for (int j = 0; gives && j < Shape::lane_cols; j += pack) {
          Pack values;
          for (int e = 0; e < pack; ++e) values[e] = sums[first + i][j + e] * one;
          collective::pack_at<pack>(own + (i * Shape::lane_cols + j) * Shape::group_lanes) = values;
        }
      }
      team.team_barrier();
      for (int i = 0; i < rows; ++i) {
        for (int j = 0; !gives && j < Shape::lane_cols; j += pack) {
          Pack const values = collective::pack_at<pack>(own + (i * Shape::lane_cols + j) * Shape::group_lanes);
          for (int e = 0; e < pack; ++e) sums[first + i][j + e] += values[e];
        }
      }
    }
  }

  using Base::a_, Base::b_, Base::c_, Base::k_, Base::tiles_, Base::form_;
  T one_ = 1;  // see TileLane::store
};

}  // namespace detail
}  // namespace tessera::kernels
