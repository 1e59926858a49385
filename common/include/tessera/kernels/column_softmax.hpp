#pragma once
/// \file
/// The softmax of each column of a row-major matrix [rows, cols], y = e^(x - max) / sum e^(x - max), for every shape.
///
/// Columns are split into as many chunks of rows as fill the machine. The first launch stores the maximum and sum of
/// each chunk of a column. The second launch folds them in order and writes the results, starting at the end, because
/// the last rows are still in the cache. If there are enough columns to fill the machine, one chunk and one launch
/// suffice. The result is bitwise reproducible. NaNs and infinities are treated as in softmax.hpp.
///
/// Traffic: each element is read twice and written once.
///
/// Example, columns of [1 4; 2 2]: [0.2689 0.8808; 0.7311 0.1192].
///
/// Use:  softmax_columns(exec, in, out);
/// or, enqueued many times:  ColumnSoftmax<Exec, float> softmax(exec, rows, cols);  softmax(exec, in, out);

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include <tessera/collective/exponential.hpp>
#include <tessera/collective/online_sum.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/collective/thread/softmax_piece.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/core/types.hpp>
#include <tessera/kernels/detail/launch/chunks.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/kernels/detail/launch/views.hpp>

namespace tessera::kernels {

/// How ColumnSoftmax processes a chunk of rows.
template <ExecutionSpace Exec, class T>
struct ColumnSoftmaxTuning {
  static constexpr bool loops = !is_gpu<Exec>;            ///< loops along columns, which suit a host, instead of lanes
  static constexpr int pack = collective::pack_width<T>;  ///< columns per lane: 16 bytes, the widest load
  static constexpr int most_across = 64;                  ///< lanes side by side: up to 1 KB of a row
  static constexpr std::size_t tile_bytes = 1 << 13;  ///< for a tile's maxima, and for its sums: together half a cache
  using Bounds = Kokkos::LaunchBounds<512, 2>;        ///< 64 registers per lane: enough resident teams to hide latency
};

namespace detail {

/// The task of a launch over columns: store the chunks' sums, write results from them, or both at once if a column is
/// one chunk.
enum class ColumnStep : std::uint8_t { sums, write, both };

/// Columns by lanes, for GPUs. (On hosts the result is also correct, but the order of accesses does not suit caches.)
///
/// The lanes of a team form a rectangle: `across` lanes side by side, each on a pack of columns, and `down` lanes below
/// each other. Each lane walks down its rows of the team's chunk in steps of `down`, with several rows in flight. The
/// lanes below each other merge their sums in scratch.
template <class Exec, class T, class Tuning, int N>
struct ColumnLanes {
  using Policy = Kokkos::TeamPolicy<Exec, typename Tuning::Bounds>;
  using Member = typename Policy::member_type;
  using Pack = collective::Pack<T, N>;
  using Sum = collective::OnlineSum<T>;
  using Sums = collective::OnlinePack<T, N>;
  using Merge = collective::MergeOnlineSums<T>;
  using Scratch = ScratchView<Sums*, Exec>;
  static constexpr int in_flight = N == 1 ? 8 : 4;  // rows in flight per lane

  T const* x;
  T* y;
  Sum* partial;  // [chunks.count, cols]
  std::size_t cols;
  ColumnStep step;
  int across;         // lanes side by side
  int down;           // lanes below each other: the distance between a lane's rows
  std::size_t tiles;  // of columns
  Chunks chunks;

  /// Chooses everything except the pointers and the step.
  [[nodiscard]] static ColumnLanes shape(Exec const& exec, int lanes, std::size_t rows, std::size_t cols) {
    ColumnLanes kernel{};
    std::size_t const packs = std::max<std::size_t>(1, cols / N);
    auto const widest = static_cast<int>(std::bit_floor(static_cast<unsigned>(lanes)));
    std::size_t const fill = teams_that_fill(exec, lanes);
    // The longest chunks of rows that still fill the machine.
    kernel.across =
        static_cast<int>(std::min<std::size_t>(std::min(Tuning::most_across, widest), std::bit_ceil(packs)));
    kernel.down = lanes / kernel.across;
    kernel.cols = cols;
    kernel.tiles = tiles_of(packs, kernel.across);
    kernel.chunks =
        split(rows, static_cast<std::size_t>(kernel.down) * in_flight, std::max<std::size_t>(1, fill / kernel.tiles));
    return kernel;
  }

  void enqueue(Exec const& exec, std::string const& label, int lanes) const {
    Policy policy(exec, league_of(tiles * chunks.count), lanes);
    Kokkos::parallel_for(label, with_scratch(policy, Scratch::shmem_size(lanes)), *this);
  }

