#pragma once
/// \file
/// Sums of columns by tiles: for hosts, with the interface of LaneColumns.
///
/// A team keeps the sums of a tile of columns in scratch, which stays in the first-level cache, and streams the rows of
/// its chunk through it, several at a time. Of a matrix narrower than the tile it takes several rows as one long one:
/// their elements follow each other in memory, and so do their sums.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include <tessera/collective/accumulator.hpp>
#include <tessera/kernels/chunks.hpp>

namespace tessera::axis_sum {

/// Sums over the rows of each chunk of rows: to target[chunk, cols], or added to target[cols].
template <class Exec, class T>
struct ColumnTiles {
  using Policy = Kokkos::TeamPolicy<Exec>;
  using Member = typename Policy::member_type;
  using Sum = collective::Accumulator<T>;
  using SumsView = Kokkos::View<Sum*, typename Exec::scratch_memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  static constexpr int tile = (1 << 14) / static_cast<int>(sizeof(T));  // elements in 16 KiB
  static constexpr int at_once = 4;                                     // rows that are added together

  T const* a;
  Sum* target;
  std::size_t cols;
  int width;          // columns of a tile
  int down;           // rows that lie in the tile behind each other, a power of two
  std::size_t tiles;  // of columns
  kernels::Chunks chunks;
  bool atomic;

  [[nodiscard]] static ColumnTiles shape(Exec const& exec, int threads, std::size_t rows, std::size_t cols,
                                         bool split) {
    ColumnTiles kernel{};
    kernel.cols = cols;
    // Tiles of about equal width, in whole cache lines.
    kernel.tiles = std::max<std::size_t>(1, tiles_of(cols, tile));
    std::size_t const width = tiles_of(std::max<std::size_t>(1, cols), kernel.tiles);
    kernel.width = static_cast<int>(kernel.tiles == 1 ? width : tiles_of(width, 16) * 16);
    kernel.tiles = std::max<std::size_t>(1, tiles_of(cols, static_cast<std::size_t>(kernel.width)));
    kernel.down = kernel.tiles == 1 ? static_cast<int>(std::bit_floor(static_cast<unsigned>(tile / kernel.width))) : 1;
    std::size_t const fill = kernels::teams_that_fill(exec, threads);
    kernel.chunks =
        kernels::split(rows, static_cast<std::size_t>(kernel.down) * at_once, split ? tiles_of(fill, kernel.tiles) : 1);
    return kernel;
  }

  void enqueue(Exec const& exec, char const* label, int threads) const {
    if (cols == 0) return;
    Policy policy(exec, static_cast<int>(tiles * static_cast<std::size_t>(chunks.count)), threads);
    auto const scratch = static_cast<int>(SumsView::shmem_size(static_cast<std::size_t>(width) * down));
    Kokkos::parallel_for(label, policy.set_scratch_size(0, Kokkos::PerTeam(scratch)), *this);
  }

  /// The long rows of a chunk, four at a time and up to three one by one, the rows that are left over, the rows of a
  /// long one.
  [[nodiscard]] double rounding_steps() const {
    double const long_rows = static_cast<double>(chunks.size) / down;
    return std::ceil(long_rows / at_once) + std::log2(at_once) + at_once - 1 + 1 + std::log2(down);
  }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    std::size_t const chunk = team.league_rank() / tiles;
    std::size_t const col = team.league_rank() % tiles * width;
    int const count = cols - col < static_cast<std::size_t>(width) ? static_cast<int>(cols - col) : width;
    std::size_t const begin = chunks.begin(static_cast<int>(chunk));
    std::size_t const end = chunks.end(static_cast<int>(chunk));
    std::size_t const rows = begin < end ? end - begin : 0;
    SumsView const scratch(team.team_scratch(0), static_cast<std::size_t>(width) * down);
    Sum* const sums = scratch.data();

    // Each thread has a piece of the tile, of all rows.
    int const span = count * down;
    int const low = piece_begin(team, span, team.team_rank());
    int const high = piece_begin(team, span, team.team_rank() + 1);
    stream(a + begin * cols + col, rows, low, high, sums);
    for (int half = down / 2; half >= 1; half /= 2) {
      team.team_barrier();
      int const last = piece_begin(team, half * count, team.team_rank() + 1);
      for (int i = piece_begin(team, half * count, team.team_rank()); i < last; ++i) sums[i] += sums[i + half * count];
    }
    team.team_barrier();
    Sum* const to = target + (atomic ? 0 : chunk * cols) + col;
    int const last = piece_begin(team, count, team.team_rank() + 1);
    for (int i = piece_begin(team, count, team.team_rank()); i < last; ++i) {
      if (atomic) {
        Kokkos::atomic_add(to + i, sums[i]);
      } else {
        to[i] = sums[i];
      }
    }
    team.team_barrier();  // the next tile comes into the same scratch
  }

 private:
  KOKKOS_FUNCTION static int piece_begin(Member const& team, int size, int thread) {
    return static_cast<int>(static_cast<std::int64_t>(size) * thread / team.team_size());
  }

  // Sums of places [low, high) of the long rows that begin at `from`. The compiler may not guess that the sums are apart
  // from the rows: it is told.
  KOKKOS_FUNCTION void stream(T const* from, std::size_t rows, int low, int high, Sum* KOKKOS_RESTRICT sums) const {
    std::size_t const apart = cols * down;
    std::size_t const long_rows = rows / down;
    for (int i = low; i < high; ++i) sums[i] = Sum(0);
    std::size_t row = 0;
    for (; row + at_once <= long_rows; row += at_once, from += at_once * apart) {
      T const* const row0 = from;
      T const* const row1 = row0 + apart;
      T const* const row2 = row1 + apart;
      T const* const row3 = row2 + apart;
      for (int i = low; i < high; ++i) {
        sums[i] += (static_cast<Sum>(row0[i]) + static_cast<Sum>(row1[i])) +
                   (static_cast<Sum>(row2[i]) + static_cast<Sum>(row3[i]));
      }
    }
    for (; row < long_rows; ++row, from += apart) {
      for (int i = low; i < high; ++i) sums[i] += static_cast<Sum>(from[i]);
    }
    int const left_over = static_cast<int>((rows - long_rows * down) * cols);  // 0 if the tile holds no row whole
    for (int i = low; i < high && i < left_over; ++i) sums[i] += static_cast<Sum>(from[i]);
  }
};

/// Sums of columns of one shape: how many chunks of rows there are, and the launch.
template <class Exec, class T>
class TileColumns {
 public:
  using Sum = collective::Accumulator<T>;

  TileColumns(Exec const& exec, std::int64_t team, T const*, std::size_t rows, std::size_t cols, bool split)
      : threads_(kernels::team_size(exec, team)),
        kernel_(ColumnTiles<Exec, T>::shape(exec, threads_, rows, cols, split)) {}

  [[nodiscard]] int chunks() const { return kernel_.chunks.count; }

  void enqueue(Exec const& exec, char const* label, T const* a, Sum* target, bool atomic) const {
    ColumnTiles<Exec, T> kernel = kernel_;
    kernel.a = a;
    kernel.target = target;
    kernel.atomic = atomic;
    kernel.enqueue(exec, label, threads_);
  }

  [[nodiscard]] double rounding_steps() const { return kernel_.rounding_steps(); }

 private:
  int threads_;
  ColumnTiles<Exec, T> kernel_;
};

}  // namespace tessera::axis_sum
