#pragma once
/// \file
/// The sum of each row of a row-major matrix [rows, cols], in one launch. No atomics are used, so that the result is
/// bitwise reproducible.
///
/// A few lanes share a short row, as many as its length keeps busy; neighbouring lanes read neighbouring packs, and
/// each lane has several rows in flight. A team handles a long row. If there are too few rows to fill the machine with
/// one team per row, several teams share a row: it is split into chunks, and the last of its teams to finish folds the
/// partial sums, in their order.
///
/// Traffic: each element is read once, each sum is written once. In addition, one sum per chunk is written and read.
///
/// Example: [1 2 3; 4 5 6] -> 6 15.
///
/// Use:  sum_rows(exec, in, out);
/// or, enqueued many times:  SumRows<Exec, float> sum(exec, rows, cols);  sum(exec, in, out);

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include <tessera/collective/accumulator.hpp>
#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/operators.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/collective/team/lane_scan.hpp>
#include <tessera/collective/thread/piece_sum.hpp>
#include <tessera/collective/thread/reduce.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/chunks.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/kernels/detail/launch/views.hpp>

namespace tessera::kernels {

/// Which lanes handle a row. `lanes`: lanes of one thread. `team`: one team, for any length. `teams`: as many teams as
/// fill the machine. `automatic`: lanes or teams, depending on the length.
enum class RowSumMethod : std::uint8_t { automatic, lanes, team, teams };

/// How SumRows distributes rows.
template <ExecutionSpace Exec, class T, RowSumMethod Method = RowSumMethod::automatic>
struct RowSumTuning {
  static constexpr RowSumMethod method = Method;
  /// With method `automatic`: longest row that lanes share. The second limit is for rows that are not a whole number of
  /// packs: lanes read them element by element, and a team reads them in packs as soon as there is one pack per lane.
  static constexpr std::size_t most_for_lanes = is_gpu<Exec> ? 1023 : 4096;
  static constexpr std::size_t most_unaligned_for_lanes = is_gpu<Exec> ? 32 * collective::pack_width<T> : 4096;
  static constexpr int lanes = lane::natural_width<Exec>;  ///< per thread of a team
  /// Packs in flight per lane of a team. With four packs of 16 bytes, rows of 5000 floats are read at 2.74 TB/s on an
  /// H100, with eight at 2.96 TB/s; long rows at 3.08 TB/s with both.
  static constexpr int in_flight = is_gpu<Exec> ? 8 : 4;
  /// True: lanes of a thread read packs of 16 bytes with four rows in flight, or single elements with eight. False:
  /// lanes are elements of a host's vector registers; one row in flight is enough if it fills several registers.
  static constexpr bool in_packs = is_gpu<Exec>;
  static constexpr int pack = collective::pack_width<T>;
  /// With method `lanes`: true for one team per tile of rows; false if a team handles a chunk of rows, long enough to
  /// keep a host's thread busy.
  static constexpr bool team_a_tile = is_gpu<Exec>;
};

namespace detail {

/// W lanes sum a row, N elements at a time; a thread has `InFlight` rows in flight. If N is above 1, the matrix and its
/// rows must be aligned for packs of N.
template <ExecutionSpace Exec, class T, class Tuning, int W, int N, int InFlight>
struct LaneRows {
  using Policy = Kokkos::TeamPolicy<Exec>;
  using Member = typename Policy::member_type;
  using Lanes = lane::On<Exec, W>;
  using Sum = collective::Accumulator<T>;
  using Stored = collective::StoredSum<T>;
  using Pack = collective::Pack<T, N>;
  using Sums = collective::Pack<Sum, N>;
  static constexpr int vector_length = lane::vector_length<Exec>(W);

  T const* a;
  Stored* out;
  std::size_t cols;
  Chunks chunks;  // of rows

