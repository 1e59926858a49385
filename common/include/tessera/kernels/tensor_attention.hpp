#pragma once
/// \file
/// Attention on matrix units (collective/lane/matrix_unit.hpp), with an online softmax between the two products. Scores
/// and weights stay in registers.
///
///     pack       q, k, v  -->  blocks of 16-bit terms in memory                     the first kernel
///     ----------------------------------------------------------------------------------------------------
///     load       queries  -->  registers, once                                      the second kernel
///     load       a tile of keys and values  -->  scratch, some tiles ahead  <--+
///     multiply   scores = queries x keys                                       |
///     mask       no score of keys that do not exist, or of later ones          |    for each tile
///     softmax    running maximum; weights = exp(scores - maximum)              |
///     multiply   total += weights x ones, sums += weights x values  -----------+
///     merge      sums of the threads that share queries, through scratch
///     store      out = sums / total
///
/// A factor is represented as a sum of bfloat16 numbers, its terms. With one term it is rounded to 8 bits. With three
/// terms it keeps its 24 bits: x = high + middle + low, where each term is the bfloat16 nearest to the remainder after
/// the previous terms. The product of two such factors is
///
///     (low high + middle middle + high low) + (middle high + high middle) + high high
///
/// plus three products below 2^-23 of it, which are omitted. Small products are added first, to a sum that starts at 0
/// for each 16 columns (keys). That sum is then added to the others in float. Matrix units truncate; short
/// accumulations keep the truncation error small.
///
/// The first kernel packs q, k and v into a workspace, in the order in which lanes hold fragments. A block of 16 x 16
/// elements is, for each term, 16 bytes for each of 32 lanes (a BlockPack). The second kernel reads only whole
/// BlockPacks, lane after lane, and needs no masks: places outside the matrices are zeros. A lane has, with
/// g = lane / 4 and t = lane % 4,
///
///     of q and k   rows g and g + 8, columns 4 t .. 4 t + 3. A product's terms may have any order: rows 2 t, 2 t + 1,
///                  2 t + 8, 2 t + 9 of the unit's b are columns 4 t .. 4 t + 3
///     of v         keys 2 t, 2 t + 1, 2 t + 8, 2 t + 9, columns 4 (g / 2) + g % 2 and that + 2, one for each of two
///                  products; its sums are then in columns 4 t .. 4 t + 3: 16 bytes of a row of the result
///
/// In the second kernel a team handles `queries` queries; each of its threads (a warp) keeps 16 or 32 of them
/// throughout. Asynchronous copies load tiles of keys and values. Two threads may share queries: they split the keys of
/// every tile and merge their results at the end. This doubles the number of warps, and no warp reads all keys from
/// scratch.
///
///     one term, d = 64:    8 warps, 4 x 32 queries, 2 x 32 keys of a tile of 64, two tiles of 16 KiB in scratch
///     three terms, d = 64: 16 warps, 8 x 16 queries, 2 x 16 keys of a tile of 32, whose keys and values, 12 KiB each,
///                          are loaded one after the other to one of three places
///
/// A lane's scores of two neighbouring products become, split into terms, its fragment of the weights for the second
/// product. No exchange between lanes is needed. The sum of weights is a product with ones, of the same terms that the
/// values are multiplied by. Sums of a tile start at 0 and are then added in float: float additions round to nearest,
/// matrix units truncate.
///
/// With one term the weights of a query are scaled by a running maximum, which is replaced only when a weight would
/// exceed 2 (lazy rescaling). Rescaling is rare, and nothing overflows. With three terms weights are always relative to
/// the largest score.
///
/// Example: q = [[1 0]], k = [[0 1] [1 0]], v = [[2] [4]] padded with zeros, scale ln 3: weights 1 and 3, result 3.5.
///
/// Use:  TensorAttention<Kokkos::Cuda, 3> attend(exec, queries, keys, columns);  attend(exec, q, k, v, out, scale);
///
/// Source: T. Dao, FlashAttention-2: Faster attention with better parallelism and work partitioning, 2023. Source of
/// the terms: G. Henry, P. Tang, A. Heinecke, Leveraging the bfloat16 artificial intelligence datatype for
/// higher-precision computations, 2019.

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>

#include <tessera/collective/async_copy.hpp>
#include <tessera/collective/divider.hpp>
#include <tessera/collective/exponential.hpp>
#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/lane/matrix_unit.hpp>
#include <tessera/collective/online_sum.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/core/half.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/core/types.hpp>
#include <tessera/core/unroll.hpp>
#include <tessera/kernels/detail/gemm/matrix_units.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/kernels/detail/launch/views.hpp>

namespace tessera::kernels {

/// How a team splits its work. `Down` threads divide the queries, each with `Strips` strips of 16; `Across` threads
/// divide the keys of a tile, each with `KeyBlocks` blocks of 16. `Dim`: number of columns; columns past the problem's
/// are zeros. `Terms`: terms per factor, 1 or 3. `Steps`: 1 if a tile's keys and values are loaded together, 2 if keys
/// are loaded first. `Stages`: number of steps in scratch.
template <int Dim, int Down, int Across, int Strips, int KeyBlocks, int Stages, int Terms = 1, int Steps = 1>
struct TensorAttentionTile {
  using Unit = collective::MatrixUnit<BFloat16>;
  static constexpr int dim = Dim;
  static constexpr int down = Down;
  static constexpr int across = Across;
  static constexpr int strips = Strips;
  static constexpr int key_blocks = KeyBlocks;
  static constexpr int stages = Stages;  ///< steps in scratch: one is read, the others are in flight
  static constexpr int edge = 16;        ///< rows and columns of a block
  static constexpr int blocks = Dim / edge;
  static constexpr int terms = Terms;
  static constexpr int products = Terms * (Terms + 1) / 2;  ///< products of two factors' terms that are not omitted
  static constexpr int steps = Steps;
  static constexpr int threads = Down * Across;
  static constexpr int lanes = threads * Unit::lanes;
  static constexpr int queries = Down * Strips * edge;
  static constexpr int keys = Across * KeyBlocks * edge;
  static constexpr std::size_t packs_of_strip = std::size_t{blocks} * Terms * Unit::lanes;  ///< of queries
  /// Packs of a tile's keys; as many packs of its values follow.
  static constexpr int packs_of_keys = Across * KeyBlocks * blocks * Terms * Unit::lanes;
  static constexpr int packs_of_tile = 2 * packs_of_keys;
  static constexpr int packs_of_step = packs_of_tile / Steps;
  static_assert(Dim % edge == 0 && Stages >= 2 && (Steps == 1 || Steps == 2));
  static_assert(Terms == 1 || (Terms == 3 && KeyBlocks == 1),
                "Tessera: small terms are added to each other before they meet large ones, in each block");

