#pragma once
/// \file
/// The product of two matrices of floats, c = a b, by warpgroups with factors of tf32. It computes what Tf32Gemm
/// (kernels/tf32_gemm.hpp) does, as exactly, with the instructions that only GPUs of compute capability 9.0 have
/// (collective/warpgroup.hpp).
///
/// Two launches. The first splits b into terms and writes them to a workspace, as panels of 8 of k:
///
///     packed b   [k / 8][term][2][n] packs of 4 of k: the even ones of a row, then the odd ones; columns in another order
///
/// The second makes c. A team is one warpgroup, and its tile is 128 x 128: two strips of 64 rows. a is copied as it is, in pieces of
/// 8 of k of a strip. A lane reads two neighbours of k from two rows of a piece, splits them, and holds them as its part of a:
/// so there is no workspace of a, and scratch is read once for all terms. A stage has 8 of k for each term:
///
///     stage, one term    2 pieces of 128 packs of a, 256 packs of b: 8 KiB
///     stage, two terms   4 pieces of 128 packs of a, 1024 packs of b: 24 KiB
///
/// With one term the unit keeps all sums. With two a strip's 16 of k are six products, in sums of their own that start at 0: first the
/// four of a high and a low part, then the two of high parts. They are added to the tile's in float: a matrix unit cuts off what it
/// cannot hold, an addition in float rounds to nearest.
///
/// Scratch has a place for each stage that is ahead, and for the one that is multiplied. With two terms two stages are too large for the
/// 48 KiB that Kokkos gives. There the next copies start when all threads have read the first of the four pieces, and take its place:
/// 46 KiB. Two teams share a multiprocessor, three with one term: while one loads or adds, another multiplies.
///
/// A panel has, of 16 columns of b, first the eight even ones, then the eight odd ones, as in kernels/warpgroup_gemm.hpp: a lane's sums
/// are four neighbours of c.
///
/// Traffic of two terms, with tiles of M x N: 12 k n bytes to split b, m n k (4 / N + 8 / M) mostly from the cache, 4 m n written.
///
/// Example: a = [0 1; 2 3], b = [0 2; 4 6] -> c = [4 6; 12 22]: small whole numbers are exact.
///
/// Use:  warpgroup_tf32_gemm<2>(exec, a, b, c);
/// or, enqueued many times:  WarpgroupTf32Gemm<Kokkos::Cuda, 2> gemm(exec, m, n, k);  gemm(exec, a, b, c);
/// in a file that nvcc compiles for compute capability 9.0a (`-arch=sm_90a`): Kokkos' own flags ask for 9.0. In other code the
/// constructor throws Skip.

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <string>
#include <utility>

#include <tessera/collective/async_copy.hpp>
#include <tessera/collective/divider.hpp>
#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/lane/matrix_unit.hpp>
#include <tessera/collective/matrix_tiles.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/collective/warpgroup.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/core/types.hpp>
#include <tessera/core/unroll.hpp>
#include <tessera/kernels/product_form.hpp>
#include <tessera/kernels/tensor_gemm.hpp>  // store_four
#include <tessera/kernels/views.hpp>
#include <tessera/kernels/warpgroup_gemm.hpp>  // require_warpgroups

namespace tessera::kernels {

/// A team's tile of c. `Ahead`: how many stages are on their way; `MostTeams`: how many teams share a multiprocessor, for which registers
/// must suffice: two terms take 248 of them, one takes 168.
template <int Terms, int Ahead = Terms == 2 ? 1 : 2, int MostTeams = Terms == 2 ? 2 : 3>
struct WarpgroupTf32Tile {
  static_assert(Terms == 1 || Terms == 2, "Tessera: a factor has one or two terms");
  static_assert(Ahead >= 1, "Tessera: a stage must be on its way while another is multiplied");
  static constexpr int terms = Terms;
  static constexpr int ahead = Ahead;
  static constexpr int teams = MostTeams;
  static constexpr int threads = collective::AnyWarpgroup::threads;
  static constexpr int lanes = threads * collective::AnyWarpgroup::lanes;
  static constexpr int rows = 2 * collective::AnyWarpgroup::rows;
  static constexpr int cols = collective::AnyWarpgroup::cols;
  static constexpr int eighths = Terms;  ///< how many times 8 of k a stage has
  static constexpr int depth = eighths * collective::Warpgroup<collective::Tf32>::depth;
};

namespace detail {

/// Splits a matrix of `k` x `cols` into terms, and writes its panels, with zeros outside of the matrix. A call for each 8 of k of a
/// column; neighbouring calls read neighbours of the matrix.
template <int Terms>
struct PackTerms {
  float const* from;
  std::size_t k;
  std::size_t cols;
  std::size_t padded;           // columns of the panels, a multiple of 16
  collective::Divider divider;  // by `padded`
  collective::FactorPack* packed;

