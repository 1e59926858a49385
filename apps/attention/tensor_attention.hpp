#pragma once
/// \file
/// The kernels of fused_tensor: attention on matrix units (collective/lane/matrix_unit.hpp) of factors that are rounded to bfloat16,
/// with an online softmax between the two products; scores and weights stay in registers.
///
/// The first kernel packs q, k and v into a workspace, in the order in which lanes hold fragments: a block of 16 x 16 elements is a
/// piece of 16 bytes for each of 32 lanes. Behind it every access is of whole pieces, lane after lane, with no address to compute
/// and nothing to mask: outside of the matrices there are zeros. With g = lane / 4 and t = lane % 4 a lane has
///
///     of q and k   rows g and g + 8, columns 4 t .. 4 t + 3     the order of a product's terms is free: a unit's row of b 2 t, 2 t + 1,
///                                                               2 t + 8, 2 t + 9 is column 4 t .. 4 t + 3
///     of v         keys 2 t, 2 t + 1, 2 t + 8, 2 t + 9, columns 4 (g / 2) + g % 2 and that + 2, one for each of two products, so
///                  that its sums are of columns 4 t .. 4 t + 3: 16 bytes of a row of the result
///
/// In the second kernel a team has `queries`, each of its threads (a warp) 16 or 32 of them for good. Tiles of keys and values
/// come by asynchronous copies. Several threads share queries and divide the keys of every tile between them, and merge what they
/// have at the end: so there are twice as many warps, and none of them reads all keys from scratch.
///
///     d = 64: 8 warps, 4 x 32 queries, 2 x 32 keys of a tile of 64, two tiles of 16 KiB in scratch
///
/// What a lane has of two products' scores side by side is, rounded, its fragment of the weights for the second product. The sum
/// of weights is a product with ones: of the same rounded weights that the values are multiplied by. Sums of a tile start at 0 and
/// are then added in float: a matrix unit cuts off what it cannot hold, an addition rounds to nearest.
///
/// Weights are relative to a score that was once the largest of its query. Another takes its place when it is more than a factor of
/// 2 in the weights above it: that is seldom, and nothing overflows.
///
/// Source: T. Dao, FlashAttention-2: Faster attention with better parallelism and work partitioning, 2023.

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "problem.hpp"

#include <tessera/collective/async_copy.hpp>
#include <tessera/collective/exponential.hpp>
#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/lane/matrix_unit.hpp>
#include <tessera/collective/online_sum.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/core/half.hpp>
#include <tessera/core/problem.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/core/unroll.hpp>

namespace tessera::attention {

/// How a team cuts its work: `Down` threads beside each other in the queries, each with `Strips` of 16, `Across` in the keys of a
/// tile, each with `KeyBlocks` of 16. `Dim` columns, with zeros behind the problem's.
template <int Dim, int Down, int Across, int Strips, int KeyBlocks, int Stages>
struct TensorAttentionShape {
  using Unit = collective::MatrixUnit<BFloat16>;
  static constexpr int dim = Dim;
  static constexpr int down = Down;
  static constexpr int across = Across;
  static constexpr int strips = Strips;
  static constexpr int key_blocks = KeyBlocks;
  static constexpr int stages = Stages;  ///< tiles in scratch: one that is read, others on their way
  static constexpr int edge = 16;        ///< of a block
  static constexpr int blocks = Dim / edge;
  static constexpr int threads = Down * Across;
  static constexpr int lanes = threads * Unit::lanes;
  static constexpr int queries = Down * Strips * edge;
  static constexpr int keys = Across * KeyBlocks * edge;
  /// Of keys in a tile; as many values follow.
  static constexpr int pieces_of_keys = Across * KeyBlocks * blocks * Unit::lanes;
  static constexpr int pieces_of_tile = 2 * pieces_of_keys;
  static_assert(Dim % edge == 0 && Stages >= 2);