  /// The terms that the i-th product multiplies; 0 is the largest term. Small products come first.
  struct Pair {
    int of_a;
    int of_b;
  };
  [[nodiscard]] KOKKOS_FUNCTION static constexpr Pair pair(int i) {
    if (Terms == 1 || i == 5) return {0, 0};
    return i < 3 ? Pair{2 - i, i} : Pair{4 - i, i - 3};
  }

  /// Returns the longest chain of roundings. Each tile adds an addition and, if its largest score replaces the running
  /// maximum, an exponential (4) and two products. Then the threads' parts are merged and divided by the sum.
  [[nodiscard]] static double rounding_steps(std::size_t key_count) {
    return 7 * static_cast<double>(tiles_of(key_count, keys)) + 8 * (Across - 1) + 3;
  }
  /// Returns the error that factors and the matrix unit add. One product of the unit has an error of at most 40 u. The
  /// unit aligns seventeen numbers to the largest one, which costs each of them less than 2^-23 of it, and their sum as
  /// much again; or it computes the product as two. The sum of a tile, of weights as of weighted values, consists of
  /// `KeyBlocks` such products.
  ///
  /// Three terms: the product of the large terms has an error of 40 u. The five other products are at most 2^-8 of its
  /// size and add 2 u together. Omitted products are 2 u of the factors' product. The magnitudes of the terms add up to
  /// less than 1 u more than the magnitudes of the factors. Terms of weights may underflow, which costs 2^-125 of each
  /// value, of up to 2^40, because the largest weight is 1.
  [[nodiscard]] static ReducedPrecision reduced_precision(std::size_t key_count) {
    double const u = unit_roundoff(DType::float32);
    if (Terms > 1) return {.relative = 45 * u, .absolute = static_cast<double>(key_count) * 0x1p-85};
    return {.relative = 40 * u * KeyBlocks + 0x1p-22, .bfloat16_factors = true};
  }
};

namespace detail {

/// The factor between scores and weights. One term: q is multiplied by the scale's sign (by 0 if the scale is 0), and a
/// weight is 2 to the power of a score times `factor`, which is above 0. Three terms: scores are multiplied by
/// `factor`, which is the scale.
struct ScoreFactor {
  float sign;
  float factor;
  float slack;  ///< a score replaces the running maximum if it exceeds it by more than this: its weight would exceed 2

  template <class Tile>
  [[nodiscard]] static ScoreFactor of(double scale) {
    if (Tile::terms > 1) return {1, static_cast<float>(scale), 0};
    if (scale == 0) return {0, 1, 1};
    constexpr double per_ln2 = 1.4426950408889634;
    auto const factor = static_cast<float>(std::abs(scale) * per_ln2);
    return {scale < 0 ? -1.0F : 1.0F, factor, 1 / factor};
  }
};

/// Rows of floats, Attentions::stride elements apart.
struct RowsOfFloats {
  float const* data;
  std::size_t rows;
  std::size_t cols;

  [[nodiscard]] KOKKOS_FUNCTION RowsOfFloats from(std::size_t offset) const { return {data + offset, rows, cols}; }
};

/// Attentions that one launch computes: heads of sequences. Their packs follow each other.
struct Attentions {
  std::size_t heads = 1;   ///< of a sequence: neighbouring columns
  std::size_t count = 1;   ///< heads of all sequences
  std::size_t tokens = 0;  ///< rows of a sequence
  bool causal = false;     ///< query i sees the keys 0 .. i of its sequence
  std::size_t packs = 0;   ///< of one of them
  collective::Divider divide = collective::Divider(1);

  void set_packs(std::size_t of_one) {
    packs = of_one;
    divide = collective::Divider(of_one);
  }
  /// Returns which of them has that pack.
  [[nodiscard]] KOKKOS_FUNCTION std::size_t of_pack(std::size_t pack) const { return divide(pack); }
  /// Returns the elements from a row to the next if each head has `cols` columns.
  [[nodiscard]] KOKKOS_FUNCTION std::size_t stride(std::size_t cols) const { return heads * cols; }
  /// Returns the place of the first element of one of them.
  [[nodiscard]] KOKKOS_FUNCTION std::size_t offset(std::size_t which, std::size_t cols) const {
    return which / heads * tokens * stride(cols) + which % heads * cols;
  }
};

/// A single attention of contiguous matrices, not causal: costs a kernel nothing.
struct OneAttention {
  static constexpr std::size_t count = 1;
  static constexpr std::size_t packs = 0;
  static constexpr bool causal = false;