  static void enqueue(std::string const& label, Exec const& exec, std::int64_t team, T const* a, Stored* out,
                      std::size_t rows, std::size_t cols) {
    int const threads = team_size(exec, team, vector_length);
    std::size_t const tile = static_cast<std::size_t>(threads) * InFlight;
    // One tile per team, unless this exceeds the largest league.
    std::size_t const teams = Tuning::team_a_tile ? std::size_t{1} << 30 : teams_that_fill(exec, threads);
    LaneRows const kernel{a, out, cols, split(rows, tile, teams)};
    Kokkos::parallel_for(label, Policy(exec, kernel.chunks.count, threads, vector_length), kernel);
  }

  /// Returns the roundings: of a lane's packs of a row, of the elements of a pack, of the lanes.
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
      // This thread's rows are first, first + threads, ..., so that the accesses of a warp are adjacent. At the end of
      // the matrix, existing rows are summed again and the sums dropped, so that no access is conditional.
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
        lanes.each([&](int lane) {
          if (lane == 0 && k < count) out[first + static_cast<std::size_t>(k) * threads] = sum;
        });
      }
    }
  }

 private:
  KOKKOS_FUNCTION static void add(Pack const& value, Sums& sum) {
    for (int e = 0; e < N; ++e) sum[e] += static_cast<Sum>(value[e]);
  }
};

/// Rows by teams, each row in one chunk or several.
///
/// A team goes from row to row, with one barrier per row. If a row has several chunks, a team handles one of them, and
/// the last team to finish folds the row's partial sums, in their order.
///
/// Memory: `partial`, one sum per chunk, and `finished`, one counter per row, zero before the first launch and after
/// each launch.
template <ExecutionSpace Exec, class T, class Tuning>
struct TeamRows {
  using Policy = Kokkos::TeamPolicy<Exec>;
  using Member = typename Policy::member_type;
  using Lanes = lane::On<Exec, Tuning::lanes>;
  using Sum = collective::Accumulator<T>;
  using Stored = collective::StoredSum<T>;
  using Piece = thread::PieceSum<T, Lanes, Tuning::in_flight>;
  static constexpr int part = Piece::part;  // elements that a thread handles at a time
  static constexpr int vector_length = lane::vector_length<Exec>(Lanes::width);

  using SumsView = ScratchView<Sum*, Exec>;
  using LastView = ScratchView<bool, Exec>;

  T const* a;
  Stored* out;
  std::size_t rows;
  Chunks chunks;  // of one row
  Sum* partial;
  std::uint32_t* finished;
  Chunks rows_of_teams{};  // used if a row has one chunk

  /// Returns the largest number of threads per team of which none is idle on `count` elements.
  [[nodiscard]] static int threads_for(Exec const& exec, std::int64_t requested, std::size_t count) {
    int const most = team_size(exec, requested, vector_length);
    if (requested > 0) return most;
    return static_cast<int>(std::bit_floor(std::clamp<std::size_t>(count / part, 1, static_cast<std::size_t>(most))));
  }

  void enqueue(Exec const& exec, std::string const& label, int threads) const {
    if (rows == 0) return;
    TeamRows kernel = *this;
    // A team of a GPU has one row, unless there are so many that starting teams would cost more than the work. A team
    // of a host has neighbouring rows, because the hardware prefetcher continues from one row into the next.
    kernel.rows_of_teams = split(rows, 1, (is_gpu<Exec> ? 32 : 1) * teams_that_fill(exec, threads * vector_length));
    std::size_t const teams = chunks.count > 1 ? rows * chunks.count : kernel.rows_of_teams.count;
    Policy policy(exec, static_cast<int>(teams), threads, vector_length);
    Kokkos::parallel_for(label, with_scratch(policy, SumsView::shmem_size(2 * threads) + LastView::shmem_size()),
                         kernel);
  }

