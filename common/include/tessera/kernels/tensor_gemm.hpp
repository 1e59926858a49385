#pragma once
/// \file
/// The product of two matrices of floats, c = a b, on matrix units (tensor cores) with 16-bit factors: a and b are
/// rounded to Half or BFloat16, and sums are floats. About ten times as fast as Gemm on a GPU, with the accuracy of the
/// factors' 11 or 8 bits.
///
///     pack       a, b  -->  rounded blocks in memory                            the first kernel
///     ------------------------------------------------------------------------------------------
///     load       a stage of blocks  -->  scratch, some stages ahead  <--+       the second kernel
///     load       blocks of a and of b  -->  registers                   |
///     multiply   sums += a x b  ----------------------------------------+       for each stage
///     store      sums  -->  c, as the form says
///
/// Two launches. The first one rounds a and b and writes them to a workspace, in the order in which lanes hold them:
///
///     block      16 x 16 elements, 8 factors per lane: 16 bytes (with 64 lanes 4 factors, 8 bytes)
///     packed a   [k / 16][m / 16] blocks         packed b   [k / 16][n / 16] blocks
///
/// For 16 of k a team needs one contiguous run of a's blocks and one of b's. Asynchronous copies load them some stages
/// ahead, and lanes read them from scratch in accesses of 16 bytes without bank conflicts. Blocks at the edges are
/// filled with zeros, so the second launch, the product, needs no condition until it stores c.
///
/// A product of two blocks, 16 x 16 x 16, is two products of a unit of 32 lanes, or one of a unit of 64. The order of k
/// and the order of columns do not matter. Therefore a lane has four neighbours of k (4 t .. 4 t + 3 with t =
/// four_of(lane)) in each of its rows and columns, and its sums in a row of c are four neighbours, too.
///
///     tile of c 128 x 64 = 2 threads (warps), each 64 x 64 = 4 x 4 products of blocks
///
/// Teams are small, and four of them share a multiprocessor: while one waits at its barrier, the units work for the
/// others.
///
/// Traffic in bytes, with tiles of M x N: 6 (m k + k n) to pack, 2 m n k (1 / M + 1 / N) mostly from the cache, 4 m n
/// written.
///
/// Example: a = [0 1; 2 3], b = [0 2; 4 6] -> c = [4 6; 12 22]; small integers are exact.
///
/// Use:  tensor_gemm<BFloat16>(exec, a, b, c);
/// or, enqueued many times:  TensorGemm<Exec, BFloat16> gemm(exec, m, n, k);  gemm(exec, a, b, c);
///
/// Source of the pipeline: NVIDIA, CUTLASS, "Efficient GEMM in CUDA" (its documentation).

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include <tessera/collective/async_copy.hpp>
#include <tessera/collective/divider.hpp>
#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/lane/matrix_unit.hpp>
#include <tessera/collective/matrix_tiles.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/core/half.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/core/unroll.hpp>
#include <tessera/kernels/detail/gemm/matrix_unit_gemm.hpp>
#include <tessera/kernels/detail/gemm/matrix_units.hpp>
#include <tessera/kernels/detail/gemm/pack_factors.hpp>
#include <tessera/kernels/detail/gemm/store_four.hpp>
#include <tessera/kernels/product_form.hpp>

