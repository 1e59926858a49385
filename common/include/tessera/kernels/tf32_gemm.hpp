#pragma once
/// \file
/// The product of two matrices of floats, c = a b, on matrix units (tensor cores) with tf32 factors: rounded to 11 bits
/// or, with two terms per factor, with float accuracy. Asynchronous copies load factors to scratch two slices of k
/// ahead.
///
///     load       a slice of a and of b  -->  scratch, some slices ahead  <--+
///     load       their elements, split into terms  -->  registers           |
///     multiply   sums += a x b, small terms first  -------------------------+    for each slice, 16 of k
///     store      sums  -->  c, as the form says
///
/// A team computes a tile of c. Each of its threads (a warp) computes a part of the tile, with sums in its lanes'
/// registers:
///
///     tile of c 128 x 64 = 2 threads, each 64 x 64 = 4 x 8 products of 16 x 8 x 8 (with 64 lanes 4 x 4 of 16 x 16 x 8)
///
/// Teams are small, and four of them share a multiprocessor: while one waits at its barrier, the units work for the
/// others.
///
/// The order of k and the order of columns do not matter. A slice of 16 of k is two products, and a lane reads its
/// elements of both in accesses of 16 bytes. Let g = line_of(lane) and t = four_of(lane) (with 32 lanes: lane / 4 and
/// lane % 4). The lane has k = 4 t .. 4 t + 3 of the slice, the first two for the first product. In four neighbouring
/// products it has columns 4 g .. 4 g + 3, one in each:
///
///     a  a row of the slice has 16 elements; the lane reads elements 4 t to 4 t + 3 of row g in one access; 8 rows
///        use all banks
///     b  row k of the slice is at place 4 (k % 4) + k / 4: a lane's four rows are at t, t + 4, t + 8, t + 12; it reads
///        four columns of each
///     c  sums of 4 neighbouring columns, 16 bytes of a row
///
/// The order of rows does not matter either. If the transpose of a is in memory, its slice is stored like a slice of b.
/// With 32 lanes each lane then has rows 2 g and 2 g + 1 of 16, not g and g + 8: two neighbours for each of its four k,
/// 8 bytes per access, without bank conflicts.
///
/// Factors are rounded to tf32, 11 bits, when they are read from scratch. With two terms a factor is x = high + low,
/// both tf32; low is the remainder, truncated to 11 of its at most 12 bits. a b is then high high + (high low + low
/// high); low low is below the error in any case. These products go to a separate sum, small ones first, which starts
/// at 0 for every 16 of k and is then added in float: matrix units truncate, a float addition rounds to nearest. Two
/// terms need three products of the unit, which is still faster than multiply-adds in float on a GPU.
///
/// Example: a = [0 1; 2 3], b = [0 2; 4 6] -> c = [4 6; 12 22]; small integers are exact.
///
/// Use:  tf32_gemm<2>(exec, a, b, c);  or, if a is stored as [k, m]:  tf32_gemm<2>(exec, a, b, c, TransposedA{});
///   or, enqueued many times:  Tf32Gemm<Exec, 2> gemm(exec, m, n, k);  gemm(exec, a, b, c);
///
/// Source of the two terms and of the separate sum: H. Ootomo, R. Yokota, Recovering single precision accuracy from
/// Tensor Cores while surpassing the FP32 theoretical peak performance, International Journal of High Performance
/// Computing Applications 36, 2022.

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>

#include <tessera/collective/async_copy.hpp>
#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/lane/matrix_unit.hpp>
#include <tessera/collective/matrix_tiles.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/core/types.hpp>
#include <tessera/core/unroll.hpp>
#include <tessera/kernels/detail/gemm/matrix_unit_gemm.hpp>
#include <tessera/kernels/detail/gemm/matrix_units.hpp>
#include <tessera/kernels/detail/gemm/store_four.hpp>
#include <tessera/kernels/product_form.hpp>

