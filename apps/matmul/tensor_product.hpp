#pragma once
/// \file
/// The kernel of tensor_tf32 and tensor_3xtf32: c = a b on matrix units (collective/lane/matrix_unit.hpp), factors in scratch that
/// is filled by asynchronous copies (collective/async_copy.hpp) two slices of k ahead.
///
/// A team makes a tile of c, each of its threads (a warp) a part of that as sums in the registers of its lanes:
///
///     tile of c 128 x 64 = 2 threads, each 64 x 64 = 4 x 8 products of 16 x 8 x 8
///
/// Teams are small, and four share a multiprocessor: while one waits at its barrier, the units work for the others.
///
/// The order of k does not matter, nor that of columns. A slice of 16 of k is two products, and a lane reads what it has of both
/// by accesses of 16 bytes. With g = lane / 4 and t = lane % 4 it has k = 4 t .. 4 t + 3 of the slice, the first two for the first
/// product, and of 32 columns 4 g .. 4 g + 3, one for each of four products beside each other:
///
///     a  a row of the slice is 16 elements: row g of the tile, elements 4 t to 4 t + 3, at one place; 8 rows fill all banks
///     b  row k of the slice stands at place 4 (k % 4) + k / 4: a lane's four rows at t, t + 4, t + 8, t + 12, four columns each
///     c  sums of 4 neighbouring columns, 16 bytes of a row
///
/// Factors are rounded to tf32, 11 bits, as they come from scratch. With two terms a factor is x = high + low, both tf32,
/// and low what high leaves over, cut off behind 11 of its at most 12 bits. a b is then high high + (high low + low high); low low
/// is below what is lost in any case. These go to a sum of their own, small ones first, which starts at 0 for every 16 of k and is
/// then added in float: a matrix unit cuts off what it cannot hold, an addition in float rounds to nearest.
/// Source of both: H. Ootomo, R. Yokota, Recovering single precision accuracy from Tensor Cores while surpassing the FP32
/// theoretical peak performance, International Journal of High Performance Computing Applications 36, 2022.

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <string>
#include <utility>

#include "factor_facts.hpp"
#include "problem.hpp"

#include <tessera/collective/async_copy.hpp>
#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/lane/matrix_unit.hpp>
#include <tessera/collective/matrix_tiles.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/core/problem.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/unroll.hpp>

namespace tessera::matmul {

/// How a team cuts its tile of c: `down` x `across` threads, each with `strips` x `panels` products of a matrix unit.
template <int Down, int Across, int Strips, int Panels, int Stages, int MostTeams>
struct TensorShape {
  using Unit = collective::MatrixUnit<collective::Tf32>;
  static constexpr int down = Down;
  static constexpr int across = Across;
  static constexpr int strips = Strips;
  static constexpr int panels = Panels;
  static constexpr int stages = Stages;          ///< slices of k in scratch: one that is read, others on their way
  static constexpr int depth = 2 * Unit::depth;  ///< of a slice: a lane's four elements of a row are for two products
  static constexpr int threads = Down * Across;
  static constexpr int lanes = threads * Unit::lanes;
  static constexpr int thread_rows = Strips * Unit::rows;
  static constexpr int thread_cols = Panels * Unit::cols;
  static constexpr int rows = Down * thread_rows;
  static constexpr int cols = Across * thread_cols;
  static constexpr int teams = MostTeams;  ///< on a multiprocessor, for which registers must suffice
  // 8 more than a multiple of 32: what 8 lanes read at once of four rows lies in all banks.
  static constexpr int pitch_b = cols + 8;
  static_assert(Stages >= 2 && Panels % 4 == 0, "Tessera: a lane has four neighbouring columns, of four products");
};

/// \tparam Terms of a factor: 1 or 2 numbers of tf32
/// \tparam Width elements that are copied at once: 4, where rows of a and b begin on 16 bytes and end with four elements,
///   or 1
template <class Exec, class Lanes, class Shape, int Terms, int Width, collective::AsyncCopies Copies>
struct TensorProduct {
  static_assert(Terms == 1 || Terms == 2, "Tessera: a factor has one or two terms");
  static_assert(Width == 1 || Width == 4, "Tessera: one element is copied at once, or 16 bytes are");
  using Unit = collective::MatrixUnit<collective::Tf32>;
  using Policy = Kokkos::TeamPolicy<Exec, Kokkos::LaunchBounds<Shape::lanes, Shape::teams>>;
  using Member = typename Policy::member_type;
  using Pack = collective::Pack<float, 4>;
  using Scratch = ScratchView<Pack*, Exec>;
  template <class V>
  using Value = typename Lanes::template Value<V>;
  static constexpr int strips = Shape::strips;
  static constexpr int panels = Shape::panels;
  static constexpr int floats_of_a = Shape::rows * Shape::depth;
  static constexpr int floats_of_stage = floats_of_a + Shape::depth * Shape::pitch_b;