  /// Returns the roundings: of a lane's rows, of its rows in flight, of the lanes below each other; then of the chunks
  /// in the same way.
  [[nodiscard]] double rounding_steps() const {
    double const rounds = std::ceil(static_cast<double>(chunks.size) / (static_cast<double>(down) * in_flight));
    double const meeting = std::ceil(std::log2(down));
    double const of_chunks = chunks.count == 1 ? 0 : std::ceil(static_cast<double>(chunks.count) / down) + meeting;
    return Merge::rounding_steps * (rounds + meeting + of_chunks) + in_flight;
  }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    // Neighbouring teams handle neighbouring columns of the same rows. The step that writes starts at the end.
    int const place = step == ColumnStep::write ? team.league_size() - 1 - team.league_rank() : team.league_rank();
    auto const chunk = static_cast<int>(place / tiles);
    std::size_t const tile = place % tiles;
    int const right = team.team_rank() % across;
    int const below = team.team_rank() / across;
    std::size_t const col = (tile * across + right) * N;
    bool const has_columns = col < cols && below < down;
    std::size_t const first = chunks.begin(chunk) + below;
    std::size_t const end = chunks.end(chunk);

    Scratch const scratch(team.team_scratch(0), team.team_size());
    Sums sums{};
    if (has_columns) sums = step == ColumnStep::write ? of_chunks(col, below) : of_rows(col, first, end);
    meet(team, sums, scratch.data());
    if (has_columns) {
      sums = scratch(right);
      if (step == ColumnStep::sums) {
        if (below == 0) {
          for (int e = 0; e < N; ++e) partial[chunk * cols + col + e] = sums.at[e];
        }
      } else {
        write(col, first, end, sums);
      }
    }
    leave_scratch(team);
  }

 private:
  // Returns the sums over chunks below, below + down, ... of N columns.
  KOKKOS_FUNCTION Sums of_chunks(std::size_t col, int below) const {
    Sums sums{};
    for (int chunk = below; chunk < chunks.count; chunk += down) {
      for (int e = 0; e < N; ++e) sums.at[e] = Merge{}(sums.at[e], partial[chunk * cols + col + e]);
    }
    return sums;
  }

  // Returns the sums over rows first, first + down, ... of N columns.
  [[nodiscard]] KOKKOS_FUNCTION Sums of_rows(std::size_t col, std::size_t first, std::size_t end) const {
    Sums sums{};
    std::size_t const apart = down;
    for (std::size_t row = first; row < end; row += apart * in_flight) {
      Pack rows[in_flight];
      for (int k = 0; k < in_flight; ++k) {
        if (row + k * apart < end) {
          rows[k] = collective::pack_at<N>(x + (row + k * apart) * cols + col);
        } else {
          for (int e = 0; e < N; ++e) rows[k][e] = collective::minus_infinity<T>();
        }
      }
      for (int e = 0; e < N; ++e) {
        Sum& own = sums.at[e];
        T max = own.max;
        for (int k = 0; k < in_flight; ++k) max = thread::Larger<T>{}(max, rows[k][e]);
        T const reference = collective::online_reference(max);
        T sum = T(0);
        for (int k = 0; k < in_flight; ++k) sum += collective::exp_nonpositive(rows[k][e] - reference);
        own.sum = own.sum * collective::exp_nonpositive(own.max - reference) + sum;
        own.max = max;
      }
    }
    return sums;
  }

  // Merges the sums of the lanes below each other. Must be called by all threads of the team. Scratch: one value per
  // thread. Barriers: inside; the caller needs none before. The result is in the scratch of the topmost lane, valid for
  // every thread.
  KOKKOS_FUNCTION void meet(Member const& team, Sums const& own, Sums* scratch) const {
    int const below = team.team_rank() / across;
    scratch[team.team_rank()] = own;
    for (int stride = 1; stride < down; stride *= 2) {
      team.team_barrier();
      if (below % (2 * stride) == 0 && below + stride < down) {
        Sums& upper = scratch[team.team_rank()];
        Sums const& lower = scratch[team.team_rank() + stride * across];
        for (int e = 0; e < N; ++e) upper.at[e] = Merge{}(upper.at[e], lower.at[e]);
      }
    }
    team.team_barrier();
  }

