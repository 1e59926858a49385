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
///     stage, one term    2 pieces of a of 2 KiB, 1 panel of b of 4 KiB
///     stage, two terms   4 pieces, 4 panels: high and low of the first 8 of k, x, and of the others, y
///
/// With one term the unit keeps all sums. With two a strip's 16 of k are six products, in sums of their own that start at 0: first the
/// four of a high and a low part, then the two of high parts. They are added to the tile's in float: a matrix unit cuts off what it
/// cannot hold, an addition in float rounds to nearest.
///
/// A stage has one barrier: behind it all lanes' copies of its panels have arrived, and nobody reads the places to which the next panels
/// go. Two terms have three places for y high, which a stage's last product reads, and two for the others: so that product may go on
/// when the threads meet at the barrier, and while they load what comes next. The pieces of a need no barrier for their places: a
/// thread copies its own 16 rows, a lane one pack, and when it has loaded a piece it starts the copies of a later one to the same place.
/// Scratch of two terms: 9 panels and 5 pieces, 46 of the 48 KiB that Kokkos gives. Two teams share a multiprocessor: while one loads
/// or adds, the other multiplies.
///
/// A panel has, of 16 columns of b, first the eight even ones, then the eight odd ones, as in kernels/warpgroup_gemm.hpp: a lane's sums
/// are four neighbours of c.
///
/// Traffic of two terms, with tiles of M x N: 12 k n bytes to split b, m n k (4 / N + 8 / M) mostly from the cache, 4 m n written.
///
/// Example: a = [0 1; 2 3], b = [0 2; 4 6] -> c = [4 6; 12 22]: small whole numbers are exact.
///
/// Use:  warpgroup_tf32_gemm<2>(exec, a, b, c);  or, of a that is stored as [k, m]:  warpgroup_tf32_gemm<2>(exec, a, b, c, TransposedA{});
/// or, enqueued many times:  WarpgroupTf32Gemm<Kokkos::Cuda, 2> gemm(exec, m, n, k);  gemm(exec, a, b, c);
/// in a file that nvcc compiles for compute capability 9.0a (`-arch=sm_90a`): Kokkos' own flags ask for 9.0. In other code the
/// constructor throws Skip.

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <string>
#include <type_traits>
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
#include <tessera/kernels/matrix_units.hpp>
#include <tessera/kernels/product_form.hpp>
#include <tessera/kernels/tensor_gemm.hpp>  // store_four
#include <tessera/kernels/views.hpp>
#include <tessera/kernels/warpgroup_gemm.hpp>  // require_warpgroups