  static void set_packs(std::size_t) {}
  [[nodiscard]] KOKKOS_FUNCTION static constexpr std::size_t of_pack(std::size_t) { return 0; }
  [[nodiscard]] KOKKOS_FUNCTION static constexpr std::size_t stride(std::size_t cols) { return cols; }
  [[nodiscard]] KOKKOS_FUNCTION static constexpr std::size_t offset(std::size_t, std::size_t) { return 0; }
};

/// A lane's part of a block: eight factors, or one term of each.
using BlockPack = collective::Pack<std::uint32_t, 4>;

/// Subtracts the two bfloat16 numbers in a word from two floats.
KOKKOS_INLINE_FUNCTION void take_off(std::uint32_t word, float& low, float& high) {
  low -= Kokkos::bit_cast<float>(word << 16);
  high -= Kokkos::bit_cast<float>(word & 0xffff'0000U);
}

/// Splits q, k and v into bfloat16 terms and packs them. One call per BlockPack: indices first count the packs of q,
/// then the packs of the tiles of k and v, of one head after the other. Rows are padded with zeros to whole strips and
/// tiles.
///
/// If it is causal, an element of v whose bfloat16 would be infinite or NaN becomes 0, and an element of its key NaN.
/// The weight of a later key is 0, and 0 NaN would be NaN: the value of a token must not reach queries that do not see
/// it. Queries that do see it get NaN by its score.
template <class Tile, class All = OneAttention>
struct PackAttention {
  using Unit = typename Tile::Unit;
  RowsOfFloats q;
  RowsOfFloats k;
  RowsOfFloats v;
  float sign;  ///< q is multiplied by this: -1, 0 or 1
  std::size_t query_packs;
  BlockPack* packed;
  All all = {};

  KOKKOS_FUNCTION void operator()(std::size_t index) const {
    constexpr std::size_t lanes = Unit::lanes;
    constexpr std::size_t blocks = Tile::blocks;
    std::size_t const which = all.of_pack(index);
    std::size_t const offset = all.offset(which, q.cols);
    std::size_t const i = index - which * all.packs;
    int const lane = static_cast<int>(i % lanes);
    int const term = static_cast<int>(i / lanes % Tile::terms);  // a tile's packs are whole blocks
    if (i < query_packs) {
      std::size_t const block = i / lanes / Tile::terms;
      packed[index] = of_rows(q.from(offset), block / blocks, block % blocks, lane, term, sign);
      return;
    }
    std::size_t const at = i - query_packs;
    constexpr std::size_t rows = Tile::keys / Tile::edge;
    constexpr std::size_t blocks_of_keys = rows * blocks;
    std::size_t const tile = at / Tile::packs_of_tile;
    std::size_t const block = at / lanes / Tile::terms % (2 * blocks_of_keys);
    packed[index] = block < blocks_of_keys
                        ? of_rows(k.from(offset), tile * rows + block / blocks, block % blocks, lane, term, 1,
                                  all.causal ? v.from(offset) : RowsOfFloats{})
                        : of_columns(v.from(offset), tile * rows + block / blocks - rows, block % blocks, lane, term);
  }

 private:
  // Whether the number stays finite if it is rounded to bfloat16.
  [[nodiscard]] KOKKOS_FUNCTION static bool stays_finite(float x) { return Kokkos::fabs(x) < 0x1.FFp127F; }
  // Returns one term of each of two numbers.
  [[nodiscard]] KOKKOS_FUNCTION static std::uint32_t term_of(float low, float high, int term) {
    for (int t = 0; t < term; ++t) take_off(Unit::word(low, high), low, high);
    return Unit::word(low, high);
  }
  // Returns four elements of a row, and zeros in places outside of the matrix.
  [[nodiscard]] KOKKOS_FUNCTION collective::Pack<float, 4> four_of(RowsOfFloats const& matrix, std::size_t row,
                                                                   std::size_t col) const {
    collective::Pack<float, 4> x{};
    if (row < matrix.rows) {
      float const* const from = matrix.data + row * all.stride(matrix.cols) + col;
      if (col + 4 <= matrix.cols) {
        x = collective::load_pack<4>(from);
      } else {
        for (std::size_t e = 0; e < 4; ++e) {
          if (col + e < matrix.cols) x[static_cast<int>(e)] = from[e];
        }
      }
    }
    return x;
  }
  // Returns a pack of four columns of rows g and g + 8 of a block. A key is NaN where its element of `values` does not
  // stay finite.
  [[nodiscard]] KOKKOS_FUNCTION BlockPack of_rows(RowsOfFloats const& matrix, std::size_t row_block,
                                                  std::size_t col_block, int lane, int term, float factor,
                                                  RowsOfFloats const& values = {}) const {
    std::size_t const first = row_block * Tile::edge + lane / 4;
    std::size_t const col = col_block * Tile::edge + lane % 4 * 4;
    BlockPack pack;
    for (int r = 0; r < 2; ++r) {
      auto x = four_of(matrix, first + 8 * r, col);
      if (values.data != nullptr) {
        auto const value = four_of(values, first + 8 * r, col);
        for (int e = 0; e < 4; ++e) {
          if (!stays_finite(value[e])) x[e] = Kokkos::Experimental::quiet_NaN_v<float>;
        }
      }
      pack[2 * r] = term_of(x[0] * factor, x[1] * factor, term);
      pack[2 * r + 1] = term_of(x[2] * factor, x[3] * factor, term);
    }
    return pack;
  }
  // Returns a pack of four keys of two columns of a block.
  [[nodiscard]] KOKKOS_FUNCTION BlockPack of_columns(RowsOfFloats const& matrix, std::size_t row_block,
                                                     std::size_t col_block, int lane, int term) const {
    BlockPack pack;
    for (int half = 0; half < 2; ++half) {
      int const of_block = Unit::col_of_b(lane, 0) / 2 * 4 + 2 * half + Unit::col_of_b(lane, 0) % 2;
      std::size_t const col = col_block * Tile::edge + of_block;
      float x[4];
      for (int e = 0; e < 4; ++e) {
        std::size_t const row = row_block * Tile::edge + Unit::row_of_b(lane, e);
        bool const exists = row < matrix.rows && col < matrix.cols;
        x[e] = exists ? matrix.data[row * all.stride(matrix.cols) + col] : 0;
        if (all.causal && !stays_finite(x[e])) x[e] = 0;  // its key is NaN
      }
      pack[2 * half] = term_of(x[0], x[1], term);
      pack[2 * half + 1] = term_of(x[2], x[3], term);
    }
    return pack;
  }
};

/// The kernel of one team, on packed factors. `factor` and `slack` come from ScoreFactor.
template <class Exec, class Lanes, class Tile, collective::AsyncCopies Copies, class All = OneAttention>
struct AttendTiles {
  using Unit = typename Tile::Unit;
  using Policy = Kokkos::TeamPolicy<Exec, Kokkos::LaunchBounds<Tile::lanes, 1>>;
  using Member = typename Policy::member_type;
  using Scratch = ScratchView<BlockPack*, Exec>;
  template <class V>
  using Value = typename Lanes::template Value<V>;
  using A = typename Unit::A;
  using B = typename Unit::B;
  using C = typename Unit::C;
  using Floats = collective::Pack<float, 4>;
  static constexpr int strips = Tile::strips;
  static constexpr int blocks = Tile::blocks;
  static constexpr int key_blocks = Tile::key_blocks;
  static constexpr int terms = Tile::terms;
  static constexpr int panels = 2 * blocks;  // products side by side in the sums

  BlockPack const* queries;  ///< packs of q, padded to whole strips
  BlockPack const* tiles;    ///< packs of k and v; with several heads, those of the first
  float* out;
  std::size_t query_count;
  std::size_t key_count;
  int dim;
  float factor;
  float slack;
  bool by_packs;  ///< rows of the result can be written four elements at a time
  All all = {};

  /// At the end threads that share queries pass their sums through the scratch of the tiles.
  static constexpr int packs_of_thread = strips * (panels + 1) * Unit::lanes;
  static constexpr int scratch_packs =
      std::max(Tile::stages * Tile::packs_of_step, (Tile::across - 1) * Tile::down * packs_of_thread);
  [[nodiscard]] static std::size_t scratch_bytes() {
    return Scratch::shmem_size(scratch_packs) + bytes_to_a_line<Exec>;
  }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Scratch const scratch(team.team_scratch(0), scratch_packs);
    BlockPack* const stages = on_a_line(scratch.data());
    Lanes const lanes;
    Copies const copies;
    int const part = team.team_rank() / Tile::down;  // which part of a tile's keys
    // Neighbouring teams have different heads. If it is causal, the last queries, which see the most keys, come first.
    auto const rank = static_cast<std::size_t>(team.league_rank());
    std::size_t const which = rank % all.count;
    std::size_t const place = rank / all.count;
    std::size_t const rows = all.causal ? (query_count - 1) / Tile::queries - place : place;
    std::size_t const first_strip = (rows * Tile::down + team.team_rank() % Tile::down) * strips;
    std::size_t const behind = (rows + 1) * Tile::queries;
    std::size_t const seen = all.causal && behind < key_count ? behind : key_count;
    std::size_t const tile_count = (seen + Tile::keys - 1) / Tile::keys;
    Ring ring{.stages = stages, .tiles = tiles + which * all.packs, .tile_count = tile_count};
    for (int ahead = 0; ahead < Tile::stages - 1; ++ahead) start(team, lanes, copies, ring, ahead);
    Value<A> own[strips][blocks][terms];
    load_queries(lanes, queries + which * all.packs, first_strip, (query_count - 1) / Tile::edge, own);
    State state;
    unrolled<strips>([&](int s) {
      state.known[s] = lanes.template fill<OfRows>(OfRows{{below_all, below_all}});
      state.total[s] = lanes.template fill<OfRows>(OfRows{{0, 0}});
      for (Value<C>& sum : state.sums[s]) sum = lanes.template fill<C>(C{});
    });
    int const of_part = part * Tile::packs_of_keys / Tile::across;
    for (std::size_t tile = 0; tile < tile_count; ++tile) {
      BlockPack const* const keys = arrived(team, lanes, copies, ring);
      std::size_t const left = key_count - tile * Tile::keys;
      int const count = left < Tile::keys ? static_cast<int>(left) : Tile::keys;
      Value<C> scores[strips][2 * key_blocks];
      multiply_keys(lanes, keys + of_part, own, scores);
      Value<A> weights[strips][key_blocks][terms];
      int const first_key = part * key_blocks * Tile::edge;  // of this thread, in the tile
      if (all.causal) {
        int const first_query = static_cast<int>(first_strip * Tile::edge) - static_cast<int>(tile * Tile::keys);
        leave_out_later(lanes, first_query - first_key, scores);
      }
      if (count - first_key < key_blocks * Tile::edge) leave_out(lanes, count - first_key, scores);
      softmax(lanes, scores, state, weights);
      BlockPack const* values = keys + Tile::packs_of_keys;
      if constexpr (Tile::steps == 2) values = arrived(team, lanes, copies, ring);
      multiply_ones(lanes, weights, state);
      multiply_values(lanes, values + of_part, weights, state);
    }
    if constexpr (Tile::across > 1) merge_parts(team, lanes, part, reinterpret_cast<Floats*>(stages), state);
    if (part == 0) store(lanes, out + all.offset(which, static_cast<std::size_t>(dim)), first_strip, state);
    leave_scratch(team);
  }

 private:
  // A value for each of a lane's two rows of a strip: g and g + 8.
  struct OfRows {
    float at[2];
  };
  struct State {
    Value<OfRows> known[strips];  // the running maximum that weights are relative to
    Value<OfRows> total[strips];  // sum of the weights
    Value<C> sums[strips][panels];
  };
  // The running maximum before the first key. It is below all scores, but finite, because it is subtracted and, with
  // one term, multiplied.
  static constexpr float below_all = terms == 1 ? -0x1p100F : -0x1p120F;

  // ---- load

  // The steps of tiles in scratch.
  struct Ring {
    BlockPack* stages;
    BlockPack const* tiles;
    std::size_t tile_count;
    std::size_t coming = 0;       // the next step whose copies start
    int read = 0;                 // the stage that is read next
    int next = Tile::stages - 1;  // the stage that is filled next
  };

  // Starts the copies of the next step into a stage.
  KOKKOS_FUNCTION void start(Member const& team, Lanes const& lanes, Copies const& copies, Ring& ring,
                             int stage) const {
    if (ring.coming < ring.tile_count * Tile::steps) {
      BlockPack const* const from = ring.tiles + ring.coming * Tile::packs_of_step;
      BlockPack* const to = ring.stages + stage * Tile::packs_of_step;
      int const first = team.team_rank() * Unit::lanes;
      auto lane_of_team = lanes.template fill<int>(first);
      lanes.each(
          [&](int lane, int& own) {
            own += lane;
            TESSERA_UNROLL
            for (int i = 0; i < Tile::packs_of_step; i += Tile::lanes) {
              if (Tile::packs_of_step % Tile::lanes != 0 && own + i >= Tile::packs_of_step) break;
              copies.template copy_async<16>(to + own + i, from + own + i, true);
            }
          },
          lane_of_team);
    }
    ++ring.coming;
    copies.commit();
  }

  // Waits for the next step and returns it.
  KOKKOS_FUNCTION BlockPack const* arrived(Member const& team, Lanes const& lanes, Copies const& copies,
                                           Ring& ring) const {
    copies.template wait<Tile::stages - 2>();
    // After the barrier all threads' copies for this step have arrived, and no thread reads the previous step.
    team.team_barrier();
    start(team, lanes, copies, ring, ring.next);
    BlockPack const* const step = ring.stages + ring.read * Tile::packs_of_step;
    ring.read = ring.read + 1 == Tile::stages ? 0 : ring.read + 1;
    ring.next = ring.next + 1 == Tile::stages ? 0 : ring.next + 1;
    return step;
  }

  // Behind the last strip of queries there is nothing: its queries stand in for them, and nobody stores their results.
  KOKKOS_FUNCTION static void load_queries(Lanes const& lanes, BlockPack const* packs, std::size_t first_strip,
                                           std::size_t last_strip, Value<A> (&own)[strips][blocks][terms]) {
    unrolled<strips, blocks, terms>([&](int s, int block, int t) {
      std::size_t const strip = first_strip + s < last_strip ? first_strip + s : last_strip;
      BlockPack const* const from = packs + ((strip * blocks + block) * terms + t) * Unit::lanes;
      lanes.each(
          [&](int lane, A& a) {
            BlockPack const pack = from[lane];
            a = A{{pack[0], pack[2], pack[1], pack[3]}};
          },
          own[s][block][t]);
    });
  }

  // Loads a block's factors b of two neighbouring products.
  KOKKOS_FUNCTION static void load(Lanes const& lanes, BlockPack const* block, Value<B>& first, Value<B>& second) {
    lanes.each(
        [&](int lane, B& low, B& high) {
          BlockPack const pack = block[lane];
          low = B{{pack[0], pack[1]}};
          high = B{{pack[2], pack[3]}};
        },
        first, second);
  }

  // ---- multiply

  // The number of blocks of columns that are interleaved, so that no product waits for the previous one.
  static constexpr int together = blocks % 2 == 0 && Tile::lanes <= 256 ? 2 : 1;

  // Computes the scores of this thread's keys of a tile.
  KOKKOS_FUNCTION void multiply_keys(Lanes const& lanes, BlockPack const* keys,
                                     Value<A> const (&own)[strips][blocks][terms],
                                     Value<C> (&scores)[strips][2 * key_blocks]) const {
    if constexpr (terms == 1) {
      unrolled<blocks>([&](int block) {
        Value<B> b[2 * key_blocks];
        unrolled<key_blocks>(
            [&](int k) { load(lanes, keys + (k * blocks + block) * Unit::lanes, b[2 * k], b[2 * k + 1]); });
        unrolled<2 * key_blocks, strips>(
            [&](int panel, int s) { multiply(lanes, block == 0, own[s][block][0], b[panel], scores[s][panel]); });
      });
    } else {
      TESSERA_UNROLL
      for (int block = 0; block < blocks; block += together) {
        Value<C> sums[together][strips][2];
        multiply_terms(lanes, keys, block, [&](int s, int, int i) -> auto const& { return own[s][block + i]; }, sums);
        unrolled<together, strips, 2>([&](int i, int s, int panel) {
          if (block + i == 0) {
            scores[s][panel] = sums[i][s][panel];
          } else {
            collective::add_sums(lanes, scores[s][panel], sums[i][s][panel]);
          }
        });
      }
      unrolled<strips, 2>([&](int s, int panel) {
        lanes.each(
            [&](int, C& own_score) {
              for (int i = 0; i < 4; ++i) own_score.at[i] *= factor;
            },
            scores[s][panel]);
      });
    }
  }

  // Adds the weights to their totals.
  KOKKOS_FUNCTION static void multiply_ones(Lanes const& lanes, Value<A> const (&weights)[strips][key_blocks][terms],
                                            State& state) {
    constexpr std::uint32_t two_ones = 0x3f80'3f80U;
    auto const ones = lanes.template fill<B>(B{{two_ones, two_ones}});
    Value<C> sums[strips];
    unrolled<key_blocks, terms, strips>([&](int k, int i, int s) {  // the smallest terms first
      multiply(lanes, k == 0 && i == 0, weights[s][k][terms - 1 - i], ones, sums[s]);
    });
    unrolled<strips>([&](int s) {
      lanes.each(
          [](int, OfRows& total, C const& more) {
            total.at[0] += more.at[0];
            total.at[1] += more.at[2];
          },
          state.total[s], sums[s]);
    });
  }

  // Adds this thread's weighted values to the sums.
  KOKKOS_FUNCTION static void multiply_values(Lanes const& lanes, BlockPack const* values,
                                              Value<A> const (&weights)[strips][key_blocks][terms], State& state) {
    TESSERA_UNROLL
    for (int block = 0; block < blocks; block += together) {
      Value<C> sums[together][strips][2];
      multiply_terms(lanes, values, block, [&](int s, int k, int) -> auto const& { return weights[s][k]; }, sums);
      unrolled<together, strips, 2>([&](int i, int s, int panel) {
        collective::add_sums(lanes, state.sums[s][2 * (block + i) + panel], sums[i][s][panel]);
      });
    }
  }

  // Multiplies all terms of `together` blocks of columns, small products first. `left(s, k, i)`: the terms by which
  // strip s multiplies key block k of the i-th block.
  template <class Left>
  KOKKOS_FUNCTION static void multiply_terms(Lanes const& lanes, BlockPack const* packs, int block, Left const& left,
                                             Value<C> (&sums)[together][strips][2]) {
    unrolled<key_blocks>([&](int k) {
      Value<B> b[together][terms][2];
      unrolled<together, terms>([&](int i, int t) {
        load(lanes, packs + ((k * blocks + block + i) * terms + t) * Unit::lanes, b[i][t][0], b[i][t][1]);
      });
      unrolled<Tile::products, together, strips, 2>([&](int product, int i, int s, int panel) {
        auto const pair = Tile::pair(product);
        multiply(lanes, k == 0 && product == 0, left(s, k, i)[pair.of_a], b[i][pair.of_b][panel], sums[i][s][panel]);
      });
    });
  }
  // Begins a sum with a product, or adds the product to it.
  KOKKOS_FUNCTION static void multiply(Lanes const& lanes, bool begins, Value<A> const& a, Value<B> const& b,
                                       Value<C>& sum) {
    if (begins) {
      collective::multiply(Unit{}, lanes, sum, a, b);
    } else {
      collective::multiply_add(Unit{}, lanes, sum, a, b);
    }
  }

  // ---- mask

  // Excludes keys from `count` on, which do not exist.
  KOKKOS_FUNCTION static void leave_out(Lanes const& lanes, int count, Value<C> (&scores)[strips][2 * key_blocks]) {
    unrolled<strips, 2 * key_blocks>([&](int s, int panel) {
      lanes.each(
          [&](int lane, C& score) {
            for (int i = 0; i < 4; ++i) {
              if (panel * Unit::cols + Unit::col_of_c(lane, i) >= count) {
                score.at[i] = collective::minus_infinity<float>();
              }
            }
          },
          scores[s][panel]);
    });
  }

  // Excludes the keys behind their query: strip s has the queries from `ahead` + 16 s on, counted from the first key.
  KOKKOS_FUNCTION static void leave_out_later(Lanes const& lanes, int ahead,
                                              Value<C> (&scores)[strips][2 * key_blocks]) {
    if (ahead + 1 >= key_blocks * Tile::edge) return;
    unrolled<strips, 2 * key_blocks>([&](int s, int panel) {
      lanes.each(
          [&](int lane, C& score) {
            for (int i = 0; i < 4; ++i) {
              int const query = ahead + s * Tile::edge + Unit::row_of_c(lane, i);
              if (panel * Unit::cols + Unit::col_of_c(lane, i) > query) {
                score.at[i] = collective::minus_infinity<float>();
              }
            }
          },
          scores[s][panel]);
    });
  }

  // ---- softmax

  // Computes the weights, as terms, of scores of a tile's keys. Rescales the sums so far to the same running maximum.
  KOKKOS_FUNCTION void softmax(Lanes const& lanes, Value<C> (&scores)[strips][2 * key_blocks], State& state,
                               Value<A> (&weights)[strips][key_blocks][terms]) const {
    follow(lanes, scores, state);
    unrolled<strips, key_blocks>([&](int s, int k) {
      auto& low = scores[s][2 * k];
      auto& high = scores[s][2 * k + 1];
      weigh(lanes, state.known[s], low);
      weigh(lanes, state.known[s], high);
      unrolled<terms>([&](int t) {
        lanes.each(
            [](int, A& w, C& left, C& right) {
              w = A{{Unit::word(left.at[0], left.at[1]), Unit::word(left.at[2], left.at[3]),
                     Unit::word(right.at[0], right.at[1]), Unit::word(right.at[2], right.at[3])}};
              if constexpr (terms > 1) {  // the remainder, from which the next terms are made
                take_off(w.at[0], left.at[0], left.at[1]);
                take_off(w.at[1], left.at[2], left.at[3]);
                take_off(w.at[2], right.at[0], right.at[1]);
                take_off(w.at[3], right.at[2], right.at[3]);
              }
            },
            weights[s][k][t], low, high);
      });
    });
  }

  // If any score exceeds its query's running maximum by more than `slack`, rescales all queries to their largest
  // scores.
  KOKKOS_FUNCTION void follow(Lanes const& lanes, Value<C> const (&scores)[strips][2 * key_blocks],
                              State& state) const {
    Value<OfRows> highest[strips];
    auto far_above = lanes.template fill<bool>(false);
    unrolled<strips>([&](int s) {
      highest[s] = state.known[s];
      unrolled<2 * key_blocks>([&](int panel) {
        lanes.each(
            [](int, OfRows& own, C const& score) {
              for (int i = 0; i < 4; ++i) own.at[i / 2] = Kokkos::fmax(own.at[i / 2], score.at[i]);
            },
            highest[s], scores[s][panel]);
      });
      lanes.each(
          [&](int, bool& is_far, OfRows const& own, OfRows const& known) {
            for (int r = 0; r < 2; ++r) is_far = is_far || own.at[r] > known.at[r] + slack;
          },
          far_above, highest[s], state.known[s]);
    });
    if (!lanes.any(far_above)) return;
    unrolled<strips>([&](int s) {
      for (int mask = 1; mask < 4; mask *= 2) {  // over the four lanes that share a row
        auto const other = lanes.exchange(highest[s], mask);
        lanes.each(
            [](int, OfRows& own, OfRows const& partner) {
              for (int r = 0; r < 2; ++r) own.at[r] = Kokkos::fmax(own.at[r], partner.at[r]);
            },
            highest[s], other);
      }
      auto change = lanes.template fill<OfRows>(OfRows{});
      lanes.each(
          [&](int, OfRows& by, OfRows& known, OfRows& total, OfRows const& raised) {
            for (int r = 0; r < 2; ++r) {
              by.at[r] = weight_of(known.at[r] - raised.at[r]);
              known.at[r] = raised.at[r];
              total.at[r] *= by.at[r];
            }
          },
          change, state.known[s], state.total[s], highest[s]);
      for (Value<C>& sum : state.sums[s]) {
        lanes.each(
            [](int, C& own, OfRows const& by) {
              for (int i = 0; i < 4; ++i) own.at[i] *= by.at[i / 2];
            },
            sum, change);
      }
    });
  }

  // Replaces scores by weights.
  KOKKOS_FUNCTION void weigh(Lanes const& lanes, Value<OfRows> const& known, Value<C>& scores) const {
    lanes.each(
        [&](int, C& own, OfRows const& relative_to) {
          for (int i = 0; i < 4; ++i) {
            if constexpr (terms == 1) {  // one multiply-add and one exponential instruction
              own.at[i] = collective::fast_exp2(Kokkos::fma(own.at[i], factor, -(relative_to.at[i / 2] * factor)));
            } else {
              own.at[i] = collective::exp_nonpositive(own.at[i] - relative_to.at[i / 2]);
            }
          }
        },
        scores, known);
  }
  // Returns the factor by which weights change when the running maximum is replaced. `change`: old minus new maximum,
  // at most 0.
  [[nodiscard]] KOKKOS_FUNCTION float weight_of(float change) const {
    return terms == 1 ? collective::fast_exp2(change * factor) : collective::exp_nonpositive(change);
  }

  // ---- merge

  // The first of the threads that share queries adds the others' sums to its own.
  KOKKOS_FUNCTION void merge_parts(Member const& team, Lanes const& lanes, int part, Floats* slots,
                                   State& state) const {
    int const place = team.team_rank() % Tile::down;
    team.team_barrier();  // all threads have read the last tile
    if (part > 0) {
      Floats* const slot = slots + ((part - 1) * Tile::down + place) * packs_of_thread;
      unrolled<strips>([&](int s) {
        Floats* const to = slot + s * (panels + 1) * Unit::lanes;
        lanes.each([&](int lane, OfRows const& known,
                       OfRows const& total) { to[lane] = Floats{known.at[0], known.at[1], total.at[0], total.at[1]}; },
                   state.known[s], state.total[s]);
        unrolled<panels>([&](int panel) {
          lanes.each(
              [&](int lane, C const& sum) {
                to[(panel + 1) * Unit::lanes + lane] = Floats{sum.at[0], sum.at[1], sum.at[2], sum.at[3]};
              },
              state.sums[s][panel]);
        });
      });
    }
    team.team_barrier();
    if (part > 0) return;
    for (int other = 1; other < Tile::across; ++other) {
      Floats const* const slot = slots + ((other - 1) * Tile::down + place) * packs_of_thread;
      unrolled<strips>([&](int s) {
        Floats const* const from = slot + s * (panels + 1) * Unit::lanes;
        auto mine = lanes.template fill<OfRows>(OfRows{});
        auto theirs = lanes.template fill<OfRows>(OfRows{});
        lanes.each(
            [&](int lane, OfRows& known, OfRows& total, OfRows& own, OfRows& of_other) {
              Floats const x = from[lane];
              for (int r = 0; r < 2; ++r) {
                float const both = Kokkos::fmax(known.at[r], x[r]);
                own.at[r] = weight_of(known.at[r] - both);
                of_other.at[r] = weight_of(x[r] - both);
                total.at[r] = total.at[r] * own.at[r] + x[2 + r] * of_other.at[r];
                known.at[r] = both;
              }
            },
            state.known[s], state.total[s], mine, theirs);
        unrolled<panels>([&](int panel) {
          lanes.each(
              [&](int lane, C& sum, OfRows const& own, OfRows const& of_other) {
                Floats const x = from[(panel + 1) * Unit::lanes + lane];
                for (int i = 0; i < 4; ++i) sum.at[i] = sum.at[i] * own.at[i / 2] + x[i] * of_other.at[i / 2];
              },
              state.sums[s][panel], mine, theirs);
        });
      });
    }
  }

  // ---- store

  KOKKOS_FUNCTION void store(Lanes const& lanes, float* result, std::size_t first_strip, State& state) const {
    unrolled<strips>([&](int s) {
      std::size_t const first = (first_strip + s) * Tile::edge;
      lanes.each(
          [](int, OfRows& total) {
            for (int r = 0; r < 2; ++r) total.at[r] = 1 / total.at[r];
          },
          state.total[s]);
      unrolled<blocks>([&](int block) {
        lanes.each(
            [&](int lane, C const& left, C const& right, OfRows const& inverse) {
              int const col = block * Tile::edge + lane % 4 * 4;
              for (int r = 0; r < 2; ++r) {
                std::size_t const row = first + Unit::row_of_c(lane, 2 * r);
                if (row >= query_count || col >= dim) continue;
                float* const to = result + row * all.stride(static_cast<std::size_t>(dim)) + col;
                float const f = inverse.at[r];
                Floats const values{left.at[2 * r] * f, left.at[2 * r + 1] * f, right.at[2 * r] * f,
                                    right.at[2 * r + 1] * f};
                if (by_packs) {
                  collective::pack_at<4>(to) = values;
                } else {
                  for (int e = 0; e < 4; ++e) {
                    if (col + e < dim) to[e] = values[e];
                  }
                }
              }
            },
            state.sums[s][2 * block], state.sums[s][2 * block + 1], state.total[s]);
      });
    });
  }
};

}  // namespace detail

/// Selects a team's tile. A row has `least_columns` to `most_columns` columns. choose(columns, few, body) calls
/// body.operator()<Tile>(). `few`: teams of 128 queries would leave half of the multiprocessors idle.
template <ExecutionSpace Exec, int Terms>
struct TensorAttentionTuning;

/// The sums of 32 queries and 64 columns, or of 16 queries and 128 columns, take 64 registers per lane.
template <ExecutionSpace Exec>
struct TensorAttentionTuning<Exec, 1> {
  static constexpr std::size_t least_columns = 0;
  static constexpr std::size_t most_columns = 128;
  template <class Body>
  static void choose(std::size_t columns, bool few, Body const& body) {
    if (columns <= 16) return body.template operator()<TensorAttentionTile<16, 4, 2, 2, 2, 4>>();
    if (columns <= 32) return body.template operator()<TensorAttentionTile<32, 4, 2, 2, 2, 4>>();
    if (columns <= 64 && few) return body.template operator()<TensorAttentionTile<64, 4, 2, 1, 2, 2>>();
    if (columns <= 64) return body.template operator()<TensorAttentionTile<64, 4, 2, 2, 2, 2>>();
    if (columns <= 96) return body.template operator()<TensorAttentionTile<96, 8, 1, 1, 2, 3>>();
    body.template operator()<TensorAttentionTile<128, 8, 1, 1, 2, 2>>();
  }
};
/// The terms and sums of 16 queries and 64 columns take 80 registers per lane.
///
/// With fewer than 48 columns the error of a score would exceed the error of a float sum of as many products. A block's
/// sum has an error of 45 u (reduced_precision); each further block adds an addition, and the scale a product.
template <ExecutionSpace Exec>
struct TensorAttentionTuning<Exec, 3> {
  static constexpr std::size_t least_columns = 48;
  static constexpr std::size_t most_columns = 128;
  template <class Body>
  static void choose(std::size_t columns, bool few, Body const& body) {
    if (columns <= 64 && few) return body.template operator()<TensorAttentionTile<64, 4, 2, 1, 1, 3, 3, 2>>();
    if (columns <= 64) return body.template operator()<TensorAttentionTile<64, 8, 2, 1, 1, 3, 3, 2>>();
    if (few) return body.template operator()<TensorAttentionTile<128, 4, 1, 1, 1, 3, 3, 2>>();
    body.template operator()<TensorAttentionTile<128, 8, 1, 1, 1, 3, 3, 2>>();
  }
};

namespace detail {

/// The launches of TensorAttention and TensorHeads (kernels/tensor_heads.hpp).
template <ExecutionSpace Exec, int Terms, class Tuning, class All>
class AttentionOnUnits {
 public:
  static constexpr float smallest = 0x1p-40F;
  static constexpr float largest = 0x1p40F;
  [[nodiscard]] static bool takes(double scale) {
    double const size = std::abs(scale);
    return size == 0 || (size >= 0x1p-20 && size <= 0x1p20);
  }