  KOKKOS_FUNCTION void operator()(std::size_t i) const {
    std::size_t const eighth = divider(i);
    std::size_t const col = i - eighth * padded;
    collective::FactorPack terms[Terms][2];
    TESSERA_UNROLL
    for (int e = 0; e < 8; ++e) {
      std::size_t const row = 8 * eighth + static_cast<std::size_t>(e);
      float const value = row < k && col < cols ? from[row * cols + col] : 0.0F;
      float numbers[2];
      collective::split_to_tf32<Terms>(value, numbers[0], numbers[1]);
      TESSERA_UNROLL
      for (int term = 0; term < Terms; ++term) {
        terms[term][e % 2][e / 2] = Kokkos::bit_cast<std::uint32_t>(numbers[term]);
      }
    }
    collective::FactorPack* to = packed + eighth * 2 * Terms * padded + col / 16 * 16 + col % 2 * 8 + col % 16 / 2;
    TESSERA_UNROLL
    for (int term = 0; term < Terms; ++term) {
      TESSERA_UNROLL
      for (int half = 0; half < 2; ++half, to += padded) *to = terms[term][half];
    }
  }
};

/// The product of a matrix by rows and packed panels.
/// \tparam Width elements of a that are copied at once: 4, where its rows begin on 16 bytes, or 1
template <class Exec, class Lanes, class Tile, class Products, collective::AsyncCopies Copies, class Store, int Width>
struct WarpgroupTf32Product {
  static_assert(Width == 1 || Width == 4, "Tessera: one element is copied at once, or 16 bytes are");
  using Policy = Kokkos::TeamPolicy<Exec, Kokkos::LaunchBounds<Tile::lanes, Tile::teams>>;
  using Member = typename Policy::member_type;
  using FactorPack = collective::FactorPack;
  using FactorPanel = collective::FactorPanel;
  using Scratch = ScratchView<FactorPack*, Exec>;
  using A = collective::MatrixUnit<collective::Tf32>::A;
  template <class V>
  using Value = typename Lanes::template Value<V>;
  using Sums = Value<collective::WarpgroupSums>;
  static constexpr int terms = Tile::terms;
  static constexpr int ahead = Tile::ahead;
  static constexpr int panel = 2 * Tile::cols;  // packs of a term of b, 8 of k
  static constexpr int packs_of_b = Tile::eighths * terms * panel;
  static constexpr int piece = 2 * Products::rows;  // packs of a strip of a, 8 of k
  static constexpr int pieces = 2 * Tile::eighths;  // of a stage
  static constexpr int turns = ahead + 1;
  static constexpr bool shares_first = terms == 2 && ahead == 1;  // one place for the first pieces of all stages
  static constexpr int slots_of_a = shares_first ? 1 + turns * (pieces - 1) : turns * pieces;
  static constexpr int all_packs = slots_of_a * piece + turns * packs_of_b;

  float const* a;
  FactorPack const* b;
  float* c;
  std::size_t inner;   // k
  std::size_t across;  // columns of b's panels
  int stages;          // of k
  collective::MatrixTiles tiles;
  Store store;
  bool by_packs;  // c can be written four elements at a time