namespace tessera::kernels {

/// How a team splits its tile of c: `down` x `across` threads, each with `strips` x `panels` products of a matrix unit
/// of `Lanes` lanes.
template <int Down, int Across, int Strips, int Panels, int Stages, int MostTeams, int Lanes = 32>
struct Tf32Tile {
  using Unit = collective::MatrixUnit<collective::Tf32, Lanes>;
  static constexpr int across = Across;
  static constexpr int strips = Strips;
  static constexpr int panels = Panels;
  static constexpr int stages = Stages;          ///< slices of k in scratch: one is read, others are in flight
  static constexpr int depth = 2 * Unit::depth;  ///< k per slice: a lane's four elements of a row serve two products
  static constexpr int threads = Down * Across;
  static constexpr int lanes = threads * Unit::lanes;
  static constexpr int thread_rows = Strips * Unit::rows;
  static constexpr int thread_cols = Panels * Unit::cols;
  static constexpr int rows = Down * thread_rows;
  static constexpr int cols = Across * thread_cols;
  static constexpr int teams = MostTeams;  ///< teams per multiprocessor; registers must suffice for them
  // Row pitches of slices whose rows are k: 8 more than a multiple of 32, so that concurrent reads of four rows use all
  // banks.
  static constexpr int pitch_a = rows + 8;
  static constexpr int pitch_b = cols + 8;
  static_assert(Stages >= 2 && Panels % 4 == 0, "Tessera: a lane has four neighbouring columns, of four products");
};

/// The tile of c. On hosts a team is one thread that emulates the lanes: for tests.
template <ExecutionSpace Exec>
struct Tf32GemmTuning {
  using Tile = Tf32Tile<1, 1, 2, 4, 2, 1>;
};
template <ExecutionSpace Exec>
  requires(is_gpu<Exec> && collective::matrix_lanes<Exec> == 32)
struct Tf32GemmTuning<Exec> {
  using Tile = Tf32Tile<2, 1, 4, 8, 3, 4>;
};
/// The same tile of c for wavefronts, with half as many sums per lane. Chosen by registers and scratch; not yet timed
/// on AMD hardware.
template <ExecutionSpace Exec>
  requires(is_gpu<Exec> && collective::matrix_lanes<Exec> == 64)
struct Tf32GemmTuning<Exec> {
  using Tile = Tf32Tile<2, 1, 4, 4, 2, 1, 64>;
};

namespace detail {

/// \tparam Terms tf32 numbers per factor: 1 or 2
/// \tparam Width elements per copy: 4 if rows of a and b, as stored, begin on 16-byte boundaries and their length is a
///   multiple of four; otherwise 1
template <class Exec, class Lanes, class Tile, int Terms, int Width, collective::AsyncCopies Copies, class Form>
struct Tf32Product {
  static_assert(Terms == 1 || Terms == 2, "Tessera: a factor has one or two terms");
  static_assert(
      !Form::b_transposed && !Form::Load::changes,
      "Tessera: this kernel reads b by rows, and elements as they are stored: transpose or change them first");
  static_assert(Width == 1 || Width == 4, "Tessera: one element is copied at once, or 16 bytes are");
  using Unit = typename Tile::Unit;
  using A = typename Unit::A;
  using B = typename Unit::B;
  using C = typename Unit::C;
  using Policy = Kokkos::TeamPolicy<Exec, Kokkos::LaunchBounds<Tile::lanes, Tile::teams>>;
  using Member = typename Policy::member_type;
  using Pack = collective::Pack<float, 4>;
  using Scratch = ScratchView<Pack*, Exec>;
  using Store = typename Form::Store;
  template <class V>
  using Value = typename Lanes::template Value<V>;
  static constexpr int strips = Tile::strips;
  static constexpr int panels = Tile::panels;
  static constexpr bool a_transposed = Form::a_transposed;
  static constexpr int floats_of_a = Tile::depth * (a_transposed ? Tile::pitch_a : Tile::rows);
  static constexpr int floats_of_stage = floats_of_a + Tile::depth * Tile::pitch_b;

  float const* a;
  float const* b;
  float* c;
  std::size_t inner;  // k
  collective::MatrixTiles tiles;
  Store store;