  Array<float const**, typename Exec::memory_space> a;
  Array<float const**, typename Exec::memory_space> b;
  Array<float**, typename Exec::memory_space> c;
  collective::MatrixTiles tiles;

  [[nodiscard]] static std::size_t scratch_bytes() {
    return Scratch::shmem_size(Shape::stages * floats_of_stage / 4) + bytes_to_a_line<Exec>;
  }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Scratch const scratch(team.team_scratch(0), Shape::stages * floats_of_stage / 4);
    float* const slices = on_a_line(reinterpret_cast<float*>(scratch.data()));
    auto const place = tiles.place(team.league_rank());
    std::size_t const inner = a.extent(1);
    Lanes const lanes;
    Copies const copies;
    Value<Source> source = lanes.template fill<Source>(Source{});
    lanes.each([&](int lane, Source& own) { own = source_of(place, team.team_rank() * Unit::lanes + lane); }, source);
    Sums sums[strips][panels];
    for (auto& row : sums) {
      for (Sums& sum : row) sum = lanes.template fill<Unit::C>(Unit::C{});
    }
    for (int ahead = 0; ahead < Shape::stages - 1; ++ahead) {
      start(lanes, copies, source, static_cast<std::size_t>(ahead) * Shape::depth, slices + ahead * floats_of_stage);
    }
    int stage = 0;
    int next = Shape::stages - 1;
    for (std::size_t k = 0; k < inner; k += Shape::depth) {
      copies.template wait<Shape::stages - 2>();
      // Behind it everybody's part of this slice has arrived, and nobody reads the slice before it any more.
      team.team_barrier();
      start(lanes, copies, source, k + (Shape::stages - 1) * Shape::depth, slices + next * floats_of_stage);
      multiply(team, lanes, slices + stage * floats_of_stage, sums);
      stage = stage + 1 == Shape::stages ? 0 : stage + 1;
      next = next + 1 == Shape::stages ? 0 : next + 1;
    }
    store(team, lanes, place, sums);
    leave_scratch(team);
  }

 private:
  using Sums = Value<Unit::C>;

  // Lanes beside each other copy the pieces of a row. From one copy of a lane to its next there are so many rows.
  static constexpr int pieces_of_a = Shape::depth / Width;
  static constexpr int pieces_of_b = Shape::cols / Width;
  static constexpr int step_a = Shape::lanes / pieces_of_a;
  static constexpr int step_b = Shape::lanes / pieces_of_b;
  static_assert(Shape::rows % step_a == 0 && step_b > 0 && Shape::depth % step_b == 0);

  // Where row k of a slice of b stands. Of a power of two and less: place_of(k + l) = place_of(k) + place_of(l).
  [[nodiscard]] static KOKKOS_FUNCTION constexpr int place_of(int k) { return k % 4 * 4 + k / 4; }

