#pragma once
/// \file
/// The sum of each column of a row-major matrix [rows, cols], for every shape.
///
/// Columns are split into as many chunks of rows as fill the machine. One launch sums the chunks, a second one adds
/// their sums, always in the same order and without atomics, so that the result is bitwise reproducible. If there are
/// enough columns to fill the machine, one chunk and one launch suffice.
///
/// Traffic: each element is read once, each sum is written once. In addition, one row of sums per chunk is written and
/// read.
///
/// Example: [1 2 3; 4 5 6] -> 5 7 9.
///
/// Use:  sum_columns(exec, in, out);
/// or, enqueued many times:  SumColumns<Exec, float> sum(exec, rows, cols);  sum(exec, in, out);

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include <tessera/collective/accumulator.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/collective/pairwise.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/chunks.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/kernels/detail/launch/views.hpp>

namespace tessera::kernels {

/// How SumColumns processes a chunk of rows.
template <ExecutionSpace Exec, class T>
struct ColumnSumTuning {
  static constexpr bool tiles = !is_gpu<Exec>;            ///< tiles of columns in scratch, which suit a host
  static constexpr bool atomic = false;                   ///< true: chunks add their sums to zeros with atomics instead
  static constexpr int pack = collective::pack_width<T>;  ///< columns per lane: 16 bytes, the widest load
  /// Most lanes side by side, if there are too few columns to fill the machine. With several chunks they read 1 KB of a
  /// row; with one chunk 128 bytes, the smallest efficient access to memory.
  static constexpr int split_across = 64;
  static constexpr int whole_across = 8;
  static constexpr int tile_bytes = 1 << 14;  ///< size of a tile's sums, which stay in the first-level cache
};

namespace detail {

/// Sums over each chunk of rows, N columns per lane: written to target[chunk, cols], or added to target[cols]. The
/// target has the type of the sums, or a type to which they are rounded.
///
/// For GPUs. (On hosts the result is also correct, but the order of accesses does not suit caches.) The lanes of a team
/// form a rectangle: `across` lanes side by side, each on a pack of columns, and `down` lanes below each other. Each
/// lane walks down its rows of the team's chunk in steps of `down`, with several rows in flight, so that a team reads
/// long runs of several rows at a time for any width of the matrix. At the end, the lanes below each other add up their
/// sums in scratch.
template <ExecutionSpace Exec, class T, class Tuning, int N, class Target = collective::Accumulator<T>>
struct LaneColumns {
  using Policy = Kokkos::TeamPolicy<Exec>;
  using Member = typename Policy::member_type;
  using Sum = collective::Accumulator<T>;
  using Pack = collective::Pack<T, N>;
  using Sums = collective::Pack<Sum, N>;
  using SumsView = ScratchView<Sums*, Exec>;
  static constexpr int in_flight = N == 1 ? 16 : 8;  // rows in flight per lane

  T const* a;
  Target* target;
  std::size_t cols;
  int across;
  int down;
  std::size_t tiles;  // of columns
  Chunks chunks;
  bool atomic;

  /// Chooses everything except the pointers. `split`: true for as many chunks of rows as fill the machine, false for
  /// one.
  [[nodiscard]] static LaneColumns shape(Exec const& exec, int lanes, std::size_t rows, std::size_t cols, bool split) {
    LaneColumns kernel{};
    std::size_t const packs = std::max<std::size_t>(1, cols / N);
    auto const widest = static_cast<int>(std::bit_floor(static_cast<unsigned>(lanes)));
    std::size_t const fill = teams_that_fill(exec, lanes);
    // If there are enough columns for all teams, as many lanes as possible are side by side. Otherwise fewer are,
    // and the others share the rows.
    int const wanted = tiles_of(packs, widest) >= fill ? widest : split ? Tuning::split_across : Tuning::whole_across;
    kernel.across = static_cast<int>(
        std::min<std::size_t>(static_cast<std::size_t>(std::min(wanted, widest)), std::bit_ceil(packs)));
    kernel.down = lanes / kernel.across;
    kernel.cols = cols;
    kernel.tiles = tiles_of(packs, static_cast<std::size_t>(kernel.across));
    kernel.chunks = kernels::split(rows, static_cast<std::size_t>(kernel.down) * in_flight,
                                   split ? std::max<std::size_t>(1, fill / kernel.tiles) : 1);
    return kernel;
  }

  /// Returns the same kernel with a target of another type.
  template <class Other>
  [[nodiscard]] auto to(Other* other) const {
    return LaneColumns<Exec, T, Tuning, N, Other>{a, other, cols, across, down, tiles, chunks, atomic};
  }

