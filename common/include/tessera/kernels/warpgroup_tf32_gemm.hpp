#pragma once
/// \file
/// The product of two matrices of floats, c = a b, by warpgroups with tf32 factors. It computes the same as Tf32Gemm
/// (kernels/tf32_gemm.hpp), with the same accuracy, using instructions that only GPUs of compute capability 9.0 have
/// (collective/warpgroup.hpp).
///
///     pack       b  -->  terms, as panels in memory                                    the first kernel
///     -------------------------------------------------------------------------------------------------
///     load       panels of b and pieces of a  -->  scratch, some stages ahead  <--+    the second kernel
///     load       a piece of a, split into terms  -->  registers                   |
///     multiply   sums += a x b, small terms first  -------------------------------+    for each stage
///     store      sums  -->  c, as the form says
///
/// Two launches. The first one splits b into terms and writes them to a workspace, as panels of 8 of k:
///
///     packed b   [k / 8][term][2][n] packs of 4 of k: first the even k, then the odd ones; columns reordered
///
/// The second one computes c. A team is one warpgroup, and its tile is 128 x 128: two strips of 64 rows. a is copied
/// unchanged, in pieces of 8 of k of a strip. A lane reads two neighbours of k from two rows of a piece, splits them,
/// and keeps them in registers as its part of a. So a needs no workspace, and scratch is read once for all terms. A
/// stage has 8 of k for each term:
///
///     stage, one term    2 pieces of a of 2 KiB, 1 panel of b of 4 KiB
///     stage, two terms   4 pieces, 4 panels: high and low of the first 8 of k (x), high and low of the other 8 (y)
///
/// With one term the unit keeps all sums. With two terms, 16 of k of a strip are six products, in separate sums that
/// start at 0: first the four products of a high and a low part, then the two of high parts. They are added to the
/// tile's sums in float: matrix units truncate, a float addition rounds to nearest.
///
/// A stage has one barrier: after it all lanes' copies of its panels have arrived, and no thread reads the places of
/// the next panels. With two terms there are three places for y high, which a stage's last product reads, and two for
/// the other panels. Therefore the last product may still run while the threads wait at the barrier and load the next
/// pieces. Pieces of a need no barrier: a thread copies its own 16 rows, a lane one pack, and after loading a piece it
/// starts copying a later one to the same place. Two terms use 9 panels and 5 pieces of scratch, 46 of the 48 KiB that
/// Kokkos provides. Two teams share a multiprocessor: while one loads or adds, the other multiplies.
///
/// As in kernels/warpgroup_gemm.hpp, a panel stores 16 columns of b as the eight even ones followed by the eight odd
/// ones: a lane's sums are groups of four neighbours of c.
///
/// Traffic in bytes, with two terms and tiles of M x N: 12 k n to split b, m n k (4 / N + 8 / M) mostly from the cache,
/// 4 m n written.
///
/// Example: a = [0 1; 2 3], b = [0 2; 4 6] -> c = [4 6; 12 22]; small integers are exact.
///
/// Use:  warpgroup_tf32_gemm<2>(exec, a, b, c);
///   or, if a is stored as [k, m]:  warpgroup_tf32_gemm<2>(exec, a, b, c, TransposedA{});
///   or, enqueued many times:  WarpgroupTf32Gemm<Kokkos::Cuda, 2> gemm(exec, m, n, k);  gemm(exec, a, b, c);
/// The file must be compiled by nvcc for compute capability 9.0a (`-arch=sm_90a`); Kokkos' own flags select 9.0. In
/// other code the constructor throws Skip.

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
#include <tessera/kernels/detail/gemm/matrix_unit_gemm.hpp>
#include <tessera/kernels/detail/gemm/matrix_units.hpp>
#include <tessera/kernels/detail/gemm/warpgroups.hpp>
#include <tessera/kernels/product_form.hpp>

