#pragma once
/// \file
/// Softmax of columns by lanes: for GPUs (on hosts it is right, but walks through memory as caches do not like it).
///
/// The lanes of a team stand in a rectangle: `across` of them side by side, each on a pack of columns, and `down` of
/// them below each other. Each walks down its rows of the team's chunk in steps of `down`, with several rows under way.
/// The lanes below each other meet in scratch. Where a column has several chunks of rows, what they sum up to goes
/// through memory, and a second launch folds it and writes, backwards.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "column_part.hpp"
#include "column_steps.hpp"

#include <tessera/collective/online_sum.hpp>
#include <tessera/kernels/chunks.hpp>

namespace tessera::softmax {

template <class Exec, class T, int N>
struct ColumnLanes {
  using Policy = Kokkos::TeamPolicy<Exec, Kokkos::LaunchBounds<512, 2>>;
  using Member = typename Policy::member_type;
  using Part = ColumnPart<T, N>;
  using Sum = collective::OnlineSum<T>;
  using Sums = ColumnSums<T, N>;
  using Merge = collective::MergeOnlineSums<T>;
  using Scratch = Kokkos::View<Sums*, typename Exec::scratch_memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  static constexpr int in_flight = Part::in_flight;

  T const* x;
  T* y;
  Sum* partial;  // [chunks.count, cols]
  std::size_t cols;
  ColumnStep step;
  int across;
  int down;
  std::size_t tiles;  // of columns
  kernels::Chunks chunks;

  /// Chooses everything but the pointers and the step.
  [[nodiscard]] static ColumnLanes shape(Exec const& exec, int lanes, std::size_t rows, std::size_t cols) {
    ColumnLanes kernel{};
    std::size_t const packs = std::max<std::size_t>(1, cols / N);
    auto const widest = static_cast<int>(std::bit_floor(static_cast<unsigned>(lanes)));
    std::size_t const fill = kernels::teams_that_fill(exec, lanes);
    // Pieces of rows of up to 1 KB, and chunks of rows as long as fill the machine.
    kernel.across = static_cast<int>(std::min<std::size_t>(std::min(64, widest), std::bit_ceil(packs)));
    kernel.down = lanes / kernel.across;
    kernel.cols = cols;
    kernel.tiles = tiles_of(packs, static_cast<std::size_t>(kernel.across));
    kernel.chunks = kernels::split(rows, static_cast<std::size_t>(kernel.down) * in_flight,
                                   std::max<std::size_t>(1, fill / kernel.tiles));
    return kernel;
  }

  void enqueue(Exec const& exec, char const* label, int lanes) const {
    Policy policy(exec, league_of(tiles * static_cast<std::size_t>(chunks.count)), lanes);
    auto const scratch = static_cast<int>(Scratch::shmem_size(lanes));
    Kokkos::parallel_for(label, policy.set_scratch_size(0, Kokkos::PerTeam(scratch)), *this);
  }

  /// A lane's rows, those under way, the lanes below each other; the chunks in the same way.
  [[nodiscard]] double rounding_steps() const {
    double const rounds = std::ceil(static_cast<double>(chunks.size) / (static_cast<double>(down) * in_flight));
    double const meeting = std::ceil(std::log2(down));
    double const of_chunks = chunks.count == 1 ? 0 : std::ceil(static_cast<double>(chunks.count) / down) + meeting;
    return Merge::rounding_steps * (rounds + meeting + of_chunks) + in_flight;
  }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    // Neighbouring teams take neighbouring columns of the same rows; the step that writes, from the end.
    int const place = step == ColumnStep::write ? team.league_size() - 1 - team.league_rank() : team.league_rank();
    auto const chunk = static_cast<int>(place / tiles);
    std::size_t const tile = place % tiles;
    int const right = team.team_rank() % across;
    int const below = team.team_rank() / across;
    std::size_t const col = (tile * across + right) * N;
    bool const has_columns = col < cols && below < down;
    std::size_t const first = chunks.begin(chunk) + below;
    std::size_t const end = chunks.end(chunk);

    Part const part{x, y, cols, across, down};
    Scratch const scratch(team.team_scratch(0), team.team_size());
    Sums sums{};
    if (has_columns) sums = step == ColumnStep::write ? of_chunks(col, below) : part.of_rows(col, first, end);
    part.meet(team, sums, scratch.data());
    if (has_columns) {
      sums = scratch(right);
      if (step == ColumnStep::sums) {
        if (below == 0) {
          for (int e = 0; e < N; ++e) partial[chunk * cols + col + e] = sums.at[e];
        }
      } else {
        T max[N];
        T inverse[N];
        for (int e = 0; e < N; ++e) {
          max[e] = sums.at[e].max;
          inverse[e] = sums.at[e].inverse();
        }
        part.write(col, first, end, max, inverse);
      }
    }
    team.team_barrier();  // hosts go on with another team in the same scratch
  }

 private:
  // What chunks below, below + down, ... of N columns sum up to.
  KOKKOS_FUNCTION Sums of_chunks(std::size_t col, int below) const {
    Sums sums{};
    for (int chunk = below; chunk < chunks.count; chunk += down) {
      for (int e = 0; e < N; ++e) sums.at[e] = Merge{}(sums.at[e], partial[chunk * cols + col + e]);
    }
    return sums;
  }
};

}  // namespace tessera::softmax