  /// Returns the roundings: of a thread's part of a chunk, and of the threads; then the same over the chunks of a row.
  [[nodiscard]] static double rounding_steps(Chunks const& chunks, int threads) {
    double const of_threads = std::ceil(static_cast<double>(threads) / Lanes::width) + std::log2(Lanes::width);
    double const of_chunk = Piece::rounding_steps(static_cast<double>(chunks.size), threads) + of_threads;
    double const lanes = static_cast<double>(threads) * Lanes::width;
    return of_chunk + (chunks.count == 1 ? 0 : std::ceil(chunks.count / lanes) + std::log2(Lanes::width) + of_threads);
  }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    SumsView const of_threads(team.team_scratch(0), 2 * team.team_size());
    if (chunks.count == 1) {
      sum_rows(team, of_threads.data());
    } else {
      sum_chunk(team, of_threads.data());
    }
    leave_scratch(team);
  }

 private:
  KOKKOS_FUNCTION void sum_rows(Member const& team, Sum* of_threads) const {
    Lanes const lanes;
    int const threads = team.team_size();
    Piece const piece_sum{lanes, team.team_rank(), threads};
    // The two halves of the scratch alternate: the barrier of a row ensures that all threads have read the sums of the
    // previous row.
    Sum* sums = of_threads;
    Sum* other = of_threads + threads;
    std::size_t const end = rows_of_teams.end(team.league_rank());
    for (std::size_t row = rows_of_teams.begin(team.league_rank()); row < end; ++row) {
      Sum const own = piece_sum(a + row * chunks.n, chunks.n);
      lanes.each([&](int lane) {
        if (lane == 0) sums[team.team_rank()] = own;
      });
      team.team_barrier();
      if (team.team_rank() == 0) {
        Sum const of_row = thread::strided_sum(lanes, sums, 0, threads, Lanes::width);
        lanes.each([&](int lane) {
          if (lane == 0) out[row] = of_row;
        });
      }
      Kokkos::kokkos_swap(sums, other);
    }
  }

  // Sums one chunk. A team has only one, because there are not many more chunks than resident teams.
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
      Kokkos::memory_fence();  // a team that sees the count must also see the sum
      last() = Kokkos::atomic_fetch_add(finished + row, 1u) + 1 == static_cast<std::uint32_t>(chunks.count);
    });
    team.team_barrier();  // also between the two uses of the scratch
    if (!last()) return;
    Kokkos::memory_fence();  // the sums must not be read before the count
    Sum const of_row =
        team_sum(thread::strided_sum(lanes, partial + row * chunks.count, team.team_rank() * Lanes::width, chunks.count,
                                     team.team_size() * Lanes::width));
    Kokkos::single(Kokkos::PerTeam(team), [&] {
      out[row] = of_row;
      finished[row] = 0;
    });
  }
};

}  // namespace detail

/// out[r] = in[r, 0] + in[r, 1] + ..., for matrices of rows x cols. Integers wrap. An empty sum is 0.
///
/// Construct it once: chooses the kernel, and allocates one sum per chunk if a row has several. A call only enqueues;
/// calls on one object must not run concurrently, because they share this memory.
template <ExecutionSpace Exec, class T, class Tuning = RowSumTuning<Exec, T>>
class SumRows {
  static constexpr RowSumMethod method = Tuning::method;
  static constexpr int pack = Tuning::pack;
  using Sum = collective::Accumulator<T>;
  using Teams = detail::TeamRows<Exec, T, Tuning>;

 public:
  /// \param team threads per team; 0: choose. Throws Skip if the space cannot provide them.
  /// \param label kernel name that Kokkos Tools reports
  SumRows(Exec const& exec, std::size_t rows, std::size_t cols, std::int64_t team = 0,
          std::string const& label = "tessera::sum_rows")
      : label_(label + "::sum"), rows_(rows), cols_(cols), team_(team) {
    if (by_lanes()) {
      with_lanes(true, [&]<class Kernel>() { (void)team_size(exec, team_, Kernel::vector_length); });  // may throw Skip
      for (bool const aligned : {false, true}) {
        with_lanes(aligned, [&]<class Kernel>() { steps_ = std::max(steps_, Kernel::rounding_steps(cols_)); });
      }
      return;
    }
    threads_ = Teams::threads_for(exec, team, cols);
    std::size_t const teams = teams_that_fill(exec, threads_ * Teams::vector_length);
    chunks_ = method == RowSumMethod::team ? split(cols, Teams::part, 1)
                                           : split(cols, static_cast<std::size_t>(threads_) * Teams::part,
                                                   rows == 0 ? 1 : tiles_of(teams, rows));
    if (chunks_.count > 1) {
      partial_ = Partial(unset(label + "::partial"), rows * chunks_.count);
      finished_ = Counters(label + "::finished", rows);
    }
    steps_ = Teams::rounding_steps(chunks_, threads_);
  }