namespace tessera::kernels {

/// A team's tile of c. `Ahead`: how many stages of b are on their way; `Ring`: how many pieces of a have a place in scratch. Registers
/// suffice for two teams on a multiprocessor: two terms take 252 of them.
template <int Terms, int Ahead = Terms == 2 ? 1 : 3, int Ring = Terms == 2 ? 5 : 2 * Ahead>
struct WarpgroupTf32Tile {
  static_assert(Terms == 1 || Terms == 2, "Tessera: a factor has one or two terms");
  static_assert(Ahead >= 1, "Tessera: a stage must be on its way while another is multiplied");
  static constexpr int terms = Terms;
  static constexpr int ahead = Ahead;
  static constexpr int ring = Ring;
  static constexpr int teams = 2;
  static constexpr int threads = collective::AnyWarpgroup::threads;
  static constexpr int lanes = threads * collective::AnyWarpgroup::lanes;
  static constexpr int rows = 2 * collective::AnyWarpgroup::rows;
  static constexpr int cols = collective::AnyWarpgroup::cols;
  static constexpr int eighths = Terms;  ///< of a stage: how many times 8 of k
  static constexpr int depth = eighths * collective::Warpgroup<collective::Tf32>::depth;
};

namespace detail {

/// Splits a matrix of `k` x `cols` into terms, and writes its panels, with zeros outside of the matrix. A call for each 8 of k of a
/// column; neighbouring calls read neighbours of the matrix, or of its transpose 32 bytes each.
template <int Terms>
struct PackTerms {
  float const* from;
  std::size_t k;
  std::size_t cols;
  std::size_t next_k;  // how far from an element to the next k, and to the next column
  std::size_t next_col;
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
      float const value = row < k && col < cols ? from[row * next_k + col * next_col] : 0.0F;
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

// A thread's 16 rows of a piece are 32 packs in scratch. row() and k() say with which element the pack begins that a lane copies. place()
// says where an element stands. two() loads k and k + 1 of a row, so that the lanes together read from all banks.

/// Memory holds a by rows. A pack is four neighbours of k.
struct PacksOfRows {
  [[nodiscard]] KOKKOS_FUNCTION static int row(int lane) { return lane / 2; }
  [[nodiscard]] KOKKOS_FUNCTION static int k(int lane) { return lane % 2 * 4; }
  [[nodiscard]] KOKKOS_FUNCTION static int place(int row, int k) { return 8 * row + k; }
  [[nodiscard]] KOKKOS_FUNCTION static collective::Pack<float, 2> two(float const* part, int row, int k) {
    return collective::pack_at<2>(part + place(row, k));
  }
};
/// Memory holds the transpose of a. A pack is four neighbouring rows. Of the even k, as of the odd ones, two stand in each half of the banks,
/// and one of the two has the halves of its rows exchanged.
struct PacksOfColumns {
  [[nodiscard]] KOKKOS_FUNCTION static int row(int lane) { return lane % 4 * 4; }
  [[nodiscard]] KOKKOS_FUNCTION static int k(int lane) { return lane / 4; }
  [[nodiscard]] KOKKOS_FUNCTION static int place(int row, int k) {
    int const line = k % 2 * 4 + k / 2 % 2 * 2 + (k / 4 ^ k % 2);
    return 16 * line + (row ^ k / 2 % 2 * 8);
  }
  [[nodiscard]] KOKKOS_FUNCTION static collective::Pack<float, 2> two(float const* part, int row, int k) {
    return {part[place(row, k)], part[place(row, k + 1)]};
  }
};

/// The product of a matrix, or of a matrix's transpose, and packed panels.
/// \tparam Width elements of a that are copied at once: 4, where its rows, as they are stored, begin on 16 bytes, or 1
template <class Exec, class Lanes, class Tile, class Products, collective::AsyncCopies Copies, class Form, int Width>
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
  using Store = typename Form::Store;
  using Part = std::conditional_t<Form::a_transposed, PacksOfColumns, PacksOfRows>;
  static constexpr int terms = Tile::terms;
  static constexpr int ahead = Tile::ahead;
  static constexpr int eighths = Tile::eighths;
  static constexpr int panel = 2 * Tile::cols;      // packs of a term of b, 8 of k
  static constexpr int piece = 2 * Products::rows;  // packs of a strip of a, 8 of k
  static constexpr int pieces = 2 * eighths;        // of a stage: those of one strip, then those of the other
  // A step loads as many pieces as a thread has registers for, and starts the copies of later ones to their places.
  static constexpr int at_once = terms == 2 ? 1 : 2;
  static constexpr int steps = pieces / at_once;  // of a stage
  static constexpr int steps_ahead = Tile::ring / at_once;
  static_assert(Tile::ring % at_once == 0 && steps_ahead >= steps && steps_ahead < (ahead + 1) * steps,
                "Tessera: when a stage begins, its pieces and panels must have arrived");
  // Panels of a stage that its last product reads, and the others.
  static constexpr int late = terms == 2 ? 1 : 0;
  static constexpr int early = eighths * terms - late;
  static constexpr int packs_of_b = ((ahead + 1) * early + (ahead + 2) * late) * panel;
  static constexpr int all_packs = packs_of_b + Tile::ring * piece;
  static_assert(Tile::lanes == Tile::cols && Products::lanes * Tile::threads == piece,
                "Tessera: a lane copies a column of a panel, and one pack of a piece");

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
    FactorPack* const packs = on_a_line(scratch.data());
    auto const place = tiles.place(static_cast<std::size_t>(team.league_rank()));
    Lanes const lanes;
    Copies const copies;
    Products const products(team.team_rank());
    Value<Source> source = lanes.template fill<Source>(Source{});
    lanes.each([&](int lane, Source& own) { own = source_of(place, team.team_rank() * Products::lanes + lane); },
               source);
    Sums sums[2];
    for (Sums& own : sums) own = zeros(lanes);
    // A step: loads a thread's part of some pieces, and fills their places anew. The first one of a stage starts panels, too.
    auto const take = [&](int stage, int number, Value<A>* high, Value<A>* low) {
      int const step = stage * steps + number;
      TESSERA_UNROLL
      for (int i = 0; i < at_once; ++i) load(team, lanes, ring(packs, step) + i * piece, high[i], low[i]);
      lanes.sync();  // all lanes have read the places
      if (number == 0) start_b(team, lanes, copies, source, stage + ahead, packs);
      start_a(team, lanes, copies, source, step + steps_ahead, packs);
      copies.commit();
    };
    for (int stage = 0; stage < ahead; ++stage) start_b(team, lanes, copies, source, stage, packs);
    for (int step = 0; step < steps_ahead; ++step) {
      start_a(team, lanes, copies, source, step, packs);
      copies.commit();
    }
    [[maybe_unused]] Sums own = zeros(lanes);  // two terms: of a stage and one strip
    Value<A> high[2];
    Value<A> low[2];
    for (int stage = 0; stage < stages; ++stage) {
      copies.template wait<steps_ahead - steps>();  // this lane's for the stage have arrived
      products.see_copies();
      products.template wait<late>();  // all that read the places where the next panels go
      team.team_barrier();
      Panels const b_of{packs, stage};
      if constexpr (terms == 2) {
        TESSERA_UNROLL
        for (int s = 0; s < 2; ++s) {
          // The last product of the strip before may go on: it does not read these registers.
          products.template wait<1>();
          take(stage, 2 * s, high, low);
          products.template wait<0>();
          add(lanes, own, sums[1 - s]);  // the other strip's; nothing at first
          // The small ones first: they meet each other before they meet a large sum.
          products.begin();
          products.multiply(own, high[0], b_of(0, 1));
          products.multiply_add(own, low[0], b_of(0, 0));
          take(stage, 2 * s + 1, high + 1, low + 1);
          products.begin();
          products.multiply_add(own, high[1], b_of(1, 1));
          products.multiply_add(own, low[1], b_of(1, 0));
          products.multiply_add(own, high[0], b_of(0, 0));
          products.commit();
          products.begin();
          products.multiply_add(own, high[1], b_of(1, 0));
          products.commit();
        }
      } else {
        take(stage, 0, high, low);
        products.begin();
        TESSERA_UNROLL
        for (int i = 0; i < pieces; ++i) products.multiply_add(sums[i], high[i], b_of(0, 0));
        products.commit();
      }
    }
    products.template wait<0>();
    if constexpr (terms == 2) add(lanes, own, sums[1]);
    write(team, lanes, place, sums);
    leave_scratch(team);
  }