  /// Returns the longest chain of roundings of a sum of weights or of weighted values, without the errors of rounded
  /// factors and of the unit (reduced_precision).
  [[nodiscard]] double rounding_steps() const { return steps_; }
  [[nodiscard]] ReducedPrecision reduced_precision() const { return reduced_; }

  // Public because a device kernel may not be launched from a private function.
  void enqueue(Exec const& exec, float const* q, float const* k, float const* v, float* to, double scale) const {
    if (!takes(scale)) {
      std::ostringstream text;  // std::to_string would write 0 for small numbers
      text << "a scale of " << scale << " (scores might leave float's range); give 2^-20 to 2^20, or 0";
      throw std::invalid_argument(text.str());
    }
    if (league_ == 0 || packs_.extent(0) == 0) return;
    if constexpr (can_have_units_of_warps<Exec>) {
      choose([&]<class Tile>() {
        using Kernel =
            AttendTiles<Exec, lane::On<Exec, Tile::Unit::lanes>, Tile, collective::HardwareCopiesPastL1, All>;
        auto const of = ScoreFactor::of<Tile>(scale);
        Kokkos::parallel_for(
            label_ + "::pack", over(exec, packs_.extent(0)),
            PackAttention<Tile, All>{RowsOfFloats{q, queries_, columns_}, RowsOfFloats{k, keys_, columns_},
                                     RowsOfFloats{v, keys_, columns_}, of.sign, query_packs_, packs_.data(), all_});
        typename Kernel::Policy const policy(exec, league_, Tile::threads, Tile::Unit::lanes);
        bool const by_packs = columns_ % 4 == 0 && collective::is_aligned_for_packs<4>(to);
        Kokkos::parallel_for(label_ + "::attend", with_scratch(policy, Kernel::scratch_bytes()),
                             Kernel{packs_.data(), packs_.data() + query_packs_, to, queries_, keys_,
                                    static_cast<int>(columns_), of.factor, of.slack, by_packs, all_});
      });
    }
  }