  [[nodiscard]] static std::size_t scratch_bytes() {
    return Scratch::shmem_size(Tile::stages * floats_of_stage / 4) + bytes_to_a_line<Exec>;
  }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Scratch const scratch(team.team_scratch(0), Tile::stages * floats_of_stage / 4);
    float* const slices = on_a_line(reinterpret_cast<float*>(scratch.data()));
    auto const place = tiles.place(team.league_rank());
    Lanes const lanes;
    Copies const copies;
    Value<Source> source = lanes.template fill<Source>(Source{});
    lanes.each([&](int lane, Source& own) { own = source_of(place, team.team_rank() * Unit::lanes + lane); }, source);
    Sums sums[strips][panels];
    for (auto& row : sums) {
      for (Sums& sum : row) sum = lanes.template fill<C>(C{});
    }
    for (int ahead = 0; ahead < Tile::stages - 1; ++ahead) {
      start(lanes, copies, source, static_cast<std::size_t>(ahead) * Tile::depth, slices + ahead * floats_of_stage);
    }
    int stage = 0;
    int next = Tile::stages - 1;
    for (std::size_t k = 0; k < inner; k += Tile::depth) {
      copies.template wait<Tile::stages - 2>();
      // After the barrier all threads' copies of this slice have arrived, and no thread reads the previous slice.
      team.team_barrier();
      start(lanes, copies, source, k + (Tile::stages - 1) * Tile::depth, slices + next * floats_of_stage);
      multiply(team, lanes, slices + stage * floats_of_stage, sums);
      stage = stage + 1 == Tile::stages ? 0 : stage + 1;
      next = next + 1 == Tile::stages ? 0 : next + 1;
    }
    store_tile(team, lanes, place, sums);
    leave_scratch(team);
  }

 private:
  using Sums = Value<C>;
  static constexpr int bytes = Width * static_cast<int>(sizeof(float));

  // ---- load

  // The place of row k in a slice whose rows are k. place_of(k + l) = place_of(k) + place_of(l) if l is a multiple of a
  // power of two above k.
  [[nodiscard]] static KOKKOS_FUNCTION constexpr int place_of(int k) { return k % 4 * 4 + k / 4; }

  // How lanes share the copies of `Count` rows of a slice. Neighbouring lanes copy neighbouring pieces of a row; a lane
  // has `pieces` of them. Successive rows of a lane are `step` apart.
  template <int Count, int Length>
  struct Shares {
    static constexpr int of_row = Length / Width;
    static constexpr int pieces = of_row > Tile::lanes ? of_row / Tile::lanes : 1;
    static constexpr int step = of_row > Tile::lanes ? 1 : Tile::lanes / of_row;
    static constexpr int to_next_piece = Tile::lanes * Width;
    static_assert(Count % step == 0 && of_row * step == Tile::lanes * pieces);

    [[nodiscard]] KOKKOS_FUNCTION static int row(int lane) { return lane / of_row; }
    [[nodiscard]] KOKKOS_FUNCTION static int place_in_row(int lane) { return lane % of_row * Width; }
  };
  using SharesOfA = std::conditional_t<a_transposed, Shares<Tile::depth, Tile::rows>, Shares<Tile::rows, Tile::depth>>;
  using SharesOfB = Shares<Tile::depth, Tile::cols>;