  [[nodiscard]] static std::size_t scratch_bytes() { return Scratch::shmem_size(all_packs) + bytes_to_a_line<Exec>; }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Scratch const scratch(team.team_scratch(0), all_packs);
    Slots const slots{on_a_line(scratch.data())};
    auto const place = tiles.place(static_cast<std::size_t>(team.league_rank()));
    Lanes const lanes;
    Copies const copies;
    Products const products(team.team_rank());
    Value<Source> source = lanes.template fill<Source>(Source{});
    lanes.each([&](int lane, Source& own) { own = source_of(place, team.team_rank() * Products::lanes + lane); },
               source);
    Sums sums[2];
    for (Sums& own : sums) own = zeros(lanes);
    for (int stage = 0; stage < ahead; ++stage) start(team, lanes, copies, source, stage, slots, stage);
    int turn = 0;
    [[maybe_unused]] Sums own = zeros(lanes);  // two terms: of a stage and one strip
    Value<A> high[2];
    Value<A> low[2];
    for (int stage = 0; stage < stages; ++stage) {
      copies.template wait<ahead - 1>();
      products.see_copies();
      if constexpr (terms == 1) products.template wait<0>();  // they read the place where the next copies go
      team.team_barrier();  // after it the copies of all lanes for this stage have arrived
      FactorPack const* const b_of_stage = slots.b(turn);
      auto const b_of = [&](int e, int term) {
        return FactorPanel{b_of_stage + (e * terms + term) * panel, Tile::cols};
      };
      auto const start_next = [&] {
        start(team, lanes, copies, source, stage + ahead, slots, turn == 0 ? ahead : turn - 1);
      };
      if constexpr (terms == 2) {
        TESSERA_UNROLL
        for (int s = 0; s < 2; ++s) {
          // The last product of the strip before may go on: it does not read these registers.
          products.template wait<1>();
          load(team, lanes, slots.a(turn, s, 0), high[0], low[0]);
          products.template wait<0>();
          add(lanes, own, sums[1 - s]);  // the other strip's; nothing at first
          // The small ones first: they meet each other before they meet a large sum.
          products.begin();
          products.multiply(own, high[0], b_of(0, 1));
          products.multiply_add(own, low[0], b_of(0, 0));
          load(team, lanes, slots.a(turn, s, 1), high[1], low[1]);
          products.begin();
          products.multiply_add(own, high[1], b_of(1, 1));
          products.multiply_add(own, low[1], b_of(1, 0));
          products.multiply_add(own, high[0], b_of(0, 0));
          products.commit();
          products.begin();
          products.multiply_add(own, high[1], b_of(1, 0));
          products.commit();
          if (s == 0) {
            // After it all threads have read the first piece, and made the products of the stage before. The unit has work meanwhile.
            team.team_barrier();
            start_next();
          }
        }
      } else {
        start_next();
        TESSERA_UNROLL
        for (int i = 0; i < pieces; ++i) load(team, lanes, slots.a(turn, i, 0), high[i], low[i]);
        products.begin();
        TESSERA_UNROLL
        for (int i = 0; i < pieces; ++i) products.multiply_add(sums[i], high[i], b_of(0, 0));
        products.commit();
      }
      turn = turn == ahead ? 0 : turn + 1;
    }
    products.template wait<0>();
    if constexpr (terms == 2) add(lanes, own, sums[1]);
    write(team, lanes, place, sums);
    leave_scratch(team);
  }

 private:
  // Where the stages stand, `turn` by `turn`: first b, then a.
  struct Slots {
    FactorPack* packs;
    [[nodiscard]] KOKKOS_FUNCTION FactorPack* b(int turn) const { return packs + turn * packs_of_b; }
    [[nodiscard]] KOKKOS_FUNCTION FactorPack* a(int turn, int strip, int eighth) const {
      int const number = strip * Tile::eighths + eighth;
      int const slot = !shares_first ? turn * pieces + number : number == 0 ? 0 : turn * (pieces - 1) + number;
      return packs + turns * packs_of_b + slot * piece;
    }
  };
  [[nodiscard]] KOKKOS_FUNCTION static Sums zeros(Lanes const& lanes) {
    return lanes.template fill<collective::WarpgroupSums>(collective::WarpgroupSums{});
  }

  // What a lane copies of the first stage: of the others the same, further on. Neighbouring lanes copy the packs of a row of a; the lanes
  // of a team are the columns of a panel of b.
  struct Source {
    float const* a;
    FactorPack const* b;
    int rows;  // of the tile, from the lane's first one on
    int k;     // of the stage
  };
  static constexpr int rows_at_once = Tile::lanes * 4 / Tile::depth;
  static_assert(Tile::lanes == Tile::cols && Products::rows % rows_at_once == 0);
  [[nodiscard]] KOKKOS_FUNCTION Source source_of(collective::MatrixTiles::Place const& place, int own) const {
    int const row = own / (Tile::depth / 4);
    int const k = own % (Tile::depth / 4) * 4;
    return {.a = a + (place.row + static_cast<std::size_t>(row)) * inner + static_cast<std::size_t>(k),
            .b = b + place.col + static_cast<std::size_t>(own),
            .rows = place.row_count - row,
            .k = k};
  }