  void enqueue(Exec const& exec, std::string const& label, int lanes) const {
    if (cols == 0) return;
    Policy policy(exec, static_cast<int>(tiles * static_cast<std::size_t>(chunks.count)), lanes);
    Kokkos::parallel_for(label, with_scratch(policy, down > 1 ? SumsView::shmem_size(lanes) : 0), *this);
  }

  /// Returns the roundings: of a lane's part of a chunk, of the rows in flight among themselves, of the lanes below
  /// each other.
  [[nodiscard]] double rounding_steps() const {
    auto const step = static_cast<double>(down) * in_flight;
    return std::ceil(static_cast<double>(chunks.size) / step) + std::log2(in_flight) + std::ceil(std::log2(down));
  }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    // Neighbouring teams handle neighbouring columns of the same rows.
    std::size_t const chunk = team.league_rank() / tiles;
    std::size_t const tile = team.league_rank() % tiles;
    int const x = team.team_rank() % across;
    int const y = team.team_rank() / across;
    std::size_t const col = (tile * across + x) * N;
    bool const has_columns = col < cols && y < down;
    Sums sum{};
    if (has_columns)
      sum = column_sum(col, chunks.begin(static_cast<int>(chunk)) + y, chunks.end(static_cast<int>(chunk)));
    if (down > 1) {
      SumsView const sums(team.team_scratch(0), team.team_size());
      sums(team.team_rank()) = sum;
      for (int stride = 1; stride < down; stride *= 2) {
        team.team_barrier();
        if (y % (2 * stride) == 0 && y + stride < down) {
          Sums& own = sums(team.team_rank());
          Sums const& other = sums(team.team_rank() + stride * across);
          for (int e = 0; e < N; ++e) own[e] += other[e];
        }
      }
      if (y == 0) sum = sums(team.team_rank());
      leave_scratch(team);
    }
    if (has_columns && y == 0) store(target + (atomic ? 0 : chunk * cols) + col, sum);
  }

 private:
  // Returns the sum of rows begin, begin + down, ... of N columns.
  KOKKOS_FUNCTION Sums column_sum(std::size_t col, std::size_t begin, std::size_t end) const {
    Sums sum{};
    T const* from = a + begin * cols + col;
    std::size_t const apart = static_cast<std::size_t>(down) * cols;
    std::size_t row = begin;
    std::size_t const step = static_cast<std::size_t>(down) * in_flight;
    for (; row + step - down < end; row += step, from += in_flight * apart) {
      Pack rows[in_flight];
      for (int k = 0; k < in_flight; ++k) rows[k] = *reinterpret_cast<Pack const*>(from + k * apart);
      add(rows, sum);
    }
    if (row < end) {
      Pack rows[in_flight];
      for (int k = 0; k < in_flight; ++k) {
        rows[k] =
            row + static_cast<std::size_t>(k) * down < end ? *reinterpret_cast<Pack const*>(from + k * apart) : Pack{};
      }
      add(rows, sum);
    }
    return sum;
  }

  // Adds the rows in flight.
  KOKKOS_FUNCTION static void add(Pack const (&rows)[in_flight], Sums& sum) {
    Sum of_rows[in_flight][N];
    for (int k = 0; k < in_flight; ++k) {
      for (int e = 0; e < N; ++e) of_rows[k][e] = static_cast<Sum>(rows[k][e]);
    }
    collective::add_pairwise(of_rows, sum);
  }

  KOKKOS_FUNCTION void store(Target* to, Sums const& sum) const {
    if constexpr (std::is_same_v<Target, Sum>) {
      if (atomic) {
        for (int e = 0; e < N; ++e) Kokkos::atomic_add(to + e, sum[e]);
        return;
      }
    }
    if (collective::is_aligned_for_packs<N>(to)) {
      collective::Pack<Target, N> stored;
      for (int e = 0; e < N; ++e) stored[e] = sum[e];
      collective::pack_at<N>(to) = stored;
    } else {
      for (int e = 0; e < N; ++e) to[e] = sum[e];
    }
  }
};

/// Sums over each chunk of rows: written to target[chunk, cols], or added to target[cols], as in LaneColumns.
///
/// For hosts, with tiles of columns and the interface of LaneColumns. A team keeps the sums of a tile in scratch, which
/// stays in the first-level cache, and adds the rows of its chunk to them, several at a time. If the matrix is narrower
/// than the tile, several rows are treated as one long row: their elements are contiguous in memory, and so are their
/// sums.
template <ExecutionSpace Exec, class T, class Tuning, class Target = collective::Accumulator<T>>
struct TileColumns {
  using Policy = Kokkos::TeamPolicy<Exec>;
  using Member = typename Policy::member_type;
  using Sum = collective::Accumulator<T>;
  using SumsView = ScratchView<Sum*, Exec>;
  static constexpr int tile = Tuning::tile_bytes / static_cast<int>(sizeof(Sum));  // sums
  static constexpr int at_once = 4;                                                // rows that are added together

