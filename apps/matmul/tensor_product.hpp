#pragma once
/// \file
/// The kernel of tensor_tf32 and tensor_3xtf32: c = a b on matrix units (collective/lane/matrix_unit.hpp), factors in double
/// buffers in scratch that are filled by asynchronous copies (collective/async_copy.hpp).
///
/// A team makes a tile of c, each of its threads (a warp) a part of that as sums in the registers of its lanes:
///
///     tile of c 128 x 128 = 2 x 2 threads, each 64 x 64 = 4 x 8 products of 16 x 8 x 8
///
/// A slice of 16 of k is in scratch while the next one is on its way. Rows of the tiles there are padded: so the 32 lanes
/// read the elements of a fragment from 32 banks.
///
/// Factors are rounded to tf32, 11 bits, as they come from scratch. With three terms a factor is x = high + low, both tf32,
/// and low the rounding of what high leaves over: 22 bits. a b is then high high + (high low + low high); low low is below
/// what is lost in any case. Those three products go to a sum of their own, which starts at 0 for every 8 of k and is then
/// added in float: a matrix unit cuts off what it cannot hold, an addition in float rounds to nearest.
/// Source of both: H. Ootomo, R. Yokota, Recovering single precision accuracy from Tensor Cores while surpassing the FP32
/// theoretical peak performance, International Journal of High Performance Computing Applications 36, 2022.

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <string>
#include <utility>

#include "problem.hpp"

#include <tessera/collective/async_copy.hpp>
#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/lane/matrix_unit.hpp>
#include <tessera/collective/matrix_tiles.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/core/problem.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/core/spaces.hpp>

namespace tessera::matmul {

/// How a team cuts its tile of c: `down` x `across` threads, each with `strips` x `panels` products of a matrix unit.
template <int Down, int Across, int Strips, int Panels, int Depth, int MostTeams>
struct TensorShape {
  static constexpr int down = Down;
  static constexpr int across = Across;
  static constexpr int strips = Strips;
  static constexpr int panels = Panels;
  static constexpr int depth = Depth;  ///< of k, in scratch at a time
  static constexpr int threads = Down * Across;
  static constexpr int thread_rows = Strips * collective::MatrixUnit::rows;
  static constexpr int thread_cols = Panels * collective::MatrixUnit::cols;
  static constexpr int rows = Down * thread_rows;
  static constexpr int cols = Across * thread_cols;
  static constexpr int teams = MostTeams;  ///< on a multiprocessor, for which registers must suffice
  // 4 more than a multiple of 8, and 8 more than one of 32: the banks that a fragment's lanes read are all different.
  static constexpr int pitch_a = Depth + 4;
  static constexpr int pitch_b = cols + 8;
  static_assert(Depth % collective::MatrixUnit::depth == 0 && cols % 32 == 0);
};

/// \tparam Terms of a factor: 1 or 2 numbers of tf32
/// \tparam Width elements that are copied at once: 4, where rows of a and b begin on 16 bytes and end with four elements,
///   or 1
template <class Exec, class Lanes, class Shape, int Terms, int Width, collective::AsyncCopies Copies>
struct TensorProduct {
  static_assert(Terms == 1 || Terms == 2, "Tessera: a factor has one or two terms");
  static_assert(Width == 1 || Width == 4, "Tessera: one element is copied at once, or 16 bytes are");
  using Unit = collective::MatrixUnit;
  using Policy = Kokkos::TeamPolicy<Exec, Kokkos::LaunchBounds<Shape::threads * Unit::lanes, Shape::teams>>;
  using Member = typename Policy::member_type;
  // Packs, so that 16 bytes can be copied to where rows begin.
  using Scratch = ScratchView<collective::Pack<float, 4>*, Exec>;
  static constexpr int stages = 2;
  static constexpr int floats_of_a = Shape::rows * Shape::pitch_a;
  static constexpr int floats_of_stage = floats_of_a + Shape::depth * Shape::pitch_b;