  // What a lane copies of the slice at k = 0, and where to: of the others the same, further on.
  struct Source {
    float const* a;
    float const* b;
    int col_of_a;  // of the slice
    int row_of_b;
    int rows_left;      // of a, from the lane's first one on
    bool is_in_matrix;  // its columns of b
    int to_a;
    int to_b;
  };
  [[nodiscard]] KOKKOS_FUNCTION Source source_of(collective::MatrixTiles::Place const& place, int lane) const {
    int const row = lane / pieces_of_a;
    int const col_of_a = lane % pieces_of_a * Width;
    int const row_of_b = lane / pieces_of_b;
    int const col = lane % pieces_of_b * Width;
    return {.a = a.data() + (place.row + row) * a.extent(1) + col_of_a,
            .b = b.data() + row_of_b * b.extent(1) + place.col + col,
            .col_of_a = col_of_a,
            .row_of_b = row_of_b,
            .rows_left = place.row_count - row,
            .is_in_matrix = col < place.col_count,
            .to_a = row * Shape::depth + col_of_a,
            .to_b = floats_of_a + place_of(row_of_b) * Shape::pitch_b + col};
  }

  // Starts the copies of the slice that begins at k: zeros where it leaves the matrices.
  KOKKOS_FUNCTION void start(Lanes const& lanes, Copies const& copies, Value<Source>& source, std::size_t k,
                             float* slice) const {
    std::size_t const inner = a.extent(1);
    if (k < inner) {
      constexpr int bytes = Width * static_cast<int>(sizeof(float));
      int const left = inner - k < Shape::depth ? static_cast<int>(inner - k) : Shape::depth;
      lanes.each(
          [&](int, Source const& own) {
            float const* from = own.a + k;
            int const rows = own.col_of_a < left ? own.rows_left : 0;
            TESSERA_UNROLL
            for (int row = 0; row < Shape::rows; row += step_a, from += step_a * inner) {
              copies.template copy_async<bytes>(slice + own.to_a + row * Shape::depth, from, row < rows);
            }
          },
          source);
      lanes.each(
          [&](int, Source const& own) {
            std::size_t const cols = b.extent(1);
            float const* from = own.b + k * cols;
            int const rows = own.is_in_matrix ? left - own.row_of_b : 0;
            TESSERA_UNROLL
            for (int row = 0; row < Shape::depth; row += step_b, from += step_b * cols) {
              copies.template copy_async<bytes>(slice + own.to_b + place_of(row) * Shape::pitch_b, from, row < rows);
            }
          },
          source);
    }
    copies.commit();
  }

  // A factor's terms.
  KOKKOS_FUNCTION static void split(float value, float& high, float& low) {
    high = collective::to_tf32(value);
    if constexpr (Terms == 2) low = collective::cut_to_tf32(value - high);
  }

