#pragma once
/// \file
/// Softmax of columns by loops: for hosts, with the interface of ColumnLanes.
///
/// A thread takes a tile of columns, whose maxima and sums stay in the first-level cache, and several rows at a time;
/// the loops along the columns become vector instructions. Tiles are wide: of narrow ones that a cache could hold until
/// they are written, every row would be on another page.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "column_steps.hpp"

#include <tessera/collective/online_sum.hpp>
#include <tessera/collective/thread/softmax_piece.hpp>
#include <tessera/core/types.hpp>
#include <tessera/kernels/chunks.hpp>

namespace tessera::softmax {

template <class Exec, class T>
struct ColumnLoops {
  using Policy = Kokkos::TeamPolicy<Exec>;
  using Member = typename Policy::member_type;
  using Sum = collective::OnlineSum<T>;
  using Merge = collective::MergeOnlineSums<T>;
  using Scratch = Kokkos::View<T*, typename Exec::scratch_memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  static constexpr int at_once = 4;                   // rows that are added together
  static constexpr std::size_t tile_bytes = 1 << 13;  // of the maxima of a tile, or the sums
  static constexpr std::size_t line = 64;
  static constexpr std::size_t spare = 128;  // for the alignment of each

  T const* x;
  T* y;
  Sum* partial;  // [chunks.count, cols]
  std::size_t cols;
  ColumnStep step;
  std::size_t width;  // columns of a tile
  std::size_t tiles;
  kernels::Chunks chunks;  // of rows

  [[nodiscard]] static ColumnLoops shape(Exec const& exec, int threads, std::size_t rows, std::size_t cols) {
    ColumnLoops kernel{};
    kernel.cols = cols;
    // All threads' tiles have to fit into the team's scratch.
    auto const scratch = static_cast<std::size_t>(Kokkos::TeamPolicy<Exec>(1, 1).scratch_size_max(0));
    std::size_t const of_thread = std::min(tile_bytes, scratch / (2 * static_cast<std::size_t>(threads)));
    if (of_thread < spare + line)
      throw Skip("tiles of columns for so many threads (they do not fit into a team's scratch)");
    std::size_t const widest = (of_thread - spare) / line * (line / sizeof(T));
    // Of about equal width, in whole cache lines.
    kernel.tiles = std::max<std::size_t>(1, tiles_of(cols, widest));
    std::size_t const width = tiles_of(std::max<std::size_t>(1, cols), kernel.tiles);
    kernel.width = kernel.tiles == 1 ? width : tiles_of(width, line / sizeof(T)) * (line / sizeof(T));
    kernel.tiles = std::max<std::size_t>(1, tiles_of(cols, kernel.width));
    std::size_t const fill = kernels::teams_that_fill(exec, threads) * threads;
    kernel.chunks = kernels::split(rows, 64, kernel.tiles >= fill ? 1 : tiles_of(fill, kernel.tiles));
    return kernel;
  }

  void enqueue(Exec const& exec, char const* label, int threads) const {
    Policy policy(exec, league_of(tiles_of(tiles * chunks.count, threads)), threads);
    auto const scratch = static_cast<int>(2 * Scratch::shmem_size(width));
    Kokkos::parallel_for(label, policy.set_scratch_size(0, Kokkos::PerThread(scratch)), *this);
  }

  /// The rows of a chunk, some at a time; then the chunks.
  [[nodiscard]] double rounding_steps() const {
    double const rounds = std::ceil(static_cast<double>(chunks.size) / at_once) + at_once;
    return Merge::rounding_steps * (rounds + (chunks.count == 1 ? 0 : chunks.count)) + at_once;
  }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    std::size_t const place = static_cast<std::size_t>(team.league_rank()) * team.team_size() + team.team_rank();
    if (place >= tiles * chunks.count) return;
    auto const chunk = static_cast<int>(place / tiles);
    std::size_t const col = place % tiles * width;
    int const count = thread::count_before(col, cols, static_cast<int>(width));
    Scratch const maxima(team.thread_scratch(0), width);
    Scratch const others(team.thread_scratch(0), width);
    T* const max = maxima.data();
    T* const sum = others.data();
    for (int i = 0; i < count; ++i) {
      max[i] = -std::numeric_limits<T>::infinity();
      sum[i] = T(0);
    }
    std::size_t const begin = chunks.begin(chunk);
    std::size_t const end = chunks.end(chunk);
    if (step == ColumnStep::write) {
      for (int of = 0; of < chunks.count; ++of) add_chunk(partial + of * cols + col, count, max, sum);
    } else {
      std::size_t row = begin;
      for (; row + at_once <= end; row += at_once) add<at_once>(x + row * cols + col, count, max, sum);
      for (; row < end; ++row) add<1>(x + row * cols + col, count, max, sum);
    }
    if (step == ColumnStep::sums) {
      for (int i = 0; i < count; ++i) partial[chunk * cols + col + i] = {max[i], sum[i]};
      return;
    }
    for (int i = 0; i < count; ++i) sum[i] = Sum{max[i], sum[i]}.inverse();
    for (std::size_t row = end; row-- > begin;) write(x + row * cols + col, y + row * cols + col, count, max, sum);
  }

 private:
  // The compiler may not guess that the sums are apart from the rows: it is told.
  template <int Rows>
  KOKKOS_FUNCTION void add(T const* from, int count, T* KOKKOS_RESTRICT max, T* KOKKOS_RESTRICT sum) const {
    T const* row[Rows];
    for (int k = 0; k < Rows; ++k) row[k] = from + k * cols;
    for (int i = 0; i < count; ++i) {
      T larger = max[i];
      for (int k = 0; k < Rows; ++k) larger = thread::Larger<T>{}(larger, row[k][i]);
      T const reference = collective::online_reference(larger);
      T added = sum[i] * collective::exp_nonpositive(max[i] - reference);
      for (int k = 0; k < Rows; ++k) added += collective::exp_nonpositive(row[k][i] - reference);
      sum[i] = added;
      max[i] = larger;
    }
  }

  KOKKOS_FUNCTION static void add_chunk(Sum const* of, int count, T* max, T* sum) {
    for (int i = 0; i < count; ++i) {
      Sum const merged = Merge{}(Sum{max[i], sum[i]}, of[i]);
      max[i] = merged.max;
      sum[i] = merged.sum;
    }
  }

  // x and y may be one array, but each element is read before it is written: max and inverse are apart from both.
  KOKKOS_FUNCTION static void write(T const* from, T* to, int count, T const* KOKKOS_RESTRICT max,
                                    T const* KOKKOS_RESTRICT inverse) {
    constexpr int run = 64;
    T values[run];
    for (int i = 0; i < count; i += run) {
      int const size = count - i < run ? count - i : run;
      for (int e = 0; e < size; ++e) values[e] = collective::exp_nonpositive(from[i + e] - max[i + e]) * inverse[i + e];
      for (int e = 0; e < size; ++e) to[i + e] = values[e];
    }
  }
};

}  // namespace tessera::softmax