  /// For every tile an addition, and where its largest score takes the place of the known one, an exponential (4) and two products;
  /// the merging of the threads' parts; the quotient.
  [[nodiscard]] static double rounding_steps(std::size_t key_count) {
    return 7 * static_cast<double>(tiles_of(key_count, keys)) + 8 * (Across - 1) + 3;
  }
  /// A product of the unit: seventeen numbers that are aligned to the largest of them lose less than 2^-23 of it each, and their
  /// sum once more; or it is made as two: 40 u at most. So many of them make the sum of a tile, of weights as of weighted values.
  [[nodiscard]] static ReducedPrecision reduced_precision() {
    return {.relative = 40 * unit_roundoff(DType::float32) * KeyBlocks + 0x1p-22, .bfloat16_factors = true};
  }
};

/// What scores are multiplied by: q by the sign, for a scale of 0 by 0, and the exponent of a weight, a power of two, is a score
/// times the factor, which is above 0.
struct ScoreFactor {
  float sign;
  float factor;

  /// Whether scores stay within float's range, with elements that OutsideOfUnit does not count.
  [[nodiscard]] static bool takes(double scale) {
    double const size = std::abs(scale);
    return size == 0 || (size >= 0x1p-20 && size <= 0x1p20);
  }
  [[nodiscard]] static ScoreFactor of(double scale) {
    if (scale == 0) return {0, 1};
    constexpr double per_ln2 = 1.4426950408889634;
    return {scale < 0 ? -1.0F : 1.0F, static_cast<float>(std::abs(scale) * per_ln2)};
  }
};

/// Counts the elements whose products might leave the range of normal floats: NaN and infinities, too.
template <class Matrix>
struct OutsideOfUnit {
  static constexpr float smallest = 0x1p-40F;
  static constexpr float largest = 0x1p40F;
  Matrix matrix;

  KOKKOS_FUNCTION void operator()(std::size_t i, std::size_t& count) const {
    float const value = matrix.data()[i];
    float const size = value < 0 ? -value : value;
    count += size == 0 || (size >= smallest && size <= largest) ? 0 : 1;
  }
};

/// What a lane has of a block: eight factors.
using BlockPiece = collective::Pack<std::uint32_t, 4>;

/// Rounds q, k and v to bfloat16 and packs them: index i is a piece, of q first. Rows of whole teams and tiles, zeros outside.
template <class Memory, class Shape>
struct PackFactors {
  using Unit = typename Shape::Unit;
  using Matrix = Array<float const**, Memory>;
  Matrix q;
  Matrix k;
  Matrix v;
  float sign;  ///< what q is multiplied by: -1, 0 or 1
  std::size_t query_pieces;
  BlockPiece* queries;
  BlockPiece* tiles;

  KOKKOS_FUNCTION void operator()(std::size_t i) const {
    constexpr std::size_t lanes = Unit::lanes;
    constexpr std::size_t blocks = Shape::blocks;
    int const lane = static_cast<int>(i % lanes);
    if (i < query_pieces) {
      queries[i] = of_rows(q, i / lanes / blocks, i / lanes % blocks, lane, sign);
      return;
    }
    std::size_t const at = i - query_pieces;
    constexpr std::size_t blocks_of_keys = Shape::pieces_of_keys / Unit::lanes;
    std::size_t const tile = at / Shape::pieces_of_tile;
    std::size_t const block = at / lanes % (2 * blocks_of_keys);
    constexpr std::size_t rows = Shape::keys / Shape::edge;
    tiles[at] = block < blocks_of_keys ? of_rows(k, tile * rows + block / blocks, block % blocks, lane, 1)
                                       : of_columns(v, tile * rows + block / blocks - rows, block % blocks, lane);
  }