  // The source and destination of a lane's first copy of a factor's slice at k = 0; its other copies are at fixed
  // distances.
  struct Share {
    float const* from;
    int k;     // in the slice
    int left;  // remaining rows of a, or columns of b, from the lane's first one on
    int to;
  };
  struct Source {
    Share a;
    Share b;
  };
  [[nodiscard]] KOKKOS_FUNCTION Source source_of(collective::MatrixTiles::Place const& place, int lane) const {
    Source source;
    int const row = SharesOfA::row(lane);
    int const in_row = SharesOfA::place_in_row(lane);
    if constexpr (a_transposed) {
      source.a = share_of_k(a, tiles.rows, place.row, place.row_count, row, in_row, Tile::pitch_a);
    } else {
      source.a = {.from = a + (place.row + static_cast<std::size_t>(row)) * inner + static_cast<std::size_t>(in_row),
                  .k = in_row,
                  .left = place.row_count - row,
                  .to = row * Tile::depth + in_row};
    }
    source.b = share_of_k(b, tiles.cols, place.col, place.col_count, SharesOfB::row(lane),
                          SharesOfB::place_in_row(lane), Tile::pitch_b);
    source.b.to += floats_of_a;
    return source;
  }
  // The share of a matrix whose rows are k and have `length` elements, from column first + in_row on.
  [[nodiscard]] KOKKOS_FUNCTION static Share share_of_k(float const* matrix, std::size_t length, std::size_t first,
                                                        int count, int k, int in_row, int pitch) {
    return {.from = matrix + static_cast<std::size_t>(k) * length + first + static_cast<std::size_t>(in_row),
            .k = k,
            .left = count - in_row,
            .to = place_of(k) * pitch + in_row};
  }

  // Starts the copies of the slice that begins at k, with zeros outside the matrices.
  KOKKOS_FUNCTION void start(Lanes const& lanes, Copies const& copies, Value<Source>& source, std::size_t k,
                             float* slice) const {
    if (k < inner) {
      int const left = inner - k < Tile::depth ? static_cast<int>(inner - k) : Tile::depth;
      lanes.each(
          [&](int, Source const& own) {
            if constexpr (a_transposed) {
              copy_rows_of_k<SharesOfA, Tile::pitch_a>(copies, own.a, tiles.rows, k, left, slice);
            } else {
              float const* from = own.a.from + k;
              int const rows = own.a.k < left ? own.a.left : 0;
              TESSERA_UNROLL
              for (int row = 0; row < Tile::rows; row += SharesOfA::step, from += SharesOfA::step * inner) {
                copies.template copy_async<bytes>(slice + own.a.to + row * Tile::depth, from, row < rows);
              }
            }
          },
          source);
      lanes.each(
          [&](int, Source const& own) {
            copy_rows_of_k<SharesOfB, Tile::pitch_b>(copies, own.b, tiles.cols, k, left, slice);
          },
          source);
    }
    copies.commit();
  }
  // A lane's copies of a slice whose rows are k; `left` of these rows are in the matrix.
  template <class Shares, int Pitch>
  KOKKOS_FUNCTION static void copy_rows_of_k(Copies const& copies, Share const& own, std::size_t length, std::size_t k,
                                             int left, float* slice) {
    float const* from = own.from + k * length;
    int const rows = own.left > 0 ? left - own.k : 0;
    TESSERA_UNROLL
    for (int row = 0; row < Tile::depth; row += Shares::step, from += Shares::step * length) {
      TESSERA_UNROLL
      for (int piece = 0; piece < Shares::pieces; ++piece) {
        int const on = piece * Shares::to_next_piece;
        copies.template copy_async<bytes>(slice + own.to + place_of(row) * Pitch + on, from + on,
                                          row < rows && (piece == 0 || on < own.left));
      }
    }
  }