namespace tessera::kernels {

/// How a team splits its tile of c: `down` x `across` threads of `width` lanes, each with `strips` strips of 16 rows
/// and `pairs` groups of 16 columns. A stage of scratch holds `slices` times 16 of k.
template <int Down, int Across, int Strips, int Pairs, int Stages, int Slices, int MostTeams, int Lanes = 32>
struct TensorTile {
  static constexpr int edge = 16;  ///< rows and columns of a block
  static constexpr int down = Down;
  static constexpr int across = Across;
  static constexpr int strips = Strips;
  static constexpr int pairs = Pairs;
  static constexpr int stages = Stages;
  static constexpr int slices = Slices;
  static constexpr int teams = MostTeams;  ///< teams per multiprocessor; registers must suffice for them
  static constexpr int threads = Down * Across;
  static constexpr int width = Lanes;  ///< lanes of a matrix unit
  static constexpr int lanes = threads * width;
  static constexpr int rows = Down * Strips * edge;
  static constexpr int cols = Across * Pairs * edge;
  static constexpr int depth = Slices * edge;  ///< k per stage
  static_assert(Stages >= 2, "Tessera: one stage is read while others are in flight");
};

/// The tiles of c. Large is used if there are more tiles than all multiprocessors compute at once, otherwise Small,
/// which has more threads to keep the units busy. On hosts a team is one thread that emulates the lanes: for tests.
template <ExecutionSpace Exec>
struct TensorGemmTuning {
  using Large = TensorTile<1, 1, 2, 2, 2, 2, 1>;
  using Small = TensorTile<1, 1, 1, 2, 2, 2, 1>;
  static constexpr std::size_t lanes_of_multiprocessor = 1;
};

/// On an H200, Large and Small reach 385 and 343 TFLOP/s for 4096^3, 237 and 254 for 2048^3, and 93 and 115 for 1024^3,
/// rounding included. Larger tiles gain for 8192^3 (128 x 96: 420 instead of 405), and lose for 4096^3, where their
/// last round is half empty.
template <ExecutionSpace Exec>
  requires(is_gpu<Exec> && collective::matrix_lanes<Exec> == 32)
struct TensorGemmTuning<Exec> {
  using Large = TensorTile<2, 1, 4, 4, 3, 2, 4>;
  using Small = TensorTile<2, 2, 2, 4, 3, 2, 4>;
  static constexpr std::size_t lanes_of_multiprocessor = 2048;
};
/// For wavefronts: the same tile of c for large products, with half as many sums per lane, and 64 x 64 for small ones.
/// Chosen by registers and scratch; not yet timed on AMD hardware.
template <ExecutionSpace Exec>
  requires(is_gpu<Exec> && collective::matrix_lanes<Exec> == 64)
struct TensorGemmTuning<Exec> {
  using Large = TensorTile<2, 1, 4, 4, 2, 2, 1, 64>;
  using Small = TensorTile<2, 2, 2, 2, 2, 2, 1, 64>;
  static constexpr std::size_t lanes_of_multiprocessor = 2048;
};

namespace detail {

/// A lane's part of a block, two factors per word.
template <int Lanes>
using FactorWords = collective::Pack<std::uint32_t, 128 / Lanes>;

/// Rounds a [m, k], or its transpose [k, m], and writes its blocks. One call per lane of each block; consecutive calls
/// go through a row of blocks.
template <class Factor, class Form, int Lanes>
struct PackLeft {
  using Unit = collective::MatrixUnit<Factor, Lanes>;
  using Words = FactorWords<Lanes>;

  RowsOfFactors<Form::a_transposed, typename Form::Load> a;
  std::size_t down;         // blocks of the workspace along m
  std::size_t along;        // blocks along k
  collective::Divider row;  // divides by `along`
  Words* packed;

  KOKKOS_FUNCTION void operator()(std::size_t i) const {
    auto const lane = static_cast<int>(i % Unit::lanes);
    std::size_t const block = i / Unit::lanes;
    std::size_t const block_row = row(block);
    std::size_t const slice = block - block_row * along;
    Words words;
    unrolled<Unit::groups>([&](int group) {
      auto const four =
          a.four(block_row * 16 + (Unit::line_of(lane) + Unit::lines * group), slice * 16 + Unit::four_of(lane) * 4);
      words[group] = Unit::word(four[0], four[1]);
      words[group + Unit::groups] = Unit::word(four[2], four[3]);
    });
    packed[(slice * down + block_row) * Unit::lanes + lane] = words;
  }
};

/// Rounds b [k, n], or its transpose [n, k], and writes its blocks. One call per lane of each block; consecutive calls
/// go through 16 rows of b.
template <class Factor, class Form, int Lanes>
struct PackRight {
  using Unit = collective::MatrixUnit<Factor, Lanes>;
  using Words = FactorWords<Lanes>;
  static constexpr int columns = 16 / Unit::cols;  // per lane: one of each product
  using Columns = collective::Pack<float, columns>;

  float const* b;
  std::size_t k;
  std::size_t n;
  std::size_t across;         // blocks of the workspace along n
  collective::Divider slice;  // divides by `across`
  bool is_aligned;            // rows can be read `columns` elements at a time
  Words* packed;