 private:
  // Rows g and g + 8 of a block, four columns.
  [[nodiscard]] KOKKOS_FUNCTION static BlockPiece of_rows(Matrix const& matrix, std::size_t row_block,
                                                          std::size_t col_block, int lane, float factor) {
    std::size_t const first = row_block * Shape::edge + static_cast<std::size_t>(lane / 4);
    std::size_t const col = col_block * Shape::edge + static_cast<std::size_t>(lane % 4 * 4);
    BlockPiece piece;
    for (int r = 0; r < 2; ++r) {
      std::size_t const row = first + static_cast<std::size_t>(8 * r);
      collective::Pack<float, 4> x{};
      if (row < matrix.extent(0)) {
        float const* const from = matrix.data() + row * matrix.extent(1) + col;
        if (col + 4 <= matrix.extent(1)) {
          x = collective::load_pack<4>(from);
        } else {
          for (std::size_t e = 0; e < 4; ++e) {
            if (col + e < matrix.extent(1)) x[static_cast<int>(e)] = from[e];
          }
        }
      }
      piece[2 * r] = Unit::word(x[0] * factor, x[1] * factor);
      piece[2 * r + 1] = Unit::word(x[2] * factor, x[3] * factor);
    }
    return piece;
  }
  // Four keys of a block, two columns.
  [[nodiscard]] KOKKOS_FUNCTION static BlockPiece of_columns(Matrix const& matrix, std::size_t row_block,
                                                             std::size_t col_block, int lane) {
    BlockPiece piece;
    for (int half = 0; half < 2; ++half) {
      int const of_block = Unit::col_of_b(lane, 0) / 2 * 4 + 2 * half + Unit::col_of_b(lane, 0) % 2;
      std::size_t const col = col_block * Shape::edge + static_cast<std::size_t>(of_block);
      float x[4];
      for (int e = 0; e < 4; ++e) {
        std::size_t const row = row_block * Shape::edge + static_cast<std::size_t>(Unit::row_of_b(lane, e));
        bool const exists = row < matrix.extent(0) && col < matrix.extent(1);
        x[e] = exists ? matrix.data()[row * matrix.extent(1) + col] : 0;
      }
      piece[2 * half] = Unit::word(x[0], x[1]);
      piece[2 * half + 1] = Unit::word(x[2], x[3]);
    }
    return piece;
  }
};

/// The kernel of one team, on packed factors. `factor` is ScoreFactor's.
template <class Exec, class Lanes, class Shape, collective::AsyncCopies Copies>
struct TensorAttention {
  using Unit = typename Shape::Unit;
  using Policy = Kokkos::TeamPolicy<Exec, Kokkos::LaunchBounds<Shape::lanes, std::max(1, 256 / Shape::lanes)>>;
  using Member = typename Policy::member_type;
  using Scratch = ScratchView<BlockPiece*, Exec>;
  template <class V>
  using Value = typename Lanes::template Value<V>;
  using A = typename Unit::A;
  using B = typename Unit::B;
  using C = typename Unit::C;
  using Floats = collective::Pack<float, 4>;
  static constexpr int strips = Shape::strips;
  static constexpr int blocks = Shape::blocks;
  static constexpr int key_blocks = Shape::key_blocks;
  static constexpr int panels = 2 * blocks;  // of the sums: products beside each other

  BlockPiece const* queries;  ///< of whole teams
  BlockPiece const* tiles;    ///< of keys and values
  float* out;
  std::size_t query_count;
  std::size_t key_count;
  int dim;
  float factor;   ///< of a score, for the exponent of its weight as a power of two: above 0
  float slack;    ///< a score that is so much above the known one takes its place: 1 / factor
  bool by_packs;  ///< rows of the result are whole packs