namespace tessera::kernels {

/// A team's tile of c. `Ahead`: stages of b in flight. `Ring`: pieces of a in scratch. Registers suffice for two teams
/// per multiprocessor: two terms use 252 registers.
template <int Terms, int Ahead = Terms == 2 ? 1 : 3, int Ring = Terms == 2 ? 5 : 2 * Ahead>
struct WarpgroupTf32Tile {
  static_assert(Terms == 1 || Terms == 2, "Tessera: a factor has one or two terms");
  static_assert(Ahead >= 1, "Tessera: a stage must be in flight while another is multiplied");
  static constexpr int terms = Terms;
  static constexpr int ahead = Ahead;
  static constexpr int ring = Ring;
  static constexpr int teams = 2;
  static constexpr int threads = collective::AnyWarpgroup::threads;
  static constexpr int lanes = threads * collective::AnyWarpgroup::lanes;
  static constexpr int rows = 2 * collective::AnyWarpgroup::rows;
  static constexpr int cols = collective::AnyWarpgroup::cols;
  static constexpr int eighths = Terms;  ///< per stage, each 8 of k
  static constexpr int depth = eighths * collective::Warpgroup<collective::Tf32>::depth;
};

namespace detail {

/// Splits a matrix of `k` x `cols` into terms and writes its panels, with zeros outside the matrix. One call per 8 of k
/// of a column. Consecutive calls read neighbouring elements of the matrix, or 32 bytes each of its transpose.
template <int Terms>
struct PackTerms {
  float const* from;
  std::size_t k;
  std::size_t cols;
  std::size_t next_k;           // distance from an element to the next k
  std::size_t next_col;         // distance from an element to the next column
  std::size_t padded;           // columns of the panels, a multiple of 16
  collective::Divider divider;  // divides by `padded`
  collective::FactorPack* packed;

  KOKKOS_FUNCTION void operator()(std::size_t i) const {
    std::size_t const eighth = divider(i);
    std::size_t const col = i - eighth * padded;
    collective::FactorPack terms[Terms][2];
    TESSERA_UNROLL
    for (int e = 0; e < 8; ++e) {
      std::size_t const row = 8 * eighth + e;
      float const value = row < k && col < cols ? from[row * next_k + col * next_col] : 0.0F;
      float numbers[2];
      collective::split_to_tf32<Terms>(value, numbers[0], numbers[1]);
      TESSERA_UNROLL
      for (int term = 0; term < Terms; ++term) {
        terms[term][e % 2][e / 2] = Kokkos::bit_cast<std::uint32_t>(numbers[term]);
      }
    }
    collective::FactorPack* to = packed + eighth * 2 * Terms * padded + col / 16 * 16 + col % 2 * 8 + col % 16 / 2;
    unrolled<Terms, 2>([&](int term, int half) {
      *to = terms[term][half];
      to += padded;
    });
  }
};

// A thread's 16 rows of a piece are 32 packs in scratch. row() and k() return the first element of the pack that a lane
// copies. place() returns the place of an element. two() loads k and k + 1 of a row, so that the lanes together read
// from all banks.

/// For a stored by rows. A pack is four neighbours of k.
struct PacksOfRows {
  [[nodiscard]] KOKKOS_FUNCTION static int row(int lane) { return lane / 2; }
  [[nodiscard]] KOKKOS_FUNCTION static int k(int lane) { return lane % 2 * 4; }
  [[nodiscard]] KOKKOS_FUNCTION static int place(int row, int k) { return 8 * row + k; }
  [[nodiscard]] KOKKOS_FUNCTION static collective::Pack<float, 2> two(float const* part, int row, int k) {
    return collective::pack_at<2>(part + place(row, k));
  }
};
/// For a stored as its transpose. A pack is four neighbouring rows. Each half of the banks holds two of the even k and
/// two of the odd k; one of the two has the halves of its rows exchanged.
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
/// \tparam Width elements of a per copy: 4 if its rows, as stored, begin on 16-byte boundaries; otherwise 1
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
  static constexpr int panel = 2 * Tile::cols;      // packs per term of b and 8 of k
  static constexpr int piece = 2 * Products::rows;  // packs per strip of a and 8 of k
  static constexpr int pieces = 2 * eighths;        // per stage: one strip's pieces, then the other's
  // A step loads as many pieces as a thread has registers for, and starts copying later pieces to their places.
  static constexpr int at_once = terms == 2 ? 1 : 2;
  static constexpr int steps = pieces / at_once;  // per stage
  static constexpr int steps_ahead = Tile::ring / at_once;
  static_assert(Tile::ring % at_once == 0 && steps_ahead >= steps && steps_ahead < (ahead + 1) * steps,
                "Tessera: when a stage begins, its pieces and panels must have arrived");
  // Panels of a stage that its last product reads, and the other panels.
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
  int stages;          // along k
  collective::MatrixTiles tiles;
  Store store;
  bool by_packs;  // c can be written four elements at a time