  KOKKOS_FUNCTION void operator()(std::size_t i) const {
    auto const lane = static_cast<int>(i % Unit::lanes);
    std::size_t const block = i / Unit::lanes;
    std::size_t const block_row = slice(block);
    std::size_t const row = block_row * 16 + Unit::four_of(lane) * 4;
    // A lane's column of each product. With two products, the first one has the even columns: the lane's sums, columns
    // 2 t and 2 t + 1 of both products, are then four neighbours.
    std::size_t const col = (block - block_row * across) * 16 + Unit::line_of(lane) * columns;
    Columns const of_row[4] = {columns_of(row, col), columns_of(row + 1, col), columns_of(row + 2, col),
                               columns_of(row + 3, col)};
    Words words;
    unrolled<columns>([&](int product) {
      words[2 * product] = Unit::word(of_row[0][product], of_row[1][product]);
      words[2 * product + 1] = Unit::word(of_row[2][product], of_row[3][product]);
    });
    packed[block * Unit::lanes + lane] = words;
  }

 private:
  // Returns the elements of row r from `col` on, zeros outside the matrix.
  [[nodiscard]] KOKKOS_FUNCTION Columns columns_of(std::size_t r, std::size_t col) const {
    Columns elements{};
    if (r >= k || col >= n) return elements;
    if (!Form::b_transposed && is_aligned) return collective::pack_at<columns>(b + r * n + col);
    for (std::size_t e = 0; e < columns && col + e < n; ++e) {
      elements[static_cast<int>(e)] = Form::b_transposed ? b[(col + e) * k + r] : b[r * n + col + e];
    }
    return elements;
  }
};

/// The product of packed factors.
template <class Exec, class Lanes, class Factor, class Tile, collective::AsyncCopies Copies, class Store>
struct PackedProduct {
  using Unit = collective::MatrixUnit<Factor, Tile::width>;
  using Policy = Kokkos::TeamPolicy<Exec, Kokkos::LaunchBounds<Tile::lanes, Tile::teams>>;
  using Member = typename Policy::member_type;
  using Words = FactorWords<Tile::width>;
  using Scratch = ScratchView<Words*, Exec>;
  template <class V>
  using Value = typename Lanes::template Value<V>;
  static constexpr int strips = Tile::strips;
  static constexpr int products = 16 / Unit::cols;  // per pair of blocks
  static constexpr int panels = products * Tile::pairs;
  static constexpr int packs_of_a = Tile::rows / 16 * Unit::lanes;  // per slice
  static constexpr int packs_of_b = Tile::cols / 16 * Unit::lanes;
  static constexpr int packs_of_slice = packs_of_a + packs_of_b;
  static constexpr int packs_of_stage = Tile::slices * packs_of_slice;

  Words const* a;
  Words const* b;
  float* c;
  std::size_t down;    // blocks of a in a slice
  std::size_t across;  // blocks of b in a slice
  int stages;          // along k
  collective::MatrixTiles tiles;
  Store store;
  bool by_packs;  // c can be written four elements at a time

  [[nodiscard]] static std::size_t scratch_bytes() {
    return Scratch::shmem_size(Tile::stages * packs_of_stage) + bytes_to_a_line<Exec>;
  }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Scratch const scratch(team.team_scratch(0), Tile::stages * packs_of_stage);
    Words* const slots = on_a_line(scratch.data());
    auto const place = tiles.place(team.league_rank());
    Lanes const lanes;
    Copies const copies;
    Value<Source> source = lanes.template fill<Source>(Source{});
    lanes.each(
        [&](int lane, Source& own) {
          int const first = team.team_rank() * Unit::lanes + lane;
          own = {a + place.row / 16 * Unit::lanes + first, b + place.col / 16 * Unit::lanes + first, first};
        },
        source);
    Value<Sum> sums[strips][panels];
    for (auto& row : sums) {
      for (auto& sum : row) sum = lanes.template fill<Sum>(Sum{});
    }
    for (int ahead = 0; ahead < Tile::stages - 1; ++ahead) {
      start(lanes, copies, source, ahead < stages, slots + ahead * packs_of_stage);
    }
    int slot = 0;
    int next = Tile::stages - 1;
    for (int stage = 0; stage < stages; ++stage) {
      copies.template wait<Tile::stages - 2>();
      // After the barrier all threads' copies of this stage have arrived, and no thread reads the previous stage.
      team.team_barrier();
      Words const* const slices = slots + slot * packs_of_stage;
      Value<typename Unit::A> left[strips];
      load_left(team, lanes, slices, left);
      // Start the next copies while these loads are in flight.
      start(lanes, copies, source, stage + Tile::stages - 1 < stages, slots + next * packs_of_stage);
      multiply(team, lanes, left, slices, sums);
      TESSERA_UNROLL
      for (int slice = 1; slice < Tile::slices; ++slice) {
        load_left(team, lanes, slices + slice * packs_of_slice, left);
        multiply(team, lanes, left, slices + slice * packs_of_slice, sums);
      }
      slot = slot + 1 == Tile::stages ? 0 : slot + 1;
      next = next + 1 == Tile::stages ? 0 : next + 1;
    }
    store_tile(team, lanes, place, sums);
    leave_scratch(team);
  }