  /// What threads that share queries hand over at the end lies where the tiles were.
  static constexpr int pieces_of_thread = strips * (panels + 1) * Unit::lanes;
  static constexpr int scratch_pieces =
      std::max(Shape::stages * Shape::pieces_of_tile, (Shape::across - 1) * Shape::down * pieces_of_thread);
  [[nodiscard]] static std::size_t scratch_bytes() {
    return Scratch::shmem_size(scratch_pieces) + bytes_to_a_line<Exec>;
  }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Scratch const scratch(team.team_scratch(0), scratch_pieces);
    BlockPiece* const stages = on_a_line(scratch.data());
    Lanes const lanes;
    Copies const copies;
    int const part = team.team_rank() / Shape::down;  // of the keys of a tile
    std::size_t const first_strip =
        (static_cast<std::size_t>(team.league_rank()) * Shape::down + team.team_rank() % Shape::down) * strips;
    std::size_t const tile_count = (key_count + Shape::keys - 1) / Shape::keys;
    for (int ahead = 0; ahead < Shape::stages - 1; ++ahead) {
      start(team, lanes, copies, static_cast<std::size_t>(ahead), tile_count, stages + ahead * Shape::pieces_of_tile);
    }
    Value<A> own[strips][blocks];
    load_queries(lanes, first_strip, own);
    State state;
    TESSERA_UNROLL
    for (int s = 0; s < strips; ++s) {
      state.known[s] = lanes.template fill<OfRows>(OfRows{{below_all, below_all}});
      state.total[s] = lanes.template fill<OfRows>(OfRows{{0, 0}});
      for (Value<C>& sum : state.sums[s]) sum = lanes.template fill<C>(C{});
    }
    int stage = 0;
    int next = Shape::stages - 1;
    for (std::size_t tile = 0; tile < tile_count; ++tile) {
      copies.template wait<Shape::stages - 2>();
      // Behind it everybody's part of this tile has arrived, and nobody reads the tile before it any more.
      team.team_barrier();
      start(team, lanes, copies, tile + Shape::stages - 1, tile_count, stages + next * Shape::pieces_of_tile);
      std::size_t const left = key_count - tile * Shape::keys;
      attend(lanes, stages + stage * Shape::pieces_of_tile, part,
             left < Shape::keys ? static_cast<int>(left) : Shape::keys, own, state);
      stage = stage + 1 == Shape::stages ? 0 : stage + 1;
      next = next + 1 == Shape::stages ? 0 : next + 1;
    }
    if constexpr (Shape::across > 1) merge_parts(team, lanes, part, reinterpret_cast<Floats*>(stages), state);
    if (part == 0) store(lanes, first_strip, state);
    leave_scratch(team);
  }

 private:
  // Of the rows of a strip that a lane has elements of, g and g + 8.
  struct OfRows {
    float at[2];
  };
  struct State {
    Value<OfRows> known[strips];  // the score that weights are relative to
    Value<OfRows> total[strips];  // of the weights
    Value<C> sums[strips][panels];
  };
  // Where no key was seen: below all scores, and finite, since differences of it are formed.
  static constexpr float below_all = -0x1p100F;

  KOKKOS_FUNCTION void start(Member const& team, Lanes const& lanes, Copies const& copies, std::size_t tile,
                             std::size_t tile_count, BlockPiece* stage) const {
    if (tile < tile_count) {
      BlockPiece const* const from = tiles + tile * Shape::pieces_of_tile;
      int const first = team.team_rank() * Unit::lanes;
      auto lane_of_team = lanes.template fill<int>(first);
      lanes.each(
          [&](int lane, int& own) {
            own += lane;
            TESSERA_UNROLL
            for (int i = 0; i < Shape::pieces_of_tile; i += Shape::lanes) {
              if (Shape::pieces_of_tile % Shape::lanes != 0 && own + i >= Shape::pieces_of_tile) break;
              copies.template copy_async<16>(stage + own + i, from + own + i, true);
            }
          },
          lane_of_team);
    }
    copies.commit();
  }

  KOKKOS_FUNCTION void load_queries(Lanes const& lanes, std::size_t first_strip,
                                    Value<A> (&own)[strips][blocks]) const {
    TESSERA_UNROLL
    for (int s = 0; s < strips; ++s) {
      TESSERA_UNROLL
      for (int block = 0; block < blocks; ++block) {
        BlockPiece const* const from = queries + ((first_strip + s) * blocks + block) * Unit::lanes;
        lanes.each(
            [&](int lane, A& a) {
              BlockPiece const piece = from[lane];
              a = A{{piece[0], piece[2], piece[1], piece[3]}};
            },
            own[s][block]);
      }
    }
  }

