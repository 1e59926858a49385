#pragma once
/// \file
/// Sums of rows by a few lanes each: what lanes_per_row runs, for one number of lanes.

#include <cmath>
#include <cstddef>
#include <cstdint>

#include <tessera/collective/accumulator.hpp>
#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/operators.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/collective/thread/reduce.hpp>
#include <tessera/kernels/chunks.hpp>

namespace tessera::axis_sum {

/// W lanes sum a row, N elements at a time; a thread has `InFlight` rows under way. With N > 1 the matrix and its rows
/// must begin on the boundary of a pack of N.
template <class Exec, class T, int W, int N, int InFlight>
struct LaneRows {
  using Policy = Kokkos::TeamPolicy<Exec>;
  using Member = typename Policy::member_type;
  using Lanes = lane::On<Exec, W>;
  using Sum = collective::Accumulator<T>;
  using Pack = collective::Pack<T, N>;
  using Sums = collective::Pack<Sum, N>;
  static constexpr int vector_length = lane::vector_length<Exec>(W);

  T const* a;
  Sum* out;
  std::size_t cols;
  kernels::Chunks chunks;  // of rows

  static void enqueue(Exec const& exec, std::int64_t team, T const* a, Sum* out, std::size_t rows, std::size_t cols) {
    int const threads = kernels::team_size(exec, team, vector_length);
    std::size_t const tile = static_cast<std::size_t>(threads) * InFlight;
    // On a GPU a team for each tile of rows, up to what a league can have; on hosts a chunk of rows for each thread.
    std::size_t const teams = is_gpu<Exec> ? std::size_t{1} << 30 : kernels::teams_that_fill(exec, threads);
    LaneRows const kernel{a, out, cols, kernels::split(rows, tile, teams)};
    Kokkos::parallel_for("tessera::axis_sum::lanes_per_row::sum",
                         Policy(exec, kernel.chunks.count, threads, vector_length), kernel);
  }

  /// A lane's packs of a row, the elements of a pack, the lanes.
  [[nodiscard]] static double rounding_steps(std::size_t cols) {
    return std::ceil(static_cast<double>(cols) / (W * N)) + N - 1 + std::log2(W);
  }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Lanes const lanes;
    std::size_t const packs = cols / N;
    std::size_t const end = chunks.end(team.league_rank());
    std::size_t const whole = packs / W * W;
    int const threads = team.team_size();
    for (std::size_t first = chunks.begin(team.league_rank()) + team.team_rank(); first < end;
         first += static_cast<std::size_t>(threads) * InFlight) {
      // This thread's rows are first, first + threads, ...: a warp's accesses stay together. Where the matrix ends, rows
      // that are there are summed once more, and dropped: no access has a condition.
      std::size_t const left = (end - first + threads - 1) / threads;
      int const count = left < InFlight ? static_cast<int>(left) : InFlight;
      Pack const* row[InFlight];
      typename Lanes::template Value<Sums> sums[InFlight];
      for (int k = 0; k < InFlight; ++k) {
        row[k] =
            reinterpret_cast<Pack const*>(a + (first + static_cast<std::size_t>(k < count ? k : 0) * threads) * cols);
        sums[k] = lanes.template fill<Sums>(Sums{});
      }
      for (std::size_t j = 0; j < whole; j += W) {
        for (int k = 0; k < InFlight; ++k) {
          lanes.each([&](int lane, Sums& own) { add(row[k][j + lane], own); }, sums[k]);
        }
      }
      if (whole < packs) {
        for (int k = 0; k < InFlight; ++k) {
          lanes.each(
              [&](int lane, Sums& own) {
                if (whole + lane < packs) add(row[k][whole + lane], own);
              },
              sums[k]);
        }
      }
      for (int k = 0; k < InFlight; ++k) {
        auto of_lane = lanes.template fill<Sum>(Sum(0));
        lanes.each(
            [&](int, Sum& sum, Sums const& own) {
              sum = own[0];
              for (int e = 1; e < N; ++e) sum += own[e];
            },
            of_lane, sums[k]);
        Sum const sum = thread::reduce<Sum>(lanes, of_lane, collective::Sum<Sum>{});
        lanes.each(
            [&](int lane, Sum const&) {
              if (lane == 0 && k < count) out[first + static_cast<std::size_t>(k) * threads] = sum;
            },
            of_lane);
      }
    }
  }

 private:
  KOKKOS_FUNCTION static void add(Pack const& value, Sums& sum) {
    for (int e = 0; e < N; ++e) sum[e] += static_cast<Sum>(value[e]);
  }
};

}  // namespace tessera::axis_sum