 protected:
  /// Throws Skip as TensorAttention does.
  AttentionOnUnits(Exec const& exec, std::size_t queries, std::size_t keys, std::size_t columns, All const& all,
                   std::int64_t team, std::string label)
      : label_(std::move(label)), queries_(queries), keys_(keys), columns_(columns), all_(all) {
    require_matrix_units_of_warps(exec);
    if (columns > Tuning::most_columns) {
      throw Skip("d = " + std::to_string(columns) + " (registers and scratch hold at most " +
                 std::to_string(Tuning::most_columns) + " columns)");
    }
    if constexpr (Tuning::least_columns > 0) {
      if (columns < Tuning::least_columns) {
        throw Skip("d = " + std::to_string(columns) + " (from " + std::to_string(Tuning::least_columns) +
                   " columns on a score is as exact as a sum of d products in float)");
      }
    }
    if constexpr (is_gpu<Exec>) {
      few_ = 2 * tiles_of(queries, 128) * all.count <= static_cast<std::size_t>(multiprocessors(exec));
    }
    choose([&]<class Tile>() {
      require_team_of_tile(team, Tile::threads, "a tile of queries");
      steps_ = Tile::rounding_steps(keys_);
      reduced_ = Tile::reduced_precision(keys_);
      std::size_t const teams = tiles_of(queries_, Tile::queries);
      league_ = league_of(teams * all_.count);
      query_packs_ = tiles_of(queries_, Tile::edge) * Tile::packs_of_strip;
      if (queries_ == 0 || keys_ == 0 || columns_ == 0) return;  // nothing is packed, however large the other extents
      std::size_t const packs = query_packs_ + tiles_of(keys_, Tile::keys) * Tile::packs_of_tile;
      all_.set_packs(packs);
      packs_ = Packs(Kokkos::view_alloc(exec, Kokkos::WithoutInitializing, label_ + "::packs"), all_.count * packs);
    });
  }