 private:
  // Where the panels of a stage stand in scratch: for as many stages as have a place the early ones, then the late one.
  struct Panels {
    FactorPack* packs;
    int stage;
    [[nodiscard]] KOKKOS_FUNCTION FactorPack* at(int eighth, int term) const {
      if (late == 1 && eighth == 1 && term == 0) {
        return packs + ((ahead + 1) * early + stage % (ahead + 2)) * panel;
      }
      return packs + (stage % (ahead + 1) * early + eighth + term) * panel;
    }
    [[nodiscard]] KOKKOS_FUNCTION FactorPanel operator()(int eighth, int term) const {
      return {at(eighth, term), Tile::cols};
    }
  };
  // Where the pieces of a step stand.
  [[nodiscard]] KOKKOS_FUNCTION static FactorPack* ring(FactorPack* packs, int step) {
    return packs + packs_of_b + step % steps_ahead * (at_once * piece);
  }
  [[nodiscard]] KOKKOS_FUNCTION static Sums zeros(Lanes const& lanes) {
    return lanes.template fill<collective::WarpgroupSums>(collective::WarpgroupSums{});
  }

  // What a lane copies of the first piece of a, and of the first panel of b: of the others the same, further on. The lanes of a team are
  // the columns of a panel.
  struct Source {
    float const* a;
    FactorPack const* b;
    int rows;  // of the tile, from the lane's first one on
    int k;     // of a piece, the lane's first one
  };
  [[nodiscard]] KOKKOS_FUNCTION Source source_of(collective::MatrixTiles::Place const& place, int own) const {
    int const lane = own % Products::lanes;
    int const row = own / Products::lanes * 16 + Part::row(lane);
    int const k = Part::k(lane);
    return {.a = element_of_a(place.row + static_cast<std::size_t>(row), static_cast<std::size_t>(k)),
            .b = b + place.col + static_cast<std::size_t>(own),
            .rows = place.row_count - row,
            .k = k};
  }
  [[nodiscard]] KOKKOS_FUNCTION float const* element_of_a(std::size_t row, std::size_t k) const {
    return Form::a_transposed ? a + k * tiles.rows + row : a + row * inner + k;
  }
  // Starts the copies of the panels of a stage, if there is one.
  KOKKOS_FUNCTION void start_b(Member const& team, Lanes const& lanes, Copies const& copies, Value<Source>& source,
                               int stage, FactorPack* packs) const {
    if (stage >= stages) return;
    Panels const to{packs, stage};
    lanes.each(
        [&](int lane, Source const& own) {
          FactorPack const* from = own.b + static_cast<std::size_t>(stage) * (eighths * terms * 2) * across;
          TESSERA_UNROLL
          for (int i = 0; i < eighths * terms; ++i) {
            FactorPack* const column = to.at(i / terms, i % terms) + team.team_rank() * Products::lanes + lane;
            TESSERA_UNROLL
            for (int half = 0; half < 2; ++half, from += across) {
              copies.template copy_async<16>(column + half * Tile::cols, from, true);
            }
          }
        },
        source);
  }
  // Starts the copies of a thread's part of the pieces of a step, if there are any.
  KOKKOS_FUNCTION void start_a(Member const& team, Lanes const& lanes, Copies const& copies, Value<Source>& source,
                               int step, FactorPack* packs) const {
    int const first = step * at_once;
    if (first >= stages * pieces) return;
    lanes.each(
        [&](int lane, Source const& own) {
          auto* to = reinterpret_cast<float*>(ring(packs, step) + team.team_rank() * Products::lanes) +
                     Part::place(Part::row(lane), Part::k(lane));
          TESSERA_UNROLL
          for (int i = first; i < first + at_once; ++i, to += piece * 4) {
            // 32 bits suffice: with k of 2^31 - 16 the panels of b would be a TiB.
            int const k = (i / pieces * eighths + i % eighths) * 8;
            int const left = inner < static_cast<std::size_t>(k) + 8 ? static_cast<int>(inner) - k : 8;
            int const row = i % pieces / eighths * Products::rows;
            float const* const from =
                own.a + (element_of_a(static_cast<std::size_t>(row), static_cast<std::size_t>(k)) - a);
            TESSERA_UNROLL
            for (int e = 0; e < 4; e += Width) {
              bool const take =
                  Form::a_transposed ? row + e < own.rows && own.k < left : row < own.rows && own.k + e < left;
              copies.template copy_async<4 * Width>(to + e, from + e, take);
            }
          }
        },
        source);
  }