  Array<float const**, typename Exec::memory_space> a;
  Array<float const**, typename Exec::memory_space> b;
  Array<float**, typename Exec::memory_space> c;
  collective::MatrixTiles tiles;

  [[nodiscard]] static std::size_t scratch_bytes() { return Scratch::shmem_size(stages * floats_of_stage / 4); }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Scratch const scratch(team.team_scratch(0), stages * floats_of_stage / 4);
    float* const slices = reinterpret_cast<float*>(scratch.data());
    auto const place = tiles.place(team.league_rank());
    std::size_t const inner = a.extent(1);
    Lanes const lanes;
    Copies const copies;
    Sums sums[Shape::strips][Shape::panels];
    for (auto& row : sums) {
      for (Sums& sum : row) sum = lanes.template fill<Unit::C>(Unit::C{});
    }
    start(team, lanes, copies, place, 0, slices);
    int stage = 0;
    for (std::size_t k = 0; k < inner; k += Shape::depth) {
      copies.template wait<0>();
      // Behind it everybody's part of this slice has arrived, and nobody reads the other stage any more.
      team.team_barrier();
      int const other = 1 - stage;
      start(team, lanes, copies, place, k + Shape::depth, slices + other * floats_of_stage);
      multiply(team, lanes, slices + stage * floats_of_stage, sums);
      stage = other;
    }
    store(team, lanes, place, sums);
    leave_scratch(team);
  }

 private:
  using Sums = typename Lanes::template Value<Unit::C>;

  // Starts the copies of the slice that begins at k: zeros where it leaves the matrices.
  KOKKOS_FUNCTION void start(Member const& team, Lanes const& lanes, Copies const& copies,
                             collective::MatrixTiles::Place const& place, std::size_t k, float* slice) const {
    constexpr int bytes = Width * static_cast<int>(sizeof(float));
    std::size_t const inner = a.extent(1);
    auto of_lane = lanes.template fill<int>(0);
    if (k < inner) {
      constexpr int in_row = Shape::depth / Width;
      for (int first = team.team_rank() * Unit::lanes; first < Shape::rows * in_row;
           first += Shape::threads * Unit::lanes) {
        lanes.each(
            [&](int lane, int const&) {
              int const row = (first + lane) / in_row;
              int const col = (first + lane) % in_row * Width;
              bool const inside = row < place.row_count && k + col < inner;
              float const* const from = inside ? &a(place.row + row, k + col) : a.data();
              copies.template copy_async<bytes>(slice + row * Shape::pitch_a + col, from, inside);
            },
            of_lane);
      }
      constexpr int in_row_of_b = Shape::cols / Width;
      for (int first = team.team_rank() * Unit::lanes; first < Shape::depth * in_row_of_b;
           first += Shape::threads * Unit::lanes) {
        lanes.each(
            [&](int lane, int const&) {
              int const row = (first + lane) / in_row_of_b;
              int const col = (first + lane) % in_row_of_b * Width;
              bool const inside = k + row < inner && col < place.col_count;
              float const* const from = inside ? &b(k + row, place.col + col) : b.data();
              copies.template copy_async<bytes>(slice + floats_of_a + row * Shape::pitch_b + col, from, inside);
            },
            of_lane);
      }
    }
    copies.commit();
  }

  // One factor's fragment: its high parts, and with two terms its low ones.
  template <class F>
  struct Split {
    F high;
    F low;
  };

  template <int N>
  KOKKOS_FUNCTION static void split(Split<collective::Fragment<N>>& part, int i, float value) {
    part.high.at[i] = collective::to_tf32(value);
    if constexpr (Terms == 2) part.low.at[i] = collective::to_tf32(value - part.high.at[i]);
  }

