#pragma once
/// \file
/// Sums of rows by teams: what team_per_row (a row is one chunk) and split_rows (several chunks a row) share.
///
/// The lanes of a team's threads read packs, with several under way; lanes, threads and team fold them without atomics.
/// A team goes from row to row, and folds its threads' sums a batch of rows at a time, for one barrier. Where a row has
/// several chunks, a team takes one of them, and the last to finish folds the row's partial sums, in their order: one
/// launch, and the same bits on every run.
///
/// Memory: `partial`, one sum a chunk, and `finished`, one counter a row, zero before the first launch and after each.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "piece_sum.hpp"

#include <tessera/collective/accumulator.hpp>
#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/operators.hpp>
#include <tessera/collective/team/lane_scan.hpp>
#include <tessera/kernels/chunks.hpp>

namespace tessera::axis_sum {

template <class Exec, class T>
struct TeamRows {
  using Policy = Kokkos::TeamPolicy<Exec>;
  using Member = typename Policy::member_type;
  using Lanes = lane::On<Exec, lane::natural_width<Exec>>;
  using Sum = collective::Accumulator<T>;
  using Piece = PieceSum<T, Lanes>;
  static constexpr int part = Piece::part;  // elements that a thread takes at a time
  static constexpr int vector_length = lane::vector_length<Exec>(Lanes::width);

  using SumsView = Kokkos::View<Sum*, typename Exec::scratch_memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  using LastView = Kokkos::View<bool, typename Exec::scratch_memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

  T const* a;
  Sum* out;
  std::size_t rows;
  kernels::Chunks chunks;  // of one row
  Sum* partial;
  std::uint32_t* finished;
  int batch = 1;

  /// Threads of a team that has no idle ones on `count` elements.
  [[nodiscard]] static int threads_for(Exec const& exec, std::int64_t requested, std::size_t count) {
    int const most = kernels::team_size(exec, requested, vector_length);
    if (requested > 0) return most;
    int threads = 1;
    while (2 * threads <= most && static_cast<std::size_t>(2 * threads) * part <= count) threads *= 2;
    return threads;
  }

  /// Rows that a team folds together: several where that leaves the machine busy.
  [[nodiscard]] int batch_for(Exec const& exec, int threads) const {
    if (chunks.count > 1) return 1;
    std::size_t const teams = kernels::teams_that_fill(exec, threads * vector_length);
    return static_cast<int>(std::clamp<std::size_t>(rows / (4 * teams), 1, 16));
  }

  void enqueue(Exec const& exec, char const* label, int threads) const {
    if (rows == 0) return;
    TeamRows kernel = *this;
    kernel.batch = batch_for(exec, threads);
    // Teams go from row to row: a league as large as the number of short rows would spend its time on starting teams.
    std::size_t const most = 32 * kernels::teams_that_fill(exec, threads * vector_length);
    std::size_t const teams = chunks.count > 1 ? rows * chunks.count : std::min(tiles_of(rows, kernel.batch), most);
    Policy policy(exec, static_cast<int>(teams), threads, vector_length);
    auto const scratch = static_cast<int>(SumsView::shmem_size(2 * kernel.batch * threads) + LastView::shmem_size());
    Kokkos::parallel_for(label, policy.set_scratch_size(0, Kokkos::PerTeam(scratch)), kernel);
  }

  /// A thread's share of a chunk, the threads; the same over the chunks of a row.
  [[nodiscard]] static double rounding_steps(kernels::Chunks const& chunks, int threads) {
    double const of_threads = std::ceil(static_cast<double>(threads) / Lanes::width) + std::log2(Lanes::width);
    double const of_chunk = Piece::rounding_steps(static_cast<double>(chunks.size), threads) + of_threads;
    double const lanes = static_cast<double>(threads) * Lanes::width;
    return of_chunk + (chunks.count == 1 ? 0 : std::ceil(chunks.count / lanes) + std::log2(Lanes::width) + of_threads);
  }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    SumsView const of_threads(team.team_scratch(0), 2 * batch * team.team_size());
    if (chunks.count == 1) {
      sum_rows(team, of_threads.data());
    } else {
      sum_chunk(team, of_threads.data());
    }
    team.team_barrier();  // hosts go on with another team in the same scratch
  }

 private:
  KOKKOS_FUNCTION void sum_rows(Member const& team, Sum* of_threads) const {
    Lanes const lanes;
    int const threads = team.team_size();
    Piece const piece_sum{lanes, team.team_rank(), threads};
    // Two halves in turns: the barrier of one batch also says that all have read the sums of the one before it.
    int half = 0;
    for (std::size_t first = static_cast<std::size_t>(team.league_rank()) * batch; first < rows;
         first += static_cast<std::size_t>(team.league_size()) * batch) {
      int const count = rows - first < static_cast<std::size_t>(batch) ? static_cast<int>(rows - first) : batch;
      half = batch * threads - half;
      Sum* const sums = of_threads + half;
      for (int b = 0; b < count; ++b) {
        auto own = lanes.template fill<Sum>(piece_sum(a + (first + b) * chunks.n, chunks.n));
        lanes.each(
            [&](int lane, Sum const& sum) {
              if (lane == 0) sums[b * threads + team.team_rank()] = sum;
            },
            own);
      }
      team.team_barrier();
      for (int b = team.team_rank(); b < count; b += threads) {
        auto own = lanes.template fill<Sum>(strided_sum(lanes, sums + b * threads, 0, threads, Lanes::width));
        lanes.each(
            [&](int lane, Sum const& sum) {
              if (lane == 0) out[first + b] = sum;
            },
            own);
      }
    }
  }

  // One chunk: there are not many more of them than run at once.
  KOKKOS_FUNCTION void sum_chunk(Member const& team, Sum* of_threads) const {
    Lanes const lanes;
    LastView const last(team.team_scratch(0));
    Piece const piece_sum{lanes, team.team_rank(), team.team_size()};
    auto const team_sum = [&](Sum const& sum) {
      return team::scan_threads(team, lanes, sum, of_threads, collective::Sum<Sum>{}).total;
    };
    std::size_t const row = team.league_rank() / chunks.count;
    int const chunk = team.league_rank() % chunks.count;
    std::size_t const begin = chunks.begin(chunk);
    Sum const sum = team_sum(piece_sum(a + row * chunks.n + begin, chunks.end(chunk) - begin));
    Kokkos::single(Kokkos::PerTeam(team), [&] {
      partial[team.league_rank()] = sum;
      Kokkos::memory_fence();  // whoever sees the count sees the sum
      last() = Kokkos::atomic_fetch_add(finished + row, 1u) + 1 == static_cast<std::uint32_t>(chunks.count);
    });
    team.team_barrier();  // also between the two uses of the scratch
    if (!last()) return;
    Kokkos::memory_fence();  // the sums must not be read before the count
    Sum const of_row = team_sum(strided_sum(lanes, partial + row * chunks.count, team.team_rank() * Lanes::width,
                                            chunks.count, team.team_size() * Lanes::width));
    Kokkos::single(Kokkos::PerTeam(team), [&] {
      out[row] = of_row;
      finished[row] = 0;
    });
  }
};

}  // namespace tessera::axis_sum