  // A lane's part of a piece of a. Of each row it takes neighbours, the even one for the first half of the panel.
  KOKKOS_FUNCTION static void load(Member const& team, Lanes const& lanes, FactorPack const* packs, Value<A>& high,
                                   Value<A>& low) {
    float const* const part = reinterpret_cast<float const*>(packs + Products::lanes * team.team_rank());
    lanes.each(
        [&](int lane, A& high_own, A& low_own) {
          TESSERA_UNROLL
          for (int r = 0; r < 2; ++r) {
            auto const two = Part::two(part, lane / 4 + 8 * r, lane % 4 * 2);
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
/// accuracy). With a form that says so memory holds the transpose of a or b, and sums change as they are stored; elements do not
/// change as they are loaded (kernels/product_form.hpp).
///
/// Constructed once: allocates the workspace, 4 Terms k n bytes with what fills the tiles at the edges; it launches a small kernel and
/// waits. Calls only enqueue: two launches (one if k is 0, none if c is empty). Calls of one object must not run at the same time, since
/// they share the workspace. If k is 0, c becomes zeros (changed). Elements are those that Tf32Gemm takes.
template <ExecutionSpace Exec, int Terms, class Form = PlainProduct, class Tiling = WarpgroupTf32Tile<Terms>>
class WarpgroupTf32Gemm {
 public:
  using Tile = Tiling;
  static_assert(!Form::Load::changes, "Tessera: this kernel reads elements as they are stored: change them first");

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
    float const* const left =
        Form::a_transposed ? row_major(a, inner_, tiles_.rows) : row_major(a, tiles_.rows, inner_);
    float const* const right =
        Form::b_transposed ? row_major(b, tiles_.cols, inner_) : row_major(b, inner_, tiles_.cols);
    if (league_ == 0) return;
    [[maybe_unused]] bool const by_packs =
        (Form::a_transposed ? tiles_.rows : inner_) % 4 == 0 && collective::is_aligned_for_packs<4>(left);
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

  /// What an element may be off by besides, of two terms, for elements of a and b up to these: see lost_by_underflow_of_tf32().
  [[nodiscard]] double lost_by_underflow(double largest_of_a, double largest_of_b) const {
    return lost_by_underflow_of_tf32(inner_, largest_of_a, largest_of_b);
  }

  // Public because a device kernel may not be launched from a private function.
  void split(Exec const& exec, float const* b) const {
    std::size_t const calls = eighths() * across_;
    Kokkos::parallel_for(label_ + "::split", Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::size_t>>(exec, 0, calls),
                         detail::PackTerms<Terms>{.from = b,
                                                  .k = inner_,
                                                  .cols = tiles_.cols,
                                                  .next_k = Form::b_transposed ? 1 : tiles_.cols,
                                                  .next_col = Form::b_transposed ? inner_ : 1,
                                                  .padded = across_,
                                                  .divider = collective::Divider(across_),
                                                  .packed = b_.data()});
  }
  template <int Width>
  void multiply(Exec const& exec, float const* a, float* c, Form const& form) const {
    using Product = detail::WarpgroupTf32Product<Exec, lane::On<Exec, collective::AnyWarpgroup::lanes>, Tile,
                                                 collective::Warpgroup<collective::Tf32>,
                                                 collective::HardwareCopiesPastL1, Form, Width>;
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

/// c = a b (see WarpgroupTf32Gemm), c overlapping neither. For a single use: it allocates, enqueues, and waits.
template <int Terms, ExecutionSpace Exec, class A, class B, class C, class Form = PlainProduct>
void warpgroup_tf32_gemm(Exec const& exec, A const& a, B const& b, C const& c, Form const& form = {}) {
  std::size_t const k = a.extent(Form::a_transposed ? 0 : 1);
  WarpgroupTf32Gemm<Exec, Terms, Form> const product(exec, c.extent(0), c.extent(1), k);
  product(exec, a, b, c, form);
  exec.fence("tessera: warpgroup_tf32_gemm");  // the workspace is freed at the end of this call
}

}  // namespace tessera::kernels