  [[nodiscard]] static std::size_t scratch_bytes() { return Scratch::shmem_size(all_packs) + bytes_to_a_line<Exec>; }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Scratch const scratch(team.team_scratch(0), all_packs);
    FactorPack* const packs = on_a_line(scratch.data());
    auto const place = tiles.place(team.league_rank());
    Lanes const lanes;
    Copies const copies;
    Products const products(team.team_rank());
    Value<Source> source = lanes.template fill<Source>(Source{});
    lanes.each([&](int lane, Source& own) { own = source_of(place, team.team_rank() * Products::lanes + lane); },
               source);
    Sums sums[2];
    for (Sums& own : sums) own = zeros(lanes);
    // A step: loads a thread's part of some pieces, and refills their places. The first step of a stage also starts
    // panels.
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
    [[maybe_unused]] Sums own = zeros(lanes);  // two terms: the sums of a stage and one strip
    Value<A> high[2];
    Value<A> low[2];
    for (int stage = 0; stage < stages; ++stage) {
      copies.template wait<steps_ahead - steps>();  // this lane's copies for the stage have arrived
      products.see_copies();
      products.template wait<late>();  // all products that read the places of the next panels
      team.team_barrier();
      Panels const b_of{packs, stage};
      if constexpr (terms == 2) {
        TESSERA_UNROLL
        for (int s = 0; s < 2; ++s) {
          // The previous strip's last product may still run: it does not read these registers.
          products.template wait<1>();
          take(stage, 2 * s, high, low);
          products.template wait<0>();
          collective::add_sums(lanes, sums[1 - s], own);  // the other strip's; nothing at first
          // Small products come first: they are added to each other before a large sum.
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
    if constexpr (terms == 2) collective::add_sums(lanes, sums[1], own);
    store_panel_sums<Products>(lanes, sums, c, place, tiles.cols, team.team_rank(), store, by_packs);
    leave_scratch(team);
  }

 private:
  // ---- load

  // The places of a stage's panels in scratch: first the early panels of all stages in scratch, then the late panels.
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
  // Returns the place of the pieces of a step.
  [[nodiscard]] KOKKOS_FUNCTION static FactorPack* ring(FactorPack* packs, int step) {
    return packs + packs_of_b + step % steps_ahead * (at_once * piece);
  }
  [[nodiscard]] KOKKOS_FUNCTION static Sums zeros(Lanes const& lanes) {
    return lanes.template fill<collective::WarpgroupSums>(collective::WarpgroupSums{});
  }

  // The source of a lane's first copies of a and of b; its other copies are at fixed distances. The lanes of a team
  // correspond to the columns of a panel.
  struct Source {
    float const* a;
    FactorPack const* b;
    int rows;  // remaining rows of the tile, from the lane's first one on
    int k;     // the lane's first k in a piece
  };
  [[nodiscard]] KOKKOS_FUNCTION Source source_of(collective::MatrixTiles::Place const& place, int own) const {
    int const lane = own % Products::lanes;
    int const row = own / Products::lanes * 16 + Part::row(lane);
    int const k = Part::k(lane);
    return {.a = element_of_a(place.row + row, k), .b = b + place.col + own, .rows = place.row_count - row, .k = k};
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
          unrolled<eighths, terms, 2>([&](int eighth, int term, int half) {
            FactorPack* const column = to.at(eighth, term) + team.team_rank() * Products::lanes + lane;
            copies.template copy_async<16>(column + half * Tile::cols, from, true);
            from += across;
          });
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
            // 32 bits are enough: with k of 2^31 - 16 the panels of b would take a TiB.
            int const k = (i / pieces * eighths + i % eighths) * 8;
            int const left = inner < static_cast<std::size_t>(k) + 8 ? static_cast<int>(inner) - k : 8;
            int const row = i % pieces / eighths * Products::rows;
            float const* const from = own.a + (element_of_a(row, k) - a);
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

  // Loads a lane's part of a piece of a. It takes two neighbours of each row, the even one for the first half of the
  // panel.
  KOKKOS_FUNCTION static void load(Member const& team, Lanes const& lanes, FactorPack const* packs, Value<A>& high,
                                   Value<A>& low) {
    float const* const part = reinterpret_cast<float const*>(packs + Products::lanes * team.team_rank());
    lanes.each(
        [&](int lane, A& high_own, A& low_own) {
          unrolled<2>([&](int r) {
            auto const two = Part::two(part, lane / 4 + 8 * r, lane % 4 * 2);
            collective::split_to_tf32<terms>(two[0], high_own.at[r], low_own.at[r]);
            collective::split_to_tf32<terms>(two[1], high_own.at[r + 2], low_own.at[r + 2]);
          });
        },
        high, low);
  }
};

}  // namespace detail

/// c = a b for a [m, k], b [k, n] and c [m, n] of floats, with `Terms` tf32 numbers per factor: 1 (11 bits) or 2 (float
/// accuracy). Depending on the form, a or b is stored transposed, and sums change as they are stored
/// (kernels/product_form.hpp). Forms that change elements as they are loaded are not supported.
///
/// All matrices must be row-major; c must not overlap a or b. A call throws std::invalid_argument for other extents or
/// strides.
///
/// The constructor allocates the workspace, 4 Terms k n bytes plus the padding of tiles at the edges; it launches a
/// small kernel and waits. Calls only enqueue: two launches (one if k is 0, none if c is empty). Calls of one object
/// must not run concurrently, because they share the workspace. If k is 0, c becomes zeros, changed as the form says.
/// Elements must be in the same range as for Tf32Gemm.
template <ExecutionSpace Exec, int Terms, class Form = PlainProduct, class Tiling = WarpgroupTf32Tile<Terms>>
class WarpgroupTf32Gemm
    : public MatrixUnitGemm<WarpgroupTf32Gemm<Exec, Terms, Form, Tiling>, Exec, Form, can_have_units_of_warps<Exec>> {
  using Base = MatrixUnitGemm<WarpgroupTf32Gemm, Exec, Form, can_have_units_of_warps<Exec>>;

 public:
  using Tile = Tiling;
  static_assert(!Form::Load::changes, "Tessera: this kernel reads elements as they are stored: change them first");

  /// Throws Skip if the device, or the code that was compiled for it, has no warpgroups.
  WarpgroupTf32Gemm(Exec const& exec, std::size_t m, std::size_t n, std::size_t k,
                    std::string label = "tessera::warpgroup_tf32_gemm")
      : Base(m, n, k, std::move(label)), stages_(tiles_of(k, Tile::depth)) {
    this->template cut_into_tiles<Tile>();
    detail::require_warpgroups<WarpgroupTf32Gemm>(exec);
    if (league_ == 0) return;
    across_ = tiles_.across() * Tile::cols;
    b_ = Workspace(Kokkos::view_alloc(exec, Kokkos::WithoutInitializing, label_ + "::b"),
                   eighths() * 2 * Terms * across_);
  }

  /// Returns the number of float additions per element. With one term it is 1: a matrix unit makes all sums, and their
  /// errors are not independent roundings (see error()).
  [[nodiscard]] double rounding_steps() const { return Terms == 1 ? 1 : static_cast<double>(stages_); }
  /// Returns a bound on the other errors of a result, relative to its sum of magnitudes. As in Tf32Gemm, a product of
  /// the unit loses 20 u of the largest number in it, or twice 12 u if the unit takes four of k at a time.
  ///
  /// One term: 24 u for each 8 of k; the error of each factor is 2^-11.
  ///
  /// Two terms: 4 u for truncating the low parts, 4 u for omitting low low. For 16 of k the two products of high parts
  /// lose 24 u each. The four products of a high and a low part are 2^-10 of that size: they lose 0.2 u, and enlarge
  /// the sum, which costs another 0.2 u. The total is below 57 u.
  [[nodiscard]] double error() const {
    double const u = unit_roundoff(DType::float32);
    return Terms == 1 ? 0x1p-10 + 0x1p-22 + 24 * u * static_cast<double>(eighths()) : 57 * u;
  }

  /// Returns the additional error of an element by underflow with two terms, if elements of a and b are at most this
  /// large: see lost_by_underflow_of_tf32().
  [[nodiscard]] double lost_by_underflow(double largest_of_a, double largest_of_b) const {
    return lost_by_underflow_of_tf32(k_, largest_of_a, largest_of_b);
  }

  // Public because a device kernel may not be launched from a private function.
  void enqueue(Exec const& exec, float const* a, float const* b, float* c, Form const& form) const {
    if (stages_ > 0) split(exec, b);
    bool const by_packs = (Form::a_transposed ? m_ : k_) % 4 == 0 && collective::is_aligned_for_packs<4>(a);
    by_packs ? multiply<4>(exec, a, c, form) : multiply<1>(exec, a, c, form);
  }
  void split(Exec const& exec, float const* b) const {
    std::size_t const calls = eighths() * across_;
    Kokkos::parallel_for(label_ + "::split", over(exec, calls),
                         detail::PackTerms<Terms>{.from = b,
                                                  .k = k_,
                                                  .cols = n_,
                                                  .next_k = Form::b_transposed ? 1 : n_,
                                                  .next_col = Form::b_transposed ? k_ : 1,
                                                  .padded = across_,
                                                  .divider = collective::Divider(across_),
                                                  .packed = b_.data()});
  }
  template <int Width>
  void multiply(Exec const& exec, float const* a, float* c, Form const& form) const {
    using Product = detail::WarpgroupTf32Product<Exec, lane::On<Exec, collective::AnyWarpgroup::lanes>, Tile,
                                                 collective::Warpgroup<collective::Tf32>,
                                                 collective::HardwareCopiesPastL1, Form, Width>;
    bool const by_packs = n_ % 4 == 0 && collective::is_aligned_for_packs<4>(c);
    this->template launch<Tile>(
        exec, Product{a, b_.data(), c, k_, across_, static_cast<int>(stages_), tiles_, form.store, by_packs});
  }

 private:
  using Workspace = Kokkos::View<collective::FactorPack*, typename Exec::memory_space>;

  [[nodiscard]] std::size_t eighths() const { return stages_ * Tile::eighths; }

  using Base::k_, Base::label_, Base::league_, Base::m_, Base::n_, Base::tiles_;
  std::size_t stages_;      // along k
  std::size_t across_ = 0;  // columns of b's panels, including padding
  Workspace b_;
};

/// c = a b (see WarpgroupTf32Gemm); c must not overlap a or b. For a single use: it allocates, enqueues, and waits.
template <int Terms, ExecutionSpace Exec, class A, class B, class C, class Form = PlainProduct>
void warpgroup_tf32_gemm(Exec const& exec, A const& a, B const& b, C const& c, Form const& form = {}) {
  multiply_once<WarpgroupTf32Gemm<Exec, Terms, Form>>(exec, a, b, c, form, "tessera: warpgroup_tf32_gemm");
}

}  // namespace tessera::kernels