  // Adds the products of a slice to this thread's sums.
  KOKKOS_FUNCTION void multiply(Member const& team, Lanes const& lanes, float const* slice,
                                Sums (&sums)[Shape::strips][Shape::panels]) const {
    float const* const slice_a = slice;
    float const* const slice_b = slice + floats_of_a;
    int const row = team.team_rank() / Shape::across * Shape::thread_rows;
    int const col = team.team_rank() % Shape::across * Shape::thread_cols;
    for (int k = 0; k < Shape::depth; k += Unit::depth) {
      typename Lanes::template Value<Unit::B> high_b[Shape::panels];
      typename Lanes::template Value<Unit::B> low_b[Shape::panels];
      for (int j = 0; j < Shape::panels; ++j) {
        lanes.each(
            [&](int lane, Unit::B& high, Unit::B& low) {
              Split<Unit::B> part{};
              for (int i = 0; i < 2; ++i) {
                split(part, i,
                      slice_b[(k + Unit::row_of_b(lane, i)) * Shape::pitch_b + col + j * Unit::cols +
                              Unit::col_of_b(lane, i)]);
              }
              high = part.high;
              low = part.low;
            },
            high_b[j], low_b[j]);
      }
      for (int s = 0; s < Shape::strips; ++s) {
        typename Lanes::template Value<Unit::A> high_a;
        typename Lanes::template Value<Unit::A> low_a;
        lanes.each(
            [&](int lane, Unit::A& high, Unit::A& low) {
              Split<Unit::A> part{};
              for (int i = 0; i < 4; ++i) {
                split(part, i,
                      slice_a[(row + s * Unit::rows + Unit::row_of_a(lane, i)) * Shape::pitch_a + k +
                              Unit::col_of_a(lane, i)]);
              }
              high = part.high;
              low = part.low;
            },
            high_a, low_a);
        for (int j = 0; j < Shape::panels; ++j) {
          if constexpr (Terms == 1) {
            collective::multiply_add(lanes, sums[s][j], high_a, high_b[j]);
          } else {
            // The small products first, so that they meet each other before they meet a large sum.
            Sums of_slice;
            collective::multiply(lanes, of_slice, low_a, high_b[j]);
            collective::multiply_add(lanes, of_slice, high_a, low_b[j]);
            collective::multiply_add(lanes, of_slice, high_a, high_b[j]);
            lanes.each(
                [](int, Unit::C& sum, Unit::C const& more) {
                  for (int i = 0; i < 4; ++i) sum.at[i] += more.at[i];
                },
                sums[s][j], of_slice);
          }
        }
      }
    }
  }

  // Stores what lies in the matrix c.
  KOKKOS_FUNCTION void store(Member const& team, Lanes const& lanes, collective::MatrixTiles::Place const& place,
                             Sums (&sums)[Shape::strips][Shape::panels]) const {
    int const first_row = team.team_rank() / Shape::across * Shape::thread_rows;
    int const first_col = team.team_rank() % Shape::across * Shape::thread_cols;
    for (int s = 0; s < Shape::strips; ++s) {
      for (int j = 0; j < Shape::panels; ++j) {
        lanes.each(
            [&](int lane, Unit::C const& sum) {
              for (int i = 0; i < 4; i += 2) {
                int const row = first_row + s * Unit::rows + Unit::row_of_c(lane, i);
                int const col = first_col + j * Unit::cols + Unit::col_of_c(lane, i);
                if (row >= place.row_count) continue;
                if (col >= place.col_count) continue;
                float* const to = &c(place.row + row, place.col + col);
                if constexpr (Width == 4) {  // two neighbours at once: rows of c have an even number of elements
                  collective::pack_at<2>(to) = {sum.at[i], sum.at[i + 1]};
                } else {
                  to[0] = sum.at[i];
                  if (col + 1 < place.col_count) to[1] = sum.at[i + 1];
                }
              }
            },
            sums[s][j]);
      }
    }
  }
};