  std::size_t queries_of_one() const { return queries_; }
  std::size_t keys_of_one() const { return keys_; }
  std::size_t columns_of_one() const { return columns_; }

 private:
  template <class Body>
  void choose(Body const& body) const {
    Tuning::choose(columns_, few_, body);
  }
  using Packs = Kokkos::View<BlockPack*, typename Exec::memory_space>;

  std::string label_;
  std::size_t queries_;
  std::size_t keys_;
  std::size_t columns_;
  All all_;
  bool few_ = false;
  std::size_t query_packs_ = 0;
  int league_ = 0;
  double steps_ = 1;
  ReducedPrecision reduced_;
  Packs packs_;
};

}  // namespace detail

/// out = softmax(scale * q k^T) v for q, out [queries, columns] and k, v [keys, columns] of floats.
///
/// The constructor allocates the workspace, 2 `Terms` bytes per element of q, k and v, padded to 16 rows of q and to
/// whole tiles of k and v: 64 rows with one term and up to 64 columns, otherwise at most 32. Calls
/// only enqueue: two launches, none without a query. Calls of one object must not run concurrently, because they share
/// the workspace. Elements must be 0 or have magnitudes from `smallest` to `largest`, and takes(scale) must be true;
/// otherwise products may leave float's range.
///
/// \tparam Terms terms per factor: 1 (bfloat16, 8 bits) or 3 (float accuracy)
template <ExecutionSpace Exec, int Terms, class Tuning = TensorAttentionTuning<Exec, Terms>>
class TensorAttention : public detail::AttentionOnUnits<Exec, Terms, Tuning, detail::OneAttention> {
 public:
  /// \param keys rows of k and v
  /// \param team threads per team; 0: chosen automatically
  ///
  /// Throws Skip if the device has no matrix units, if a team cannot have that many threads, or if no tile supports
  /// that many columns.
  TensorAttention(Exec const& exec, std::size_t queries, std::size_t keys, std::size_t columns, std::int64_t team = 0,
                  std::string label = "tessera::tensor_attention")
      : TensorAttention::AttentionOnUnits(exec, queries, keys, columns, {}, team, std::move(label)) {}