  // What two products beside each other have of a block.
  KOKKOS_FUNCTION static void load(Lanes const& lanes, BlockPiece const* block, Value<B>& first, Value<B>& second) {
    lanes.each(
        [&](int lane, B& low, B& high) {
          BlockPiece const piece = block[lane];
          low = B{{piece[0], piece[1]}};
          high = B{{piece[2], piece[3]}};
        },
        first, second);
  }

  // A tile of `count` keys, of which this thread has a part.
  KOKKOS_FUNCTION void attend(Lanes const& lanes, BlockPiece const* tile, int part, int count,
                              Value<A> const (&own)[strips][blocks], State& state) const {
    constexpr int of_part = key_blocks * blocks * Unit::lanes;
    BlockPiece const* const keys = tile + part * of_part;
    BlockPiece const* const values = keys + Shape::pieces_of_keys;
    Value<C> scores[strips][2 * key_blocks];
    multiply_keys(lanes, keys, own, scores);
    if (count < Shape::keys) leave_out(lanes, count - part * key_blocks * Shape::edge, scores);
    follow(lanes, scores, state);
    Value<A> weights[strips][key_blocks];
    TESSERA_UNROLL
    for (int s = 0; s < strips; ++s) {
      TESSERA_UNROLL
      for (int k = 0; k < key_blocks; ++k) {
        lanes.each(
            [&](int, A& w, C const& low, C const& high, OfRows const& known) {
              float const first = known.at[0] * factor;
              float const second = known.at[1] * factor;
              w = A{{Unit::word(weight(low.at[0], first), weight(low.at[1], first)),
                     Unit::word(weight(low.at[2], second), weight(low.at[3], second)),
                     Unit::word(weight(high.at[0], first), weight(high.at[1], first)),
                     Unit::word(weight(high.at[2], second), weight(high.at[3], second))}};
            },
            weights[s][k], scores[s][2 * k], scores[s][2 * k + 1], state.known[s]);
      }
    }
    add_weights(lanes, weights, state);
    add_values(lanes, values, weights, state);
  }

  [[nodiscard]] KOKKOS_FUNCTION float weight(float score, float known) const {
    return collective::fast_exp2(Kokkos::fma(score, factor, -known));
  }

  KOKKOS_FUNCTION static void multiply_keys(Lanes const& lanes, BlockPiece const* keys,
                                            Value<A> const (&own)[strips][blocks],
                                            Value<C> (&scores)[strips][2 * key_blocks]) {
    TESSERA_UNROLL
    for (int block = 0; block < blocks; ++block) {
      Value<B> b[2 * key_blocks];
      TESSERA_UNROLL
      for (int k = 0; k < key_blocks; ++k) {
        load(lanes, keys + (k * blocks + block) * Unit::lanes, b[2 * k], b[2 * k + 1]);
      }
      TESSERA_UNROLL
      for (int panel = 0; panel < 2 * key_blocks; ++panel) {
        TESSERA_UNROLL
        for (int s = 0; s < strips; ++s) {
          if (block == 0) {
            collective::multiply(Unit{}, lanes, scores[s][panel], own[s][block], b[panel]);
          } else {
            collective::multiply_add(Unit{}, lanes, scores[s][panel], own[s][block], b[panel]);
          }
        }
      }
    }
  }

  // The keys from `count` on do not exist.
  KOKKOS_FUNCTION static void leave_out(Lanes const& lanes, int count, Value<C> (&scores)[strips][2 * key_blocks]) {
    TESSERA_UNROLL
    for (int s = 0; s < strips; ++s) {
      TESSERA_UNROLL
      for (int panel = 0; panel < 2 * key_blocks; ++panel) {
        lanes.each(
            [&](int lane, C& score) {
              for (int i = 0; i < 4; ++i) {
                if (panel * Unit::cols + Unit::col_of_c(lane, i) >= count) {
                  score.at[i] = collective::minus_infinity<float>();
                }
              }
            },
            scores[s][panel]);
      }
    }
  }