 private:
  using Sum = typename Unit::C;

  // ---- load

  // The source and place in a stage of a lane's first pack; its other packs are at fixed distances.
  struct Source {
    Words const* a;
    Words const* b;
    int first;
  };

  // Starts the copies of the next stage, if there is one.
  KOKKOS_FUNCTION void start(Lanes const& lanes, Copies const& copies, Value<Source>& source, bool is_one,
                             Words* stage) const {
    if (is_one) {
      lanes.each(
          [&](int, Source& own) {
            Words* to = stage + own.first;
            TESSERA_UNROLL
            for (int s = 0; s < Tile::slices; ++s, to += packs_of_slice) {
              copy<packs_of_a>(copies, own.a, own.first, to);
              copy<packs_of_b>(copies, own.b, own.first, to + packs_of_a);
              own.a += down * Unit::lanes;
              own.b += across * Unit::lanes;
            }
          },
          source);
    }
    copies.commit();
  }
  // Copies a lane's share of `packs` packs.
  template <int packs>
  KOKKOS_FUNCTION static void copy(Copies const& copies, Words const* from, int first, Words* to) {
    TESSERA_UNROLL
    for (int i = 0; i < packs; i += Tile::lanes) {
      if (packs % Tile::lanes == 0 || first + i < packs) {
        copies.template copy_async<static_cast<int>(sizeof(Words))>(to + i, from + i, true);
      }
    }
  }

  // Reads this thread's rows of a slice of a.
  KOKKOS_FUNCTION static void load_left(Member const& team, Lanes const& lanes, Words const* slice,
                                        Value<typename Unit::A> (&left)[strips]) {
    Words const* const own_rows = slice + team.team_rank() / Tile::across * strips * Unit::lanes;
    unrolled<strips>([&](int s) {
      lanes.each(
          [&](int lane, typename Unit::A& own) {
            Words const words = own_rows[s * Unit::lanes + lane];
            unrolled<128 / Unit::lanes>([&](int w) { own.at[w] = words[w]; });
          },
          left[s]);
    });
  }

  // Reads a block of b. The compiler makes one access per lane of it.
  KOKKOS_FUNCTION static void load_right(Lanes const& lanes, Words const* block,
                                         Value<typename Unit::B> (&right)[products]) {
    unrolled<products>([&](int i) {
      lanes.each(
          [&](int lane, typename Unit::B& own) {
            Words const words = block[lane];
            own = {{words[2 * i], words[2 * i + 1]}};
          },
          right[i]);
    });
  }

  // ---- multiply

  // Adds the products of a slice to this thread's sums.
  KOKKOS_FUNCTION static void multiply(Member const& team, Lanes const& lanes,
                                       Value<typename Unit::A> const (&left)[strips], Words const* slice,
                                       Value<Sum> (&sums)[strips][panels]) {
    Words const* const own_cols = slice + packs_of_a + team.team_rank() % Tile::across * Tile::pairs * Unit::lanes;
    unrolled<Tile::pairs>([&](int p) {
      Value<typename Unit::B> right[products];
      load_right(lanes, own_cols + p * Unit::lanes, right);
      unrolled<strips, products>(
          [&](int s, int i) { collective::multiply_add(Unit{}, lanes, sums[s][products * p + i], left[s], right[i]); });
    });
  }