  T const* a;
  Target* target;
  std::size_t cols;
  int width;          // columns of a tile
  int down;           // rows that form one long row, a power of two
  std::size_t tiles;  // of columns
  Chunks chunks;
  bool atomic;

  [[nodiscard]] static TileColumns shape(Exec const& exec, int threads, std::size_t rows, std::size_t cols,
                                         bool split) {
    TileColumns kernel{};
    kernel.cols = cols;
    // Tiles of nearly equal width, in whole cache lines.
    kernel.tiles = std::max<std::size_t>(1, tiles_of(cols, tile));
    std::size_t const width = tiles_of(std::max<std::size_t>(1, cols), kernel.tiles);
    kernel.width = static_cast<int>(kernel.tiles == 1 ? width : tiles_of(width, 16) * 16);
    kernel.tiles = std::max<std::size_t>(1, tiles_of(cols, static_cast<std::size_t>(kernel.width)));
    kernel.down = kernel.tiles == 1 ? static_cast<int>(std::bit_floor(static_cast<unsigned>(tile / kernel.width))) : 1;
    std::size_t const fill = teams_that_fill(exec, threads);
    kernel.chunks =
        kernels::split(rows, static_cast<std::size_t>(kernel.down) * at_once, split ? tiles_of(fill, kernel.tiles) : 1);
    return kernel;
  }

  /// Returns the same kernel with a target of another type.
  template <class Other>
  [[nodiscard]] auto to(Other* other) const {
    return TileColumns<Exec, T, Tuning, Other>{a, other, cols, width, down, tiles, chunks, atomic};
  }

  void enqueue(Exec const& exec, std::string const& label, int threads) const {
    if (cols == 0) return;
    Policy policy(exec, static_cast<int>(tiles * static_cast<std::size_t>(chunks.count)), threads);
    Kokkos::parallel_for(label, with_scratch(policy, SumsView::shmem_size(static_cast<std::size_t>(width) * down)),
                         *this);
  }

  /// Returns the roundings: of the long rows of a chunk, four at a time and up to three one by one; of the remaining
  /// rows; of the rows of a long row.
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

    // Each thread has a part of the tile, and adds all rows to it.
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
    Target* const to = target + (atomic ? 0 : chunk * cols) + col;
    int const last = piece_begin(team, count, team.team_rank() + 1);
    for (int i = piece_begin(team, count, team.team_rank()); i < last; ++i) {
      if constexpr (std::is_same_v<Target, Sum>) {
        if (atomic) {
          Kokkos::atomic_add(to + i, sums[i]);
          continue;
        }
      }
      to[i] = sums[i];
    }
    leave_scratch(team);
  }

 private:
  KOKKOS_FUNCTION static int piece_begin(Member const& team, int size, int thread) {
    return static_cast<int>(static_cast<std::int64_t>(size) * thread / team.team_size());
  }

  // Sums elements [low, high) of the long rows that begin at `from`. KOKKOS_RESTRICT: the sums do not overlap the rows,
  // which the compiler cannot know.
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
    int const left_over = static_cast<int>((rows - long_rows * down) * cols);  // 0 if the tile is narrower than a row
    for (int i = low; i < high && i < left_over; ++i) sums[i] += static_cast<Sum>(from[i]);
  }
};

}  // namespace detail

/// out[c] = in[0, c] + in[1, c] + ..., for matrices of rows x cols. Integers wrap. An empty sum is 0.
///
/// Construct it once: chooses the chunks, and allocates one row of sums per chunk if there are several. A call only
/// enqueues; calls on one object must not run concurrently, because they share this memory.
template <ExecutionSpace Exec, class T, class Tuning = ColumnSumTuning<Exec, T>>
class SumColumns {
  static constexpr int pack = Tuning::pack;
  using Sum = collective::Accumulator<T>;
  using Stored = collective::StoredSum<T>;
  static_assert(!Tuning::atomic || std::is_same_v<Stored, Sum>, "Tessera: there are no atomic sums in 16 bits");
  template <class Element, int N>
  using Kernel = std::conditional_t<Tuning::tiles, detail::TileColumns<Exec, Element, Tuning>,
                                    detail::LaneColumns<Exec, Element, Tuning, N>>;
  template <int N>
  struct Stages {
    Kernel<T, N> first;
    Kernel<Sum, N> second;