  /// Enqueues the computation. All matrices must be row-major; out must not overlap the others. Without keys, out
  /// becomes zeros. Throws std::invalid_argument for other extents or strides, or if takes(scale) is false.
  template <Readable<Exec, float, 2> Q, Readable<Exec, float, 2> K, Readable<Exec, float, 2> V,
            Writable<Exec, float, 2> Out>
  void operator()(Exec const& exec, Q const& q, K const& k, V const& v, Out const& out, double scale = 1) const {
    std::size_t const columns = this->columns_of_one();
    require_apart(out, q, k, v);
    float* const to = row_major(out, this->queries_of_one(), columns);
    float const* const of_q = row_major(q, this->queries_of_one(), columns);
    float const* const of_k = row_major(k, this->keys_of_one(), columns);
    float const* const of_v = row_major(v, this->keys_of_one(), columns);
    this->enqueue(exec, of_q, of_k, of_v, to, scale);
    if (this->keys_of_one() == 0 && out.size() > 0) Kokkos::deep_copy(exec, out, 0.0F);
  }
};

/// out = softmax(scale * q k^T) v (see TensorAttention); all matrices are row-major, and out must not overlap the
/// others. For a single use: it enqueues, and waits.
template <int Terms, ExecutionSpace Exec, class Q, class K, class V, class Out>
void tensor_attention(Exec const& exec, Q const& q, K const& k, V const& v, Out const& out, double scale = 1) {
  TensorAttention<Exec, Terms> const attend(exec, q.extent(0), k.extent(0), q.extent(1));
  attend(exec, q, k, v, out, scale);
  exec.fence("tessera: tensor_attention");
}

}  // namespace tessera::kernels