  // If a score is far above the one that its query's weights are relative to, the largest ones take their places.
  KOKKOS_FUNCTION void follow(Lanes const& lanes, Value<C> const (&scores)[strips][2 * key_blocks],
                              State& state) const {
    Value<OfRows> highest[strips];
    auto far_above = lanes.template fill<bool>(false);
    TESSERA_UNROLL
    for (int s = 0; s < strips; ++s) {
      highest[s] = state.known[s];
      TESSERA_UNROLL
      for (int panel = 0; panel < 2 * key_blocks; ++panel) {
        lanes.each(
            [](int, OfRows& own, C const& score) {
              for (int i = 0; i < 4; ++i) own.at[i / 2] = Kokkos::fmax(own.at[i / 2], score.at[i]);
            },
            highest[s], scores[s][panel]);
      }
      lanes.each(
          [&](int, bool& is_far, OfRows const& own, OfRows const& known) {
            for (int r = 0; r < 2; ++r) is_far = is_far || own.at[r] > known.at[r] + slack;
          },
          far_above, highest[s], state.known[s]);
    }
    if (!lanes.any(far_above)) return;
    TESSERA_UNROLL
    for (int s = 0; s < strips; ++s) {
      for (int mask = 1; mask < 4; mask *= 2) {  // the lanes of a row
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
              by.at[r] = collective::fast_exp2((known.at[r] - raised.at[r]) * factor);
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
    }
  }

  KOKKOS_FUNCTION static void add_weights(Lanes const& lanes, Value<A> const (&weights)[strips][key_blocks],
                                          State& state) {
    constexpr std::uint32_t two_ones = 0x3f80'3f80U;
    auto const ones = lanes.template fill<B>(B{{two_ones, two_ones}});
    Value<C> sums[strips];
    TESSERA_UNROLL
    for (int k = 0; k < key_blocks; ++k) {
      TESSERA_UNROLL
      for (int s = 0; s < strips; ++s) {
        if (k == 0) {
          collective::multiply(Unit{}, lanes, sums[s], weights[s][k], ones);
        } else {
          collective::multiply_add(Unit{}, lanes, sums[s], weights[s][k], ones);
        }
      }
    }
    TESSERA_UNROLL
    for (int s = 0; s < strips; ++s) {
      lanes.each(
          [](int, OfRows& total, C const& more) {
            total.at[0] += more.at[0];
            total.at[1] += more.at[2];
          },
          state.total[s], sums[s]);
    }
  }

  // Some blocks of columns side by side, so that no product waits for the one before it.
  static constexpr int together = blocks % 2 == 0 ? 2 : 1;

  KOKKOS_FUNCTION static void add_values(Lanes const& lanes, BlockPiece const* values,
                                         Value<A> const (&weights)[strips][key_blocks], State& state) {
    TESSERA_UNROLL
    for (int block = 0; block < blocks; block += together) {
      Value<C> sums[strips][2 * together];
      TESSERA_UNROLL
      for (int k = 0; k < key_blocks; ++k) {
        Value<B> b[2 * together];
        TESSERA_UNROLL
        for (int i = 0; i < together; ++i) {
          load(lanes, values + (k * blocks + block + i) * Unit::lanes, b[2 * i], b[2 * i + 1]);
        }
        TESSERA_UNROLL
        for (int panel = 0; panel < 2 * together; ++panel) {
          TESSERA_UNROLL
          for (int s = 0; s < strips; ++s) {
            if (k == 0) {
              collective::multiply(Unit{}, lanes, sums[s][panel], weights[s][k], b[panel]);
            } else {
              collective::multiply_add(Unit{}, lanes, sums[s][panel], weights[s][k], b[panel]);
            }
          }
        }
      }
      TESSERA_UNROLL
      for (int s = 0; s < strips; ++s) {
        TESSERA_UNROLL
        for (int panel = 0; panel < 2 * together; ++panel) {
          lanes.each(
              [](int, C& sum, C const& more) {
                for (int i = 0; i < 4; ++i) sum.at[i] += more.at[i];
              },
              state.sums[s][2 * block + panel], sums[s][panel]);
        }
      }
    }
  }

  // What the threads of the same queries have goes to the first of them.
  KOKKOS_FUNCTION void merge_parts(Member const& team, Lanes const& lanes, int part, Floats* slots,
                                   State& state) const {
    int const place = team.team_rank() % Shape::down;
    team.team_barrier();  // all have read the last tile
    if (part > 0) {
      Floats* const slot = slots + ((part - 1) * Shape::down + place) * pieces_of_thread;
      TESSERA_UNROLL
      for (int s = 0; s < strips; ++s) {
        Floats* const to = slot + s * (panels + 1) * Unit::lanes;
        lanes.each([&](int lane, OfRows const& known,
                       OfRows const& total) { to[lane] = Floats{known.at[0], known.at[1], total.at[0], total.at[1]}; },
                   state.known[s], state.total[s]);
        TESSERA_UNROLL
        for (int panel = 0; panel < panels; ++panel) {
          lanes.each(
              [&](int lane, C const& sum) {
                to[(panel + 1) * Unit::lanes + lane] = Floats{sum.at[0], sum.at[1], sum.at[2], sum.at[3]};
              },
              state.sums[s][panel]);
        }
      }
    }
    team.team_barrier();
    if (part > 0) return;
    for (int other = 1; other < Shape::across; ++other) {
      Floats const* const slot = slots + ((other - 1) * Shape::down + place) * pieces_of_thread;
      TESSERA_UNROLL
      for (int s = 0; s < strips; ++s) {
        Floats const* const from = slot + s * (panels + 1) * Unit::lanes;
        auto mine = lanes.template fill<OfRows>(OfRows{});
        auto theirs = lanes.template fill<OfRows>(OfRows{});
        lanes.each(
            [&](int lane, OfRows& known, OfRows& total, OfRows& own, OfRows& of_other) {
              Floats const x = from[lane];
              for (int r = 0; r < 2; ++r) {
                float const both = Kokkos::fmax(known.at[r], x[r]);
                own.at[r] = collective::fast_exp2((known.at[r] - both) * factor);
                of_other.at[r] = collective::fast_exp2((x[r] - both) * factor);
                total.at[r] = total.at[r] * own.at[r] + x[2 + r] * of_other.at[r];
                known.at[r] = both;
              }
            },
            state.known[s], state.total[s], mine, theirs);
        TESSERA_UNROLL
        for (int panel = 0; panel < panels; ++panel) {
          lanes.each(
              [&](int lane, C& sum, OfRows const& own, OfRows const& of_other) {
                Floats const x = from[(panel + 1) * Unit::lanes + lane];
                for (int i = 0; i < 4; ++i) sum.at[i] = sum.at[i] * own.at[i / 2] + x[i] * of_other.at[i / 2];
              },
              state.sums[s][panel], mine, theirs);
        }
      }
    }
  }

  KOKKOS_FUNCTION void store(Lanes const& lanes, std::size_t first_strip, State& state) const {
    TESSERA_UNROLL
    for (int s = 0; s < strips; ++s) {
      std::size_t const first = (first_strip + s) * Shape::edge;
      lanes.each(
          [](int, OfRows& total) {
            for (int r = 0; r < 2; ++r) total.at[r] = 1 / total.at[r];
          },
          state.total[s]);
      TESSERA_UNROLL
      for (int block = 0; block < blocks; ++block) {
        lanes.each(
            [&](int lane, C const& left, C const& right, OfRows const& inverse) {
              int const col = block * Shape::edge + lane % 4 * 4;
              for (int r = 0; r < 2; ++r) {
                std::size_t const row = first + static_cast<std::size_t>(Unit::row_of_c(lane, 2 * r));
                if (row >= query_count || col >= dim) continue;
                float* const to = out + row * static_cast<std::size_t>(dim) + col;
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
      }
    }
  }
};

}  // namespace tessera::attention