  // Writes the results of the same rows, from the last to the first.
  KOKKOS_FUNCTION void write(std::size_t col, std::size_t first, std::size_t end, Sums const& sums) const {
    T max[N];
    T inverse[N];
    for (int e = 0; e < N; ++e) {
      max[e] = sums.at[e].max;
      inverse[e] = sums.at[e].inverse();
    }
    if (first >= end) return;
    auto const apart = static_cast<std::int64_t>(down);
    std::int64_t const rounds = static_cast<std::int64_t>((end - first - 1) / down) + 1;
    for (std::int64_t round = rounds - 1; round >= 0; round -= in_flight) {
      Pack rows[in_flight];  // at the end some rows are read twice and dropped, so that no read is conditional
      for (int k = 0; k < in_flight; ++k) {
        rows[k] = collective::pack_at<N>(x + (first + (round < k ? 0 : round - k) * apart) * cols + col);
      }
      for (int k = 0; k < in_flight; ++k) {
        if (round < k) continue;
        Pack out;
        for (int e = 0; e < N; ++e) out[e] = collective::exp_nonpositive(rows[k][e] - max[e]) * inverse[e];
        collective::pack_at<N>(y + (first + (round - k) * apart) * cols + col) = out;
      }
    }
  }
};

/// Columns by loops, for hosts, with the interface of ColumnLanes.
///
/// A thread handles a tile of columns, whose maxima and sums stay in the first-level cache, and several rows at a time;
/// the compiler vectorizes the loops along the columns. Tiles are wide: the cache could hold a narrow tile until it is
/// written, but then each row of the tile would be on another page.
template <class Exec, class T, class Tuning>
struct ColumnLoops {
  using Policy = Kokkos::TeamPolicy<Exec>;
  using Member = typename Policy::member_type;
  using Sum = collective::OnlineSum<T>;
  using Merge = collective::MergeOnlineSums<T>;
  using Scratch = ScratchView<T*, Exec>;
  static constexpr int at_once = 4;  // rows that are added together
  static constexpr std::size_t line = 64;
  static constexpr std::size_t spare = 128;  // bytes that the alignment of each of the two arrays may cost

  T const* x;
  T* y;
  Sum* partial;  // [chunks.count, cols]
  std::size_t cols;
  ColumnStep step;
  std::size_t width;  // columns of a tile
  std::size_t tiles;
  Chunks chunks;  // of rows

  [[nodiscard]] static ColumnLoops shape(Exec const& exec, int threads, std::size_t rows, std::size_t cols) {
    ColumnLoops kernel{};
    kernel.cols = cols;
    // The tiles of all threads must fit into the team's scratch.
    auto const scratch = static_cast<std::size_t>(Kokkos::TeamPolicy<Exec>(1, 1).scratch_size_max(0));
    std::size_t const of_thread = std::min(Tuning::tile_bytes, scratch / (2 * static_cast<std::size_t>(threads)));
    if (of_thread < spare + line)
      throw Skip("tiles of columns for this many threads (they do not fit into a team's scratch)");
    std::size_t const widest = (of_thread - spare) / line * (line / sizeof(T));
    // Tiles of nearly equal width, in whole cache lines.
    kernel.tiles = std::max<std::size_t>(1, tiles_of(cols, widest));
    std::size_t const width = tiles_of(std::max<std::size_t>(1, cols), kernel.tiles);
    kernel.width = kernel.tiles == 1 ? width : tiles_of(width, line / sizeof(T)) * (line / sizeof(T));
    kernel.tiles = std::max<std::size_t>(1, tiles_of(cols, kernel.width));
    std::size_t const fill = teams_that_fill(exec, threads) * threads;
    kernel.chunks = split(rows, 64, kernel.tiles >= fill ? 1 : tiles_of(fill, kernel.tiles));
    return kernel;
  }

  void enqueue(Exec const& exec, std::string const& label, int threads) const {
    Policy policy(exec, league_of(tiles_of(tiles * chunks.count, threads)), threads);
    auto const scratch = static_cast<int>(2 * Scratch::shmem_size(width));
    Kokkos::parallel_for(label, policy.set_scratch_size(0, Kokkos::PerThread(scratch)), *this);
  }

  /// Returns the roundings: of the rows of a chunk, some at a time; then of the chunks.
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
      max[i] = -Kokkos::Experimental::infinity_v<T>;
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
  // KOKKOS_RESTRICT: the sums do not overlap the rows, which the compiler cannot know.
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

  // x and y may be the same array, because each element is read before it is written. max and inverse overlap neither.
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

}  // namespace detail

/// out = softmax(in), column by column, for matrices of rows x cols.
///
/// Construct it once: chooses the chunks and, if there are several, allocates two numbers per column and chunk. A call
/// only enqueues; calls on one object must not run concurrently, because they share this memory.
template <ExecutionSpace Exec, class T, class Tuning = ColumnSoftmaxTuning<Exec, T>>
class ColumnSoftmax {
  static constexpr int pack = Tuning::pack;
  template <int N>
  using Kernel =
      std::conditional_t<Tuning::loops, detail::ColumnLoops<Exec, T, Tuning>, detail::ColumnLanes<Exec, T, Tuning, N>>;

