#pragma once
/// \file
/// Sums of columns by lanes: for GPUs (on hosts it is right, but walks through memory as caches do not like it).
///
/// The lanes of a team stand in a rectangle: `across` of them side by side, each on a pack of columns, and `down` of them
/// below each other. Each walks down its rows of the team's chunk in steps of `down`, with several rows under way, so
/// that a team reads whole pieces of several rows at a time however wide the matrix is. At the end the lanes below each
/// other meet in scratch.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include <tessera/collective/accumulator.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/kernels/chunks.hpp>

namespace tessera::axis_sum {

/// Sums over the rows of each chunk of rows, of N columns a lane: to target[chunk, cols], or added to target[cols].
template <class Exec, class T, int N>
struct ColumnLanes {
  using Policy = Kokkos::TeamPolicy<Exec>;
  using Member = typename Policy::member_type;
  using Sum = collective::Accumulator<T>;
  using Pack = collective::Pack<T, N>;
  using Sums = collective::Pack<Sum, N>;
  using SumsView = Kokkos::View<Sums*, typename Exec::scratch_memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  static constexpr int in_flight = N == 1 ? 16 : 8;  // rows that a lane has under way

  T const* a;
  Sum* target;
  std::size_t cols;
  int across;
  int down;
  std::size_t tiles;  // of columns
  kernels::Chunks chunks;
  bool atomic;

  /// Chooses everything but the pointers. `split`: into as many chunks of rows as fill the machine, else into one.
  [[nodiscard]] static ColumnLanes shape(Exec const& exec, int lanes, std::size_t rows, std::size_t cols, bool split) {
    ColumnLanes kernel{};
    std::size_t const packs = std::max<std::size_t>(1, cols / N);
    auto const widest = static_cast<int>(std::bit_floor(static_cast<unsigned>(lanes)));
    std::size_t const fill = kernels::teams_that_fill(exec, lanes);
    // Columns alone are enough for all teams: no row needs another team or lane. Else pieces of rows of up to 1 KB, and
    // chunks of rows as long as that leaves them; in one chunk, pieces of 128 bytes, the least that memory gives.
    int const wanted = tiles_of(packs, widest) >= fill ? widest : split ? 64 : 8;
    kernel.across = static_cast<int>(
        std::min<std::size_t>(static_cast<std::size_t>(std::min(wanted, widest)), std::bit_ceil(packs)));
    kernel.down = lanes / kernel.across;
    kernel.cols = cols;
    kernel.tiles = tiles_of(packs, static_cast<std::size_t>(kernel.across));
    kernel.chunks = kernels::split(rows, static_cast<std::size_t>(kernel.down) * in_flight,
                                   split ? std::max<std::size_t>(1, fill / kernel.tiles) : 1);
    return kernel;
  }

  void enqueue(Exec const& exec, char const* label, int lanes) const {
    if (cols == 0) return;
    Policy policy(exec, static_cast<int>(tiles * static_cast<std::size_t>(chunks.count)), lanes);
    auto const scratch = static_cast<int>(down > 1 ? SumsView::shmem_size(lanes) : 0);
    Kokkos::parallel_for(label, policy.set_scratch_size(0, Kokkos::PerTeam(scratch)), *this);
  }

  /// A lane's share of a chunk, the rows under way among themselves, the lanes below each other.
  [[nodiscard]] double rounding_steps() const {
    auto const step = static_cast<double>(down) * in_flight;
    return std::ceil(static_cast<double>(chunks.size) / step) + std::log2(in_flight) + std::ceil(std::log2(down));
  }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    // Neighbouring teams take neighbouring columns of the same rows.
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
      team.team_barrier();  // hosts go on with another team in the same scratch
    }
    if (has_columns && y == 0) store(target + (atomic ? 0 : chunk * cols) + col, sum);
  }

 private:
  // The sum of rows begin, begin + down, ... of N columns.
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

  // Adds the rows under way, pairwise: a shorter chain, and no waiting for each other.
  KOKKOS_FUNCTION static void add(Pack const (&rows)[in_flight], Sums& sum) {
    for (int e = 0; e < N; ++e) {
      Sum of_rows[in_flight];
      for (int k = 0; k < in_flight; ++k) of_rows[k] = static_cast<Sum>(rows[k][e]);
      for (int stride = 1; stride < in_flight; stride *= 2) {
        for (int k = 0; k + stride < in_flight; k += 2 * stride) of_rows[k] += of_rows[k + stride];
      }
      sum[e] += of_rows[0];
    }
  }

  KOKKOS_FUNCTION void store(Sum* to, Sums const& sum) const {
    if (atomic) {
      for (int e = 0; e < N; ++e) Kokkos::atomic_add(to + e, sum[e]);
    } else if (collective::is_aligned_for_packs<N>(to)) {
      *reinterpret_cast<Sums*>(to) = sum;
    } else {
      for (int e = 0; e < N; ++e) to[e] = sum[e];
    }
  }
};

/// Sums of columns of one shape: how many chunks of rows there are, and the launch.
template <class Exec, class T>
class LaneColumns {
 public:
  using Sum = collective::Accumulator<T>;
  static constexpr int pack = collective::pack_width<T>;

  /// \param a where the matrix begins: packs need it, and whole packs in a row. \param split into chunks of rows, or not
  LaneColumns(Exec const& exec, std::int64_t team, T const* a, std::size_t rows, std::size_t cols, bool split)
      : lanes_(kernels::team_size(exec, team)),
        in_packs_(cols % pack == 0 && collective::is_aligned_for_packs<pack>(a)),
        packs_(ColumnLanes<Exec, T, pack>::shape(exec, lanes_, rows, cols, split)),
        single_(ColumnLanes<Exec, T, 1>::shape(exec, lanes_, rows, cols, split)) {}

  [[nodiscard]] int chunks() const { return in_packs_ ? packs_.chunks.count : single_.chunks.count; }

  /// The sums of each chunk's columns to target[chunks, cols], or added to target[cols] atomically.
  void enqueue(Exec const& exec, char const* label, T const* a, Sum* target, bool atomic) const {
    auto const run = [&](auto kernel) {
      kernel.a = a;
      kernel.target = target;
      kernel.atomic = atomic;
      kernel.enqueue(exec, label, lanes_);
    };
    in_packs_ ? run(packs_) : run(single_);
  }

  [[nodiscard]] double rounding_steps() const { return in_packs_ ? packs_.rounding_steps() : single_.rounding_steps(); }

 private:
  int lanes_;
  bool in_packs_;
  ColumnLanes<Exec, T, pack> packs_;
  ColumnLanes<Exec, T, 1> single_;
};

}  // namespace tessera::axis_sum