  /// Enqueues. `in` [rows, cols] must be contiguous and row-major; `out` [rows] must be contiguous and must not overlap
  /// `in`. Throws std::invalid_argument for other extents or strides.
  template <Readable<Exec, T, 2> In, Writable<Exec, T, 1> Out>
  void operator()(Exec const& exec, In const& in, Out const& out) const {
    T const* const a = row_major(in, rows_, cols_);
    auto* const sums = reinterpret_cast<collective::StoredSum<T>*>(contiguous(out, rows_));
    if (rows_ == 0) return;
    if (by_lanes()) {
      with_lanes(collective::is_aligned_for_packs<pack>(a),
                 [&]<class Kernel>() { Kernel::enqueue(label_, exec, team_, a, sums, rows_, cols_); });
    } else if constexpr (method != RowSumMethod::lanes) {
      Teams{a, sums, rows_, chunks_, partial_.data(), finished_.data()}.enqueue(exec, label_, threads_);
    }
  }

  [[nodiscard]] int chunks() const { return chunks_.count; }  ///< per row

  /// Returns the roundings of a row's sum on the longest path.
  [[nodiscard]] double rounding_steps() const { return steps_; }

 private:
  using Partial = Kokkos::View<Sum*, typename Exec::memory_space>;
  using Counters = Kokkos::View<std::uint32_t*, typename Exec::memory_space>;

  [[nodiscard]] bool by_lanes() const {
    std::size_t const most = cols_ % pack == 0 ? Tuning::most_for_lanes : Tuning::most_unaligned_for_lanes;
    return method == RowSumMethod::lanes || (method == RowSumMethod::automatic && cols_ <= most);
  }

  /// Calls body.operator()<Kernel>() with the LaneRows kernel for rows of this length.
  template <class Body>
  void with_lanes([[maybe_unused]] bool aligned, [[maybe_unused]] Body const& body) const {
    auto const run = [&]<int W, int N, int InFlight>() {
      body.template operator()<detail::LaneRows<Exec, T, Tuning, W, N, InFlight>>();
    };
    if constexpr (method != RowSumMethod::lanes && method != RowSumMethod::automatic) {
      return;
    } else if constexpr (!Tuning::in_packs) {
      if (cols_ < 8) return run.template operator()<1, 1, 8>();
      if (cols_ < 256) return run.template operator()<8, 1, 1>();
      run.template operator()<32, 1, 1>();
    } else if (aligned && cols_ % pack == 0) {
      std::size_t const packs = cols_ / pack;
      if (packs <= 1) return run.template operator()<1, pack, 4>();
      if (packs <= 2) return run.template operator()<2, pack, 4>();
      if (packs <= 4) return run.template operator()<4, pack, 4>();
      if (packs <= 8) return run.template operator()<8, pack, 4>();
      if (packs <= 16) return run.template operator()<16, pack, 4>();
      run.template operator()<32, pack, 4>();
    } else {
      if (cols_ < 4) return run.template operator()<1, 1, 8>();
      if (cols_ < 32) return run.template operator()<4, 1, 8>();
      run.template operator()<32, 1, 8>();
    }
  }

  std::string label_;
  std::size_t rows_;
  std::size_t cols_;
  std::int64_t team_;
  int threads_ = 1;
  Chunks chunks_;  // of one row
  Partial partial_;
  Counters finished_;
  double steps_ = 0;
};

/// out[r] = in[r, 0] + in[r, 1] + ... `in` [rows, cols], `out` [rows]. Convenience for a single call: allocates,
/// enqueues and waits.
template <ExecutionSpace Exec, class In, class Out>
void sum_rows(Exec const& exec, In const& in, Out const& out) {
  SumRows<Exec, typename In::non_const_value_type> const kernel(exec, in.extent(0), in.extent(1));
  kernel(exec, in, out);
  exec.fence("tessera: sum_rows");  // the kernel's memory is freed at the end of this call
}

}  // namespace tessera::kernels