  // Reads this thread's columns of a slice of b, for both products, and splits them into terms.
  KOKKOS_FUNCTION static void load_right(Lanes const& lanes, float const* slice_b, Value<B> (&high_b)[2][panels],
                                         Value<B> (&low_b)[2][panels]) {
    TESSERA_UNROLL
    for (int j = 0; j < panels; j += 4) {
      TESSERA_UNROLL
      for (int e = 0; e < 4; ++e) {
        int const product = e / 2;
        int const i = e % 2;
        auto* const high = high_b[product] + j;
        auto* const low = low_b[product] + j;
        lanes.each(
            [&](int lane, B& high_0, B& high_1, B& high_2, B& high_3, B& low_0, B& low_1, B& low_2, B& low_3) {
              Pack const x = collective::pack_at<4>(slice_b + (Unit::four_of(lane) + 4 * e) * Tile::pitch_b +
                                                    j * Unit::cols + Unit::line_of(lane) * 4);
              collective::split_to_tf32<Terms>(x[0], high_0.at[i], low_0.at[i]);
              collective::split_to_tf32<Terms>(x[1], high_1.at[i], low_1.at[i]);
              collective::split_to_tf32<Terms>(x[2], high_2.at[i], low_2.at[i]);
              collective::split_to_tf32<Terms>(x[3], high_3.at[i], low_3.at[i]);
            },
            high[0], high[1], high[2], high[3], low[0], low[1], low[2], low[3]);
      }
    }
  }
  // Reads a strip of this thread's rows of a slice of a, for both products, and splits them into terms.
  KOKKOS_FUNCTION static void load_left(Lanes const& lanes, float const* slice_a, int s, Value<A> (&high_a)[2],
                                        Value<A> (&low_a)[2]) {
    lanes.each(
        [&](int lane, A& high_0, A& high_1, A& low_0, A& low_1) {
          if constexpr (a_transposed) {
            TESSERA_UNROLL
            for (int e = 0; e < 4; ++e) {
              auto const x = collective::pack_at<Unit::groups>(slice_a + (Unit::four_of(lane) + 4 * e) * Tile::pitch_a +
                                                               s * Unit::rows + Unit::line_of(lane) * Unit::groups);
              for (int r = 0; r < Unit::groups; ++r) {
                int const i = r + e % 2 * Unit::groups;
                e < 2 ? collective::split_to_tf32<Terms>(x[r], high_0.at[i], low_0.at[i])
                      : collective::split_to_tf32<Terms>(x[r], high_1.at[i], low_1.at[i]);
              }
            }
          } else {
            for (int r = 0; r < Unit::groups; ++r) {
              int const row = s * Unit::rows + Unit::line_of(lane) + Unit::lines * r;
              Pack const x = collective::pack_at<4>(slice_a + row * Tile::depth + Unit::four_of(lane) * 4);
              collective::split_to_tf32<Terms>(x[0], high_0.at[r], low_0.at[r]);
              collective::split_to_tf32<Terms>(x[1], high_0.at[Unit::groups + r], low_0.at[Unit::groups + r]);
              collective::split_to_tf32<Terms>(x[2], high_1.at[r], low_1.at[r]);
              collective::split_to_tf32<Terms>(x[3], high_1.at[Unit::groups + r], low_1.at[Unit::groups + r]);
            }
          }
        },
        high_a[0], high_a[1], low_a[0], low_a[1]);
  }

  // ---- multiply

  // Adds the products of a slice to this thread's sums.
  KOKKOS_FUNCTION void multiply(Member const& team, Lanes const& lanes, float const* slice,
                                Sums (&sums)[strips][panels]) const {
    float const* const slice_a =
        slice + team.team_rank() / Tile::across * Tile::thread_rows * (a_transposed ? 1 : Tile::depth);
    float const* const slice_b = slice + floats_of_a + team.team_rank() % Tile::across * Tile::thread_cols;
    Value<B> high_b[2][panels];
    Value<B> low_b[2][panels];
    load_right(lanes, slice_b, high_b, low_b);
    TESSERA_UNROLL
    for (int s = 0; s < strips; ++s) {
      Value<A> high_a[2];
      Value<A> low_a[2];
      load_left(lanes, slice_a, s, high_a, low_a);
      if constexpr (Terms == 1) {
        for (int product = 0; product < 2; ++product) {
          for (int j = 0; j < panels; ++j) {
            collective::multiply_add(Unit{}, lanes, sums[s][j], high_a[product], high_b[product][j]);
          }
        }
      } else {
        TESSERA_UNROLL
        for (int j = 0; j < panels; j += 4) add_terms(lanes, high_a, low_a, high_b, low_b, j, sums[s]);
      }
    }
  }