  // Adds the products of a slice to this thread's sums.
  KOKKOS_FUNCTION void multiply(Member const& team, Lanes const& lanes, float const* slice,
                                Sums (&sums)[strips][panels]) const {
    using A = Unit::A;
    using B = Unit::B;
    float const* const slice_a = slice + team.team_rank() / Shape::across * Shape::thread_rows * Shape::depth;
    float const* const slice_b = slice + floats_of_a + team.team_rank() % Shape::across * Shape::thread_cols;
    Value<B> high_b[2][panels];  // of both products
    Value<B> low_b[2][panels];
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
              Pack const x =
                  collective::pack_at<4>(slice_b + (lane % 4 + 4 * e) * Shape::pitch_b + j * Unit::cols + lane / 4 * 4);
              split(x[0], high_0.at[i], low_0.at[i]);
              split(x[1], high_1.at[i], low_1.at[i]);
              split(x[2], high_2.at[i], low_2.at[i]);
              split(x[3], high_3.at[i], low_3.at[i]);
            },
            high[0], high[1], high[2], high[3], low[0], low[1], low[2], low[3]);
      }
    }
    TESSERA_UNROLL
    for (int s = 0; s < strips; ++s) {
      Value<A> high_a[2];
      Value<A> low_a[2];
      lanes.each(
          [&](int lane, A& high_0, A& high_1, A& low_0, A& low_1) {
            for (int r = 0; r < 2; ++r) {
              Pack const x =
                  collective::pack_at<4>(slice_a + (s * Unit::rows + lane / 4 + 8 * r) * Shape::depth + lane % 4 * 4);
              split(x[0], high_0.at[r], low_0.at[r]);
              split(x[1], high_0.at[2 + r], low_0.at[2 + r]);
              split(x[2], high_1.at[r], low_1.at[r]);
              split(x[3], high_1.at[2 + r], low_1.at[2 + r]);
            }
          },
          high_a[0], high_a[1], low_a[0], low_a[1]);
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

  // Four panels from j on side by side, so that no product waits for the one before it. The small ones first: they meet each
  // other before they meet a large sum.
  KOKKOS_FUNCTION static void add_terms(Lanes const& lanes, Value<Unit::A> const (&high_a)[2],
                                        Value<Unit::A> const (&low_a)[2], Value<Unit::B> const (&high_b)[2][panels],
                                        Value<Unit::B> const (&low_b)[2][panels], int j, Sums (&sums)[panels]) {
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
          [](int, Unit::C& sum, Unit::C const& more) {
            for (int i = 0; i < 4; ++i) sum.at[i] += more.at[i];
          },
          sums[j + p], own[p]);
    }
  }

  // Stores what lies in the matrix c.
  KOKKOS_FUNCTION void store(Member const& team, Lanes const& lanes, collective::MatrixTiles::Place const& place,
                             Sums (&sums)[strips][panels]) const {
    using C = Unit::C;
    int const first_row = team.team_rank() / Shape::across * Shape::thread_rows;
    int const first_col = team.team_rank() % Shape::across * Shape::thread_cols;
    TESSERA_UNROLL
    for (int s = 0; s < strips; ++s) {
      TESSERA_UNROLL
      for (int j = 0; j < panels; j += 4) {
        auto* const four = sums[s] + j;
        lanes.each(
            [&](int lane, C const& sum_0, C const& sum_1, C const& sum_2, C const& sum_3) {
              for (int i = 0; i < 4; ++i) {
                int const row = first_row + s * Unit::rows + Unit::row_of_c(lane, i);
                int const col = first_col + j * Unit::cols + 4 * Unit::col_of_c(lane, i);
                if (row >= place.row_count || col >= place.col_count) continue;
                float* const to = c.data() + (place.row + row) * c.extent(1) + place.col + col;
                Pack const values{sum_0.at[i], sum_1.at[i], sum_2.at[i], sum_3.at[i]};
                if constexpr (Width == 4) {  // rows of c end with four elements
                  collective::pack_at<4>(to) = values;
                } else {
                  for (int e = 0; e < 4; ++e) {
                    if (col + e < place.col_count) to[e] = values[e];
                  }
                }
              }
            },
            four[0], four[1], four[2], four[3]);
      }
    }
  }
};

/// What tf32 represents. Two terms represent twice as many bits, but of two such factors the product of both low terms is missing.
struct Tf32Rule {
  [[nodiscard]] KOKKOS_FUNCTION static Fit fit(float value, float magnitude) {
    using Unit = collective::MatrixUnit<collective::Tf32>;
    if (!(magnitude == 0 || (magnitude >= Unit::smallest && magnitude <= Unit::largest))) return Fit::outside;
    return collective::to_tf32(value) == value ? Fit::exactly : Fit::rounded;
  }
};