  // Starts the copies of a stage, if there is one.
  KOKKOS_FUNCTION void start(Member const& team, Lanes const& lanes, Copies const& copies, Value<Source>& source,
                             int stage, Slots const& slots, int turn) const {
    if (stage < stages) {
      auto const k = static_cast<std::size_t>(stage) * Tile::depth;
      int const left = inner - k < Tile::depth ? static_cast<int>(inner - k) : Tile::depth;
      lanes.each(
          [&](int lane, Source const& from) {
            int const own = team.team_rank() * Products::lanes + lane;
            TESSERA_UNROLL
            for (int i = 0; i < Tile::rows; i += rows_at_once) {
              float const* const row = from.a + static_cast<std::size_t>(i) * inner + k;
              FactorPack* const strip = slots.a(turn, i / Products::rows, from.k / 8);
              float* const to =
                  reinterpret_cast<float*>(strip) + (i % Products::rows + own / (Tile::depth / 4)) * 8 + from.k % 8;
              TESSERA_UNROLL
              for (int e = 0; e < 4; e += Width) {
                copies.template copy_async<4 * Width>(to + e, row + e, i < from.rows && from.k + e < left);
              }
            }
            FactorPack const* from_b = from.b + static_cast<std::size_t>(stage) * (packs_of_b / Tile::cols) * across;
            FactorPack* const to_b = slots.b(turn) + own;
            TESSERA_UNROLL
            for (int i = 0; i < packs_of_b; i += Tile::cols, from_b += across) {
              copies.template copy_async<16>(to_b + i, from_b, true);
            }
          },
          source);
    }
    copies.commit();
  }

  // A lane's part of a piece of a. Of each row it takes neighbours, the even one for the first half of the panel.
  KOKKOS_FUNCTION static void load(Member const& team, Lanes const& lanes, FactorPack const* packs, Value<A>& high,
                                   Value<A>& low) {
    float const* const rows = reinterpret_cast<float const*>(packs) + 16 * team.team_rank() * 8;
    lanes.each(
        [&](int lane, A& high_own, A& low_own) {
          TESSERA_UNROLL
          for (int r = 0; r < 2; ++r) {
            auto const two = collective::pack_at<2>(rows + (lane / 4 + 8 * r) * 8 + lane % 4 * 2);
            TESSERA_UNROLL
            for (int half = 0; half < 2; ++half) {
              int const i = r + 2 * half;
              collective::split_to_tf32<terms>(two[half], high_own.at[i], low_own.at[i]);
            }
          }
        },
        high, low);
  }

  KOKKOS_FUNCTION static void add(Lanes const& lanes, Sums& more, Sums& sums) {
    lanes.each(
        [](int, collective::WarpgroupSums const& one, collective::WarpgroupSums& to) {
          TESSERA_UNROLL
          for (int i = 0; i < 64; ++i) to.at[i] += one.at[i];
        },
        more, sums);
  }

  // Stores what lies in the matrix c.
  KOKKOS_FUNCTION void write(Member const& team, Lanes const& lanes, collective::MatrixTiles::Place const& place,
                             Sums (&sums)[2]) const {
    TESSERA_UNROLL
    for (int s = 0; s < 2; ++s) {
      lanes.each(
          [&](int lane, collective::WarpgroupSums const& own) {
            store_panel_sums<Products>(c, place, tiles.cols, s * Products::rows, team.team_rank(), lane, own, store,
                                       by_packs);
          },
          sums[s]);
    }
  }
};

}  // namespace detail

/// c = a b for a [m, k], b [k, n] and c [m, n] of floats, with `Terms` numbers of tf32 for a factor: 1 (11 bits) or 2 (float's
/// accuracy). The form may change sums as they are stored, and nothing else (kernels/product_form.hpp).
///
/// Constructed once: allocates the workspace, 4 Terms k n bytes with what fills the tiles at the edges; it launches a small kernel and
/// waits. Calls only enqueue: two launches, none if c is empty. Calls of one object must not run at the same time, since they share the
/// workspace. If k is 0, c becomes zeros (changed). Elements are those that Tf32Gemm takes.
template <ExecutionSpace Exec, int Terms, class Form = PlainProduct, class Tiling = WarpgroupTf32Tile<Terms>>
class WarpgroupTf32Gemm {
 public:
  using Tile = Tiling;
  static_assert(!Form::a_transposed && !Form::b_transposed && !Form::Load::changes,
                "Tessera: this kernel reads a and b by rows, and elements as they are stored");

  /// Throws Skip if the device, or the code that was compiled for it, has no warpgroups.
  WarpgroupTf32Gemm(Exec const& exec, std::size_t m, std::size_t n, std::size_t k,
                    std::string label = "tessera::warpgroup_tf32_gemm")
      : label_(std::move(label)),
        inner_(k),
        stages_(tiles_of(k, Tile::depth)),
        tiles_{.rows = m, .cols = n, .tile_rows = Tile::rows, .tile_cols = Tile::cols, .band = 8},
        league_(league_of(tiles_.count())) {
    detail::require_warpgroups<WarpgroupTf32Gemm>(exec);
    if (league_ == 0) return;
    across_ = tiles_.across() * Tile::cols;
    b_ = Workspace(Kokkos::view_alloc(exec, Kokkos::WithoutInitializing, label_ + "::b"),
                   eighths() * 2 * Terms * across_);
  }