  // Interleaves four panels from j on, so that no product waits for the previous one. Small products come first: they
  // are added to each other before a large sum.
  KOKKOS_FUNCTION static void add_terms(Lanes const& lanes, Value<A> const (&high_a)[2], Value<A> const (&low_a)[2],
                                        Value<B> const (&high_b)[2][panels], Value<B> const (&low_b)[2][panels], int j,
                                        Sums (&sums)[panels]) {
    Sums own[4];
    for (int p = 0; p < 4; ++p) collective::multiply(Unit{}, lanes, own[p], low_a[0], high_b[0][j + p]);
    for (int p = 0; p < 4; ++p) collective::multiply_add(Unit{}, lanes, own[p], low_a[1], high_b[1][j + p]);
    for (int product = 0; product < 2; ++product) {
      for (int p = 0; p < 4; ++p) {
        collective::multiply_add(Unit{}, lanes, own[p], high_a[product], low_b[product][j + p]);
      }
    }
    for (int product = 0; product < 2; ++product) {
      for (int p = 0; p < 4; ++p) {
        collective::multiply_add(Unit{}, lanes, own[p], high_a[product], high_b[product][j + p]);
      }
    }
    for (int p = 0; p < 4; ++p) {
      lanes.each(
          [](int, C& sum, C const& more) {
            for (int i = 0; i < 4; ++i) sum.at[i] += more.at[i];
          },
          sums[j + p], own[p]);
    }
  }

  // ---- store

  // Returns the row (0 .. 15) of a lane's i-th sum.
  [[nodiscard]] KOKKOS_FUNCTION static int row_of_sum(int lane, int i) {
    int const row = Unit::row_of_c(lane, i);
    return a_transposed ? row % Unit::lines * Unit::groups + row / Unit::lines : row;
  }

  // Stores the sums that lie in the matrix c.
  KOKKOS_FUNCTION void store_tile(Member const& team, Lanes const& lanes, collective::MatrixTiles::Place const& place,
                                  Sums (&sums)[strips][panels]) const {
    int const first_row = team.team_rank() / Tile::across * Tile::thread_rows;
    int const first_col = team.team_rank() % Tile::across * Tile::thread_cols;
    TESSERA_UNROLL
    for (int s = 0; s < strips; ++s) {
      TESSERA_UNROLL
      for (int j = 0; j < panels; j += 4) {
        auto* const four = sums[s] + j;
        lanes.each(
            [&](int lane, C const& sum_0, C const& sum_1, C const& sum_2, C const& sum_3) {
              for (int i = 0; i < 4; ++i) {
                int const row = first_row + s * Unit::rows + row_of_sum(lane, i);
                int const col = first_col + j * Unit::cols + 4 * Unit::col_of_c(lane, i);
                if (row >= place.row_count || col >= place.col_count) continue;
                std::size_t const first = place.col + static_cast<std::size_t>(col);
                // With Width 4 the length of c's rows is a multiple of four.
                store_four(c, (place.row + static_cast<std::size_t>(row)) * tiles.cols + first, first,
                           Width == 4 ? 4 : place.col_count - col, {sum_0.at[i], sum_1.at[i], sum_2.at[i], sum_3.at[i]},
                           store, Width == 4);
              }
            },
            four[0], four[1], four[2], four[3]);
      }
    }
  }
};

}  // namespace detail

/// c = a b for a [m, k], b [k, n] and c [m, n] of floats. Depending on the form, a is given as [k, m], and sums change
/// as they are stored (kernels/product_form.hpp). Forms with b transposed, or with elements that change as they are
/// loaded, are not supported.
///
/// All matrices must be row-major; c must not overlap a or b. A call throws std::invalid_argument for other extents or
/// strides.
///
/// Calls only enqueue: one launch, none if c is empty. Calls of one object may run concurrently. If k is 0, c becomes
/// zeros, changed as the form says. Elements must be 0 or have magnitudes of 2^-50 to 2^126: beyond that range tf32 may
/// round to infinity, and products of terms may underflow.
///
/// \tparam Terms tf32 numbers per factor: 1 (11 bits) or 2 (float accuracy)
template <ExecutionSpace Exec, int Terms, class Form = PlainProduct, class Tuning = Tf32GemmTuning<Exec>>
class Tf32Gemm : public MatrixUnitGemm<Tf32Gemm<Exec, Terms, Form, Tuning>, Exec, Form> {
  using Base = MatrixUnitGemm<Tf32Gemm, Exec, Form>;