/// The Plan of both variants. Throws Skip where there are no matrix units, and for matrices with elements that they do not
/// represent.
template <ExecutionSpace Exec, int Terms, class Shape = TensorShape<2, 1, 4, 8, 3, 4>>
class TensorPlan {
 public:
  TensorPlan(Exec const& exec, InputOn<Matmul, Exec, float> const& input, std::string label)
      : label_(std::move(label)), inner_(input.a.extent(1)) {
    collective::require_matrix_units(exec);
    constexpr int lanes = Shape::lanes;
    if (input.parameters.team != 0 && input.parameters.team != lanes) {
      throw Skip("a team of " + std::to_string(input.parameters.team) + " threads (a tile is cut for " +
                 std::to_string(lanes) + ")");
    }
    FactorFacts const a = facts_of<Tf32Rule>(exec, input.a);
    FactorFacts const b = facts_of<Tf32Rule>(exec, input.b);
    rounds_data_ = a.rounded + b.rounded > 0;
    if (a.outside + b.outside > 0) {
      throw Skip(
          "elements of 2^-50 to 2^126, or 0 (the unit's products may underflow below, and tf32 may round to infinity above)");
    }
    tiles_ = {.rows = input.a.extent(0),
              .cols = input.b.extent(1),
              .tile_rows = Shape::rows,
              .tile_cols = Shape::cols,
              .band = 8};
    league_ = tiles_.league_size();
  }

  void operator()(Exec const& exec, InputOn<Matmul, Exec, float> const& input,
                  OutputOn<Matmul, Exec, float> const& output) const {
    if (league_ == 0) return;
    bool const by_packs = inner_ % 4 == 0 && tiles_.cols % 4 == 0 &&
                          collective::is_aligned_for_packs<4>(input.a.data(), input.b.data(), output.c.data());
    by_packs ? enqueue<4>(exec, input, output) : enqueue<1>(exec, input, output);
  }

  /// Additions in float: of one term a matrix unit makes all sums, and they are no independent roundings.
  [[nodiscard]] double rounding_steps() const { return Terms == 1 ? 1 : slices(); }
  /// Relative to a sum of magnitudes. Nine numbers that are aligned to the largest of them lose less than 2^-23 of it each,
  /// and their sum once more: 20 u of it.
  ///
  /// One term: that for every product of the unit, two a slice; factors are off by 2^-11 each.
  ///
  /// Two terms: high is off by at most 2^-11 of a factor, low cut off by 2 u of it: 4 u for both factors, and low low, 2^-22, is
  /// 4 u. Of a slice's sum the two products of high parts lose 20 u each, and the four of a high and a low part as much of
  /// numbers that are 2^-10 of them, 0.1 u; that these are in the sum makes the former 0.1 u larger. 49 u are more than all that.
  [[nodiscard]] ReducedPrecision reduced_precision() const {
    double const u = unit_roundoff(DType::float32);
    return {.relative = Terms == 1 ? 0x1p-10 + 0x1p-22 + 20 * u * 2 * slices() : 49 * u,
            .absolute = 0,
            .rounds_data = rounds_data_};
  }

  // Public because a device kernel may not be launched from a private function.
  template <int Width>
  void enqueue([[maybe_unused]] Exec const& exec, [[maybe_unused]] InputOn<Matmul, Exec, float> const& input,
               [[maybe_unused]] OutputOn<Matmul, Exec, float> const& output) const {
    if constexpr (is_gpu<Exec>) {
      using Kernel =
          TensorProduct<Exec, lane::On<Exec, Unit::lanes>, Shape, Terms, Width, collective::HardwareCopiesPastL1>;
      typename Kernel::Policy const policy(exec, league_, Shape::threads, Unit::lanes);
      Kokkos::parallel_for(label_, with_scratch(policy, Kernel::scratch_bytes()),
                           Kernel{input.a, input.b, output.c, tiles_});
    }
  }

 private:
  using Unit = collective::MatrixUnit<collective::Tf32>;

  [[nodiscard]] double slices() const { return static_cast<double>((inner_ + Shape::depth - 1) / Shape::depth); }

  std::string label_;
  std::size_t inner_;
  collective::MatrixTiles tiles_;
  int league_ = 0;
  bool rounds_data_ = false;
};

}  // namespace tessera::matmul