  /// Enqueues. All are matrices by rows; c overlaps neither a nor b. Throws std::invalid_argument for other extents or strides.
  template <Readable<Exec, float, 2> A, Readable<Exec, float, 2> B, Writable<Exec, float, 2> C>
  void operator()([[maybe_unused]] Exec const& exec, A const& a, B const& b, C const& c,
                  [[maybe_unused]] Form const& form = {}) const {
    float* const to = row_major(c, tiles_.rows, tiles_.cols);
    float const* const left = row_major(a, tiles_.rows, inner_);
    float const* const right = row_major(b, inner_, tiles_.cols);
    if (league_ == 0) return;
    [[maybe_unused]] bool const by_packs = inner_ % 4 == 0 && collective::is_aligned_for_packs<4>(left);
    if constexpr (is_gpu<Exec> && collective::can_have_matrix_units<Exec> && collective::matrix_lanes<Exec> == 32) {
      if (stages_ > 0) split(exec, right);
      by_packs ? multiply<4>(exec, left, to, form) : multiply<1>(exec, left, to, form);
    }
  }

  /// Additions in float: of one term a matrix unit makes all sums, and they are no independent roundings.
  [[nodiscard]] double rounding_steps() const { return Terms == 1 ? 1 : static_cast<double>(stages_); }
  /// What else a result is off by, relative to its sum of magnitudes. As in Tf32Gemm: a product of the unit loses 20 u of the largest
  /// number in it, or, if the unit takes four of k at a time, twice 12 u.
  ///
  /// One term: that for each 8 of k; factors are off by 2^-11 each.
  ///
  /// Two terms: 4 u for what the low parts lack, 4 u for low low. Of 16 of k the two products of high parts lose 24 u each, and the four
  /// of a high and a low part as much of numbers that are 2^-10 of it, 0.2 u; that these are in the sum makes the former 0.2 u larger.
  [[nodiscard]] double error() const {
    double const u = unit_roundoff(DType::float32);
    return Terms == 1 ? 0x1p-10 + 0x1p-22 + 24 * u * static_cast<double>(eighths()) : 57 * u;
  }

  // Public because a device kernel may not be launched from a private function.
  void split(Exec const& exec, float const* b) const {
    std::size_t const calls = eighths() * across_;
    Kokkos::parallel_for(
        label_ + "::split", Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::size_t>>(exec, 0, calls),
        detail::PackTerms<Terms>{b, inner_, tiles_.cols, across_, collective::Divider(across_), b_.data()});
  }
  template <int Width>
  void multiply(Exec const& exec, float const* a, float* c, Form const& form) const {
    using Product = detail::WarpgroupTf32Product<Exec, lane::On<Exec, collective::AnyWarpgroup::lanes>, Tile,
                                                 collective::Warpgroup<collective::Tf32>,
                                                 collective::HardwareCopiesPastL1, typename Form::Store, Width>;
    bool const by_packs = tiles_.cols % 4 == 0 && collective::is_aligned_for_packs<4>(c);
    Product const product{a, b_.data(), c, inner_, across_, static_cast<int>(stages_), tiles_, form.store, by_packs};
    typename Product::Policy const policy(exec, league_, Tile::threads,
                                          lane::vector_length<Exec>(collective::AnyWarpgroup::lanes));
    Kokkos::parallel_for(label_, with_scratch(policy, Product::scratch_bytes()), product);
  }

 private:
  using Workspace = Kokkos::View<collective::FactorPack*, typename Exec::memory_space>;

  [[nodiscard]] std::size_t eighths() const { return stages_ * Tile::eighths; }

  std::string label_;
  std::size_t inner_;
  std::size_t stages_;  // of k
  collective::MatrixTiles tiles_;
  int league_;
  std::size_t across_ = 0;  // columns of b's panels, those included that fill the last tiles
  Workspace b_;
};

/// c = a b (see WarpgroupTf32Gemm), all by rows, c overlapping neither. For a single use: it allocates, enqueues, and waits.
template <int Terms, ExecutionSpace Exec, class A, class B, class C, class Form = PlainProduct>
void warpgroup_tf32_gemm(Exec const& exec, A const& a, B const& b, C const& c, Form const& form = {}) {
  WarpgroupTf32Gemm<Exec, Terms, Form> const product(exec, c.extent(0), c.extent(1), a.extent(1));
  product(exec, a, b, c, form);
  exec.fence("tessera: warpgroup_tf32_gemm");  // the workspace is freed at the end of this call
}

}  // namespace tessera::kernels