    Stages(Exec const& exec, int threads, std::size_t rows, std::size_t cols)
        : first(Kernel<T, N>::shape(exec, threads, rows, cols, true)),
          second(Kernel<Sum, N>::shape(exec, threads, static_cast<std::size_t>(first.chunks.count), cols, false)) {}

    [[nodiscard]] std::size_t partial_sums() const {
      return Tuning::atomic || first.chunks.count == 1 ? 0 : static_cast<std::size_t>(first.chunks.count) * first.cols;
    }
    /// Returns the roundings: of a chunk, then of the chunks; atomics add these one after the other in the worst case.
    [[nodiscard]] double rounding_steps() const {
      double const of_chunks = Tuning::atomic ? first.chunks.count : second.rounding_steps();
      return first.rounding_steps() + (first.chunks.count == 1 ? 0 : of_chunks);
    }
  };

 public:
  /// \param team threads per team; 0: choose. Throws Skip if the space cannot provide them.
  /// \param label kernel name that Kokkos Tools reports
  SumColumns(Exec const& exec, std::size_t rows, std::size_t cols, std::int64_t team = 0,
             std::string const& label = "tessera::sum_columns")
      : label_(label),
        threads_(team_size(exec, team)),
        singles_(exec, threads_, rows, cols),
        packs_(exec, threads_, rows, cols),
        partial_(unset(label + "::partial"), std::max(singles_.partial_sums(), packs_.partial_sums())) {}

  /// Enqueues. `in` [rows, cols] must be contiguous and row-major; `out` [cols] must be contiguous and must not overlap
  /// `in`. Throws std::invalid_argument for other extents or strides.
  template <Readable<Exec, T, 2> In, Writable<Exec, T, 1> Out>
  void operator()(Exec const& exec, In const& in, Out const& out) const {
    T const* const a = row_major(in, singles_.first.chunks.n, singles_.first.cols);
    (void)contiguous(out, singles_.first.cols);
    in_packs() && collective::is_aligned_for_packs<pack>(a) ? enqueue(exec, packs_, a, out)
                                                            : enqueue(exec, singles_, a, out);
  }

  /// Returns the number of chunks for Views that are aligned for packs.
  [[nodiscard]] int chunks() const { return in_packs() ? packs_.first.chunks.count : singles_.first.chunks.count; }

  /// Returns the roundings of a column's sum on the longest path.
  [[nodiscard]] double rounding_steps() const {
    return in_packs() ? std::max(packs_.rounding_steps(), singles_.rounding_steps()) : singles_.rounding_steps();
  }

 private:
  [[nodiscard]] bool in_packs() const { return singles_.first.cols % pack == 0; }

  template <class Any, class Out>
  void enqueue(Exec const& exec, Any stages, T const* a, Out const& out) const {
    auto* const sums = reinterpret_cast<Stored*>(out.data());
    bool const once = stages.first.chunks.count == 1;
    stages.first.a = a;
    stages.first.atomic = Tuning::atomic && !once;
    if (once || Tuning::atomic) {
      if constexpr (Tuning::atomic) {
        if (!once) Kokkos::deep_copy(exec, out, T(0));
      }
      stages.first.to(sums).enqueue(exec, label_ + "::chunks", threads_);
      return;
    }
    stages.first.to(partial_.data()).enqueue(exec, label_ + "::chunks", threads_);
    stages.second.a = partial_.data();
    stages.second.to(sums).enqueue(exec, label_ + "::total", threads_);
  }

  std::string label_;
  int threads_;
  Stages<1> singles_;  // for rows accessed element by element
  Stages<pack> packs_;
  Kokkos::View<Sum*, typename Exec::memory_space> partial_;
};

/// out[c] = in[0, c] + in[1, c] + ... `in` [rows, cols], `out` [cols]. Convenience for a single call: allocates,
/// enqueues and waits.
template <ExecutionSpace Exec, class In, class Out>
void sum_columns(Exec const& exec, In const& in, Out const& out) {
  SumColumns<Exec, typename In::non_const_value_type> const kernel(exec, in.extent(0), in.extent(1));
  kernel(exec, in, out);
  exec.fence("tessera: sum_columns");  // the kernel's memory is freed at the end of this call
}

}  // namespace tessera::kernels