 public:
  /// \param team threads per team; 0: choose. Throws Skip if the space cannot provide them.
  /// \param label kernel name that Kokkos Tools reports
  /// \param in_two true: always two launches; required for calls with `between`
  ColumnSoftmax(Exec const& exec, std::size_t rows, std::size_t cols, std::int64_t team = 0,
                std::string const& label = "tessera::softmax_columns", bool in_two = false)
      : label_(label),
        in_two_(in_two),
        threads_(team_size(exec, team)),
        singles_(Kernel<1>::shape(exec, threads_, rows, cols)),
        packs_(Kernel<pack>::shape(exec, threads_, rows, cols)),
        partial_(unset(label + "::partial"), std::max(of_chunks(singles_), of_chunks(packs_))) {}

  /// Enqueues. `in`, `out` [rows, cols] must be contiguous and row-major; they may be the same. Throws
  /// std::invalid_argument for other extents or strides.
  template <Readable<Exec, T, 2> In, Writable<Exec, T, 2> Out>
  void operator()(Exec const& exec, In const& in, Out const& out) const {
    (*this)(exec, in, out, [](auto const&) {});
  }

  /// As above, for columns whose other rows are held elsewhere, for example on other ranks; the object must have been
  /// constructed with `in_two`. `between(sums)` is called on the host between the two launches, unless the matrix is
  /// empty. `sums` [chunks * cols], OnlineSum<T>, has the sums of each chunk of a column, which the second launch folds
  /// column by column.
  template <Readable<Exec, T, 2> In, Writable<Exec, T, 2> Out, class Between>
  void operator()(Exec const& exec, In const& in, Out const& out, Between const& between) const {
    std::size_t const rows = singles_.chunks.n;
    T const* const x = row_major(in, rows, singles_.cols);
    T* const y = row_major(out, rows, singles_.cols);
    if (rows == 0 || singles_.cols == 0) return;
    bool const by_packs = in_packs() && collective::is_aligned_for_packs<pack>(x, y);
    by_packs ? enqueue(exec, packs_, x, y, between) : enqueue(exec, singles_, x, y, between);
  }

  [[nodiscard]] int most_chunks() const { return std::max(singles_.chunks.count, packs_.chunks.count); }
  /// Returns the number of chunks for Views that are aligned for packs.
  [[nodiscard]] int chunks() const { return in_packs() ? packs_.chunks.count : singles_.chunks.count; }

  /// Returns the roundings of a column's sum on the longest path.
  [[nodiscard]] double rounding_steps() const {
    return in_packs() ? std::max(packs_.rounding_steps(), singles_.rounding_steps()) : singles_.rounding_steps();
  }

 private:
  [[nodiscard]] bool in_packs() const { return singles_.cols % pack == 0; }

  template <class Any>
  [[nodiscard]] std::size_t of_chunks(Any const& kernel) const {
    bool const in_one = kernel.chunks.count == 1 && !in_two_;
    return kernel.chunks.n == 0 || in_one ? 0 : kernel.chunks.count * kernel.cols;
  }

  template <class Any, class Between>
  void enqueue(Exec const& exec, Any kernel, T const* x, T* y, Between const& between) const {
    using detail::ColumnStep;
    kernel.x = x;
    kernel.y = y;
    kernel.partial = partial_.data();
    if (kernel.chunks.count == 1 && !in_two_) {
      kernel.step = ColumnStep::both;
      return kernel.enqueue(exec, label_ + "::both", threads_);
    }
    kernel.step = ColumnStep::sums;
    kernel.enqueue(exec, label_ + "::sums", threads_);
    between(Kokkos::subview(partial_, std::pair<std::size_t, std::size_t>(0, kernel.chunks.count * kernel.cols)));
    kernel.step = ColumnStep::write;
    kernel.enqueue(exec, label_ + "::write", threads_);
  }

  std::string label_;
  bool in_two_;
  int threads_;
  Kernel<1> singles_;  // for rows accessed element by element
  Kernel<pack> packs_;
  Kokkos::View<collective::OnlineSum<T>*, typename Exec::memory_space> partial_;
};

/// out = softmax(in), column by column. `in`, `out` [rows, cols]; they may be the same. Convenience for a single call:
/// allocates, enqueues and waits.
template <ExecutionSpace Exec, class In, class Out>
void softmax_columns(Exec const& exec, In const& in, Out const& out) {
  ColumnSoftmax<Exec, typename In::non_const_value_type> const kernel(exec, in.extent(0), in.extent(1));
  kernel(exec, in, out);
  exec.fence("tessera: softmax_columns");  // the kernel's memory is freed at the end of this call
}

}  // namespace tessera::kernels