 public:
  using Tile = typename Tuning::Tile;

  /// Throws Skip if the device has no matrix units. On hosts the units are emulated.
  Tf32Gemm(Exec const& exec, std::size_t m, std::size_t n, std::size_t k, std::string label = "tessera::tf32_gemm")
      : Base(m, n, k, std::move(label)) {
    this->template cut_into_tiles<Tile>();
    if constexpr (is_gpu<Exec>) require_matrix_units(exec);
  }

  /// Returns the number of float additions per element. With one term it is 1: a matrix unit makes all sums, and their
  /// errors are not independent roundings (see error()).
  [[nodiscard]] double rounding_steps() const { return Terms == 1 ? 1 : slices(); }
  /// Returns a bound on the other errors of a result, relative to its sum of magnitudes. A product of the unit aligns
  /// nine numbers to the largest one. Each of them loses less than 2^-23 of it, and so does their sum: 20 u of it.
  ///
  /// One term: 20 u for every product of the unit, two per slice; the error of each factor is 2^-11.
  ///
  /// Two terms: high differs from a factor by at most 2^-11 of it. Truncating low loses 2 u of the factor, 4 u for both
  /// factors. Omitting low low, 2^-22, costs 4 u. In a slice's sum the two products of high parts lose 20 u each. The
  /// four products of a high and a low part are 2^-10 of that size: they lose 0.1 u, and enlarge the sum, which costs
  /// another 0.1 u. The total is below 49 u.
  [[nodiscard]] double error() const {
    double const u = unit_roundoff(DType::float32);
    return Terms == 1 ? 0x1p-10 + 0x1p-22 + 20 * u * 2 * slices() : 49 * u;
  }

  /// Returns the additional error of an element by underflow with two terms, if elements of a and b are at most this
  /// large: see lost_by_underflow_of_tf32().
  [[nodiscard]] double lost_by_underflow(double largest_of_a, double largest_of_b) const {
    return lost_by_underflow_of_tf32(k_, largest_of_a, largest_of_b);
  }

  // Public because a device kernel may not be launched from a private function.
  void enqueue(Exec const& exec, float const* a, float const* b, float* c, Form const& form) const {
    bool const by_packs =
        (Form::a_transposed ? m_ : k_) % 4 == 0 && n_ % 4 == 0 && collective::is_aligned_for_packs<4>(a, b, c);
    by_packs ? multiply<4>(exec, a, b, c, form) : multiply<1>(exec, a, b, c, form);
  }
  template <int Width>
  void multiply(Exec const& exec, float const* a, float const* b, float* c, Form const& form) const {
    constexpr int lanes = collective::matrix_lanes<Exec>;
    static_assert(Tile::Unit::lanes == lanes, "Tessera: a tile is for units of as many lanes as the space has");
    using Copies = std::conditional_t<is_gpu<Exec>, collective::HardwareCopiesPastL1,
                                      collective::HardwareCopies>;  // a host copies immediately
    using Product = detail::Tf32Product<Exec, lane::On<Exec, lanes>, Tile, Terms, Width, Copies, Form>;
    this->template launch<Tile>(exec, Product{a, b, c, k_, tiles_, form.store});
  }

 private:
  [[nodiscard]] double slices() const { return static_cast<double>(tiles_of(k_, Tile::depth)); }

  using Base::k_, Base::m_, Base::n_, Base::tiles_;
};

/// c = a b (see Tf32Gemm); all matrices are row-major, and c must not overlap a or b. For a single use: it enqueues,
/// and waits.
template <int Terms, ExecutionSpace Exec, class A, class B, class C, class Form = PlainProduct>
void tf32_gemm(Exec const& exec, A const& a, B const& b, C const& c, Form const& form = {}) {
  multiply_once<Tf32Gemm<Exec, Terms, Form>>(exec, a, b, c, form, "tessera: tf32_gemm");
}

}  // namespace tessera::kernels