/// Counts the elements that the unit's numbers do not represent as exactly as the kernel assumes: NaN and infinities, too.
template <class Matrix>
struct OutsideOfUnit {
  Matrix matrix;

  KOKKOS_FUNCTION void operator()(std::size_t i, std::size_t& count) const {
    float const value = matrix.data()[i];
    float const size = value < 0 ? -value : value;
    using Unit = collective::MatrixUnit;
    count += size == 0 || (size >= Unit::smallest && size <= Unit::largest) ? 0 : 1;
  }
};

/// The Plan of both variants. Throws Skip where there are no matrix units, and for matrices with elements that they do not
/// represent.
template <ExecutionSpace Exec, int Terms, class Shape = TensorShape<2, 2, 4, 8, 16, 2>>
class TensorPlan {
 public:
  TensorPlan(Exec const& exec, InputOn<Matmul, Exec, float> const& input, std::string label)
      : label_(std::move(label)), inner_(input.a.extent(1)) {
    using Unit = collective::MatrixUnit;
    if (!collective::has_matrix_units(exec)) {
      throw Skip("matrix units for tf32 (CUDA has them, from compute capability 8.0 on; " +
                 std::string(space_name<Exec>()) + " here does not)");
    }
    constexpr int lanes = Shape::threads * Unit::lanes;
    if (input.parameters.team != 0 && input.parameters.team != lanes) {
      throw Skip("a team of " + std::to_string(input.parameters.team) + " threads (a tile is cut for " +
                 std::to_string(lanes) + ")");
    }
    if (outside(exec, input.a) + outside(exec, input.b) > 0) {
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
  [[nodiscard]] double rounding_steps() const {
    return Terms == 1 ? 1 : static_cast<double>((inner_ + Unit::depth - 1) / Unit::depth);
  }
  /// Relative to a sum of magnitudes. Nine numbers that are aligned to the largest of them lose less than 2^-23 of it each,
  /// and their sum once more: 20 u. With one term that happens for every 8 of k, and factors are off by 2^-11 each. With
  /// two it happens three times, in sums of 8; factors are off by 2^-22 = 4 u each, and low low is as much.
  [[nodiscard]] double systematic_error() const {
    double const u = unit_roundoff(DType::float32);
    double const products = static_cast<double>((inner_ + Unit::depth - 1) / Unit::depth);
    return Terms == 1 ? 0x1p-10 + 0x1p-22 + 20 * u * products : (12 + 3 * 20) * u;
  }

  /// The roof of multiply-adds in registers is not the matrix units', which is higher.
  [[nodiscard]] std::string note() const { return "roof: not of matrix units"; }

  // Public because a device kernel may not be launched from a private function.
  template <int Width>
  void enqueue([[maybe_unused]] Exec const& exec, [[maybe_unused]] InputOn<Matmul, Exec, float> const& input,
               [[maybe_unused]] OutputOn<Matmul, Exec, float> const& output) const {
    if constexpr (is_gpu<Exec>) {
      using Kernel = TensorProduct<Exec, lane::On<Exec, Unit::lanes>, Shape, Terms, Width, collective::HardwareCopies>;
      typename Kernel::Policy const policy(exec, league_, Shape::threads, Unit::lanes);
      Kokkos::parallel_for(label_, with_scratch(policy, Kernel::scratch_bytes()),
                           Kernel{input.a, input.b, output.c, tiles_});
    }
  }

 private:
  using Unit = collective::MatrixUnit;

  template <class Matrix>
  [[nodiscard]] static std::size_t outside(Exec const& exec, Matrix const& matrix) {
    std::size_t count = 0;
    Kokkos::parallel_reduce("tessera::matmul::tensor::outside",
                            Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::size_t>>(exec, 0, matrix.size()),
                            OutsideOfUnit<Matrix>{matrix}, count);
    return count;
  }

  std::string label_;
  std::size_t inner_;
  collective::MatrixTiles tiles_;
  int league_ = 0;
};

}  // namespace tessera::matmul