  // ---- store

  // Stores the sums that lie in the matrix c.
  KOKKOS_FUNCTION void store_tile(Member const& team, Lanes const& lanes, collective::MatrixTiles::Place const& place,
                                  Value<Sum> (&sums)[strips][panels]) const {
    int const first_row = team.team_rank() / Tile::across * strips * 16;
    int const first_col = team.team_rank() % Tile::across * Tile::pairs * 16;
    unrolled<strips, Tile::pairs>([&](int s, int p) {
      auto* const own = sums[s] + products * p;
      auto const store_sums = [&](int lane, auto const&... all) {
        Sum const of_products[products] = {all...};
        store_block(lane, place, first_row + s * 16, first_col + p * 16, of_products);
      };
      if constexpr (products == 2) {
        lanes.each(store_sums, own[0], own[1]);
      } else {
        lanes.each(store_sums, own[0]);
      }
    });
  }

  // Stores a lane's sums of a block of c that begins at `first_row`, `first_col` of the tile: four neighbours in each
  // of its rows.
  KOKKOS_FUNCTION void store_block(int lane, collective::MatrixTiles::Place const& place, int first_row, int first_col,
                                   Sum const (&sums)[products]) const {
    int const col = first_col + 4 * Unit::four_of(lane);
    unrolled<Unit::groups>([&](int group) {
      int const row = first_row + Unit::line_of(lane) + Unit::lines * group;
      if (row >= place.row_count || col >= place.col_count) return;
      std::size_t const at = (place.row + row) * tiles.cols + place.col + col;
      int const count = place.col_count - col < 4 ? place.col_count - col : 4;
      collective::Pack<float, 4> four;
      unrolled<4>([&](int e) { four[e] = sums[e % products].at[group * (4 / products) + e / products]; });
      store_four(c, at, place.col + col, count, four, store, by_packs);
    });
  }
};

}  // namespace detail

/// The relative error of a rounded factor.
template <class Factor>
inline constexpr double factor_roundoff = std::is_same_v<Factor, Half> ? 0x1p-11 : 0x1p-8;
/// The error of rounding both factors, relative to their product.
template <class Factor>
inline constexpr double error_of_factors =
    2 * factor_roundoff<Factor> + factor_roundoff<Factor> * factor_roundoff<Factor>;

/// Returns a bound on the error of matrix units in a sum of k products, relative to the sum of their magnitudes. For 16
/// products and the sum so far, the unit aligns 17 numbers to the largest one. Each of them loses less than 2^-23 of
/// it, and so does their sum: 36 u, with u = 2^-24. A unit may also take 8 products at a time, twice 20 u.
[[nodiscard]] constexpr double error_of_unit_sums(std::size_t k) {
  return 40 * 0x1p-24 * static_cast<double>((k + 15) / 16);
}

/// c = a b for a [m, k], b [k, n] and c [m, n] of floats, with factors rounded to `Factor`. Depending on the form, a is
/// given as [k, m] or b as [n, k].
///
/// All matrices must be row-major; c must not overlap a or b. A call throws std::invalid_argument for other extents or
/// strides.
///
/// The constructor allocates the workspace, 2 (m k + k n) bytes plus the padding of tiles at the edges. Calls only
/// enqueue: two launches, none if c is empty. Calls of one object must not run concurrently, because they share the
/// workspace. If k is 0, c becomes zeros, changed as the form says. Underflow of a product of factors, and factors
/// above Factor's range, are not detected. BFloat16 accepts 0 and magnitudes of 2^-60 to 2^63; Half accepts magnitudes
/// up to 65504 and loses bits below 2^-14.
template <ExecutionSpace Exec, class Factor, class Form = PlainProduct, class Tuning = TensorGemmTuning<Exec>>
class TensorGemm : public MatrixUnitGemm<TensorGemm<Exec, Factor, Form, Tuning>, Exec, Form> {
  using Base = MatrixUnitGemm<TensorGemm, Exec, Form>;

 public:
  /// Throws Skip if the device has no matrix units. On hosts the units are emulated.
  TensorGemm(Exec const& exec, std::size_t m, std::size_t n, std::size_t k, std::string label = "tessera::tensor_gemm")
      : Base(m, n, k, std::move(label)) {
    if constexpr (is_gpu<Exec>) require_matrix_units(exec);
    using Large = typename Tuning::Large;
    std::size_t const tiles = tiles_of(m, Large::rows) * tiles_of(n, Large::cols);
    std::size_t const multiprocessors = static_cast<std::size_t>(exec.concurrency()) / Tuning::lanes_of_multiprocessor;
    is_large_ = tiles > Large::teams * multiprocessors;
    with_tile([&]<class Tile>(Tile) {
      this->template cut_into_tiles<Tile>();
      down_ = tiles_.down() * (Tile::rows / 16);
      across_ = tiles_.across() * (Tile::cols / 16);
      stages_ = league_of(tiles_of(k, Tile::depth));
      slices_ = static_cast<std::size_t>(stages_) * Tile::slices;
    });
    if (league_ == 0) return;
    auto const words = [&](char const* name, std::size_t blocks) {
      return Workspace(Kokkos::view_alloc(exec, Kokkos::WithoutInitializing, label_ + name), blocks * slices_ * width);
    };
    a_ = words("::a", down_);
    b_ = words("::b", across_);
  }

  // Public because a device kernel may not be launched from a private function.
  void enqueue(Exec const& exec, float const* a, float const* b, float* c, Form const& form) const {
    if (slices_ > 0) pack(exec, a, b, form);
    with_tile([&]<class Tile>(Tile) {
      static_assert(Tile::width == width, "Tessera: a tile is for units of as many lanes as the space has");
      using Product = detail::PackedProduct<Exec, lane::On<Exec, width>, Factor, Tile, Copies, typename Form::Store>;
      bool const by_packs = n_ % 4 == 0 && collective::is_aligned_for_packs<4>(c);
      this->template launch<Tile>(
          exec, Product{a_.data(), b_.data(), c, down_, across_, stages_, tiles_, form.store, by_packs});
    });
  }

  void pack(Exec const& exec, float const* a, float const* b, Form const& form) const {
    using PackLeft = detail::PackLeft<Factor, Form, width>;
    using PackRight = detail::PackRight<Factor, Form, width>;
    bool const by_fours = k_ % 4 == 0 && collective::is_aligned_for_packs<4>(a) && form.load.template is_aligned<4>();
    PackLeft const left{{a, m_, k_, by_fours, form.load}, down_, slices_, collective::Divider(slices_), a_.data()};
    PackRight const right{
        b,        k_, n_, across_, collective::Divider(across_), n_ % 2 == 0 && collective::is_aligned_for_packs<2>(b),
        b_.data()};
    Kokkos::parallel_for(label_ + "::pack", over(exec, a_.size() + b_.size()),
                         detail::PackFactors<PackLeft, PackRight>{left, right, a_.size()});
  }

 private:
  static constexpr int width = collective::matrix_lanes<Exec>;
  using Copies = std::conditional_t<is_gpu<Exec>, collective::HardwareCopiesPastL1,
                                    collective::HardwareCopies>;  // a host copies immediately
  using Workspace = Kokkos::View<detail::FactorWords<width>*, typename Exec::memory_space>;

  template <class Body>
  void with_tile(Body const& body) const {
    is_large_ ? body(typename Tuning::Large{}) : body(typename Tuning::Small{});
  }

  using Base::k_, Base::label_, Base::league_, Base::m_, Base::n_, Base::tiles_;
  bool is_large_ = true;
  std::size_t down_ = 0;    // blocks of 16 rows of a, including padding
  std::size_t across_ = 0;  // blocks of 16 columns of b, including padding
  int stages_ = 0;          // along k
  std::size_t slices_ = 0;  // along k, 16 each
  Workspace a_;
  Workspace b_;
};

/// c = a b (see TensorGemm); all matrices are row-major, and c must not overlap a or b. For a single use: it allocates,
/// enqueues, and waits.
template <class Factor, ExecutionSpace Exec, class A, class B, class C, class Form = PlainProduct>
void tensor_gemm(Exec const& exec, A const& a, B const& b, C const& c, Form const& form = {}) {
  multiply_once<TensorGemm<Exec, Factor, Form>>(exec, a, b, c, form, "tessera: tensor_gemm");
}

}  // namespace tessera::kernels
