#pragma once
/// \file
/// Sums of the columns of a matrix, in chunks of rows, for the gradients of offsets and scales.
///
/// A team takes some columns of a chunk: neighbouring lanes take neighbouring columns, and each of its t threads takes
/// every t-th row. The threads' sums are added in their order. A sink takes the sums of each chunk: it stores partial
/// sums in memory, which a second launch adds in the same way, or it adds them to the result atomically.

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/chunks.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>

namespace tessera::layernorm_linear_backward {

/// A sink that stores a chunk's sums as a row of `parts`, from column `first` on.
template <class T>
struct PartialSums {
  T* parts;
  std::size_t stride;
  std::size_t first = 0;

  KOKKOS_FUNCTION void operator()(int chunk, std::size_t col, T sum) const {
    parts[static_cast<std::size_t>(chunk) * stride + first + col] = sum;
  }
};

/// A sink that adds the sums to `out` atomically, in any order.
template <class T>
struct AtomicSums {
  T* out;

  KOKKOS_FUNCTION void operator()(int, std::size_t col, T sum) const { Kokkos::atomic_add(&out[col], sum); }
};

/// Sums the columns of in [rows, cols] in exactly `chunks` chunks of rows. Empty chunks have sums of zero. A functor
/// for teams, as described above. Scratch level 0: scratch_bytes(). Barriers: two.
///
/// Example, in = [1 2; 3 4; 5 6] in 2 chunks -> sink(0, 0, 4) sink(0, 1, 6) sink(1, 0, 5) sink(1, 1, 6).
///
/// \tparam Width columns per team
/// \tparam InFlight rows that a thread reads at once
template <class Exec, class T, class Sink, int Width = is_gpu<Exec> ? 32 : 64, int InFlight = is_gpu<Exec> ? 8 : 1>
class ColumnSums {
 public:
  using Policy = Kokkos::TeamPolicy<Exec>;
  using Member = typename Policy::member_type;
  static constexpr int width = Width;
  static constexpr int in_flight = InFlight;
  using Lanes = lane::On<Exec, width>;
  static constexpr int vector_length = lane::vector_length<Exec>(width);
  using Scratch = ScratchView<T*, Exec>;

  ColumnSums(T const* in, std::size_t rows, std::size_t cols, int chunks, Sink const& sink)
      : in_(in),
        cols_(cols),
        chunks_{.n = rows,
                .size = std::max<std::size_t>(1, tiles_of(rows, static_cast<std::size_t>(chunks))),
                .count = chunks},
        sink_(sink) {}

  /// Returns the threads per team if the user asked for `team`. Throws Skip if the space cannot give this many threads
  /// or enough scratch for them.
  [[nodiscard]] static int threads_of(Exec const& exec, std::int64_t team) {
    int const threads = kernels::team_size(exec, team, vector_length);
    kernels::require_scratch<Exec>(Scratch::shmem_size(threads * width));
    return threads;
  }

  void enqueue(std::string const& label, Exec const& exec, std::int64_t team) const {
    if (cols_ == 0) return;
    int const threads = kernels::team_size(exec, team, vector_length);
    int const league = league_of(tiles_of(cols_, width) * static_cast<std::size_t>(chunks_.count));
    Policy policy(exec, league, threads, vector_length);
    policy = with_scratch(policy, Scratch::shmem_size(threads * width));
    Kokkos::parallel_for(label, policy, *this);
  }

  /// Returns the longest chain of additions for teams of `threads` threads.
  [[nodiscard]] double rounding_steps(int threads) const {
    return static_cast<double>(tiles_of(chunks_.size, static_cast<std::size_t>(threads * in_flight))) + in_flight +
           threads;
  }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Lanes const lanes;
    auto const across = static_cast<int>((cols_ + width - 1) / width);
    int const chunk = team.league_rank() / across;
    std::size_t const first = static_cast<std::size_t>(team.league_rank() - chunk * across) * width;
    std::size_t const end = chunks_.end(chunk);
    int const threads = team.team_size();
    struct Sums {
      T at[in_flight];
    };
    auto sums = lanes.template fill<Sums>(Sums{});
    for (std::size_t row = chunks_.begin(chunk) + team.team_rank(); row < end;
         row += static_cast<std::size_t>(threads) * in_flight) {
      lanes.each(
          [&](int lane, Sums& own) {
            if (first + lane >= cols_) return;
            T const* const from = in_ + row * cols_ + first + lane;
            for (int i = 0; i < in_flight; ++i) {
              std::size_t const on = static_cast<std::size_t>(i) * threads;
              own.at[i] += row + on < end ? from[on * cols_] : T(0);
            }
          },
          sums);
    }
    Scratch const of_threads(team.team_scratch(0), threads * width);
    lanes.each(
        [&](int lane, Sums const& own) {
          T sum = own.at[0];
          for (int i = 1; i < in_flight; ++i) sum += own.at[i];
          of_threads(team.team_rank() * width + lane) = sum;
        },
        sums);
    team.team_barrier();
    if (team.team_rank() == 0) {
      lanes.each(
          [&](int lane, Sums const&) {
            if (first + lane >= cols_) return;
            T sum = of_threads(lane);
            for (int thread = 1; thread < threads; ++thread) sum += of_threads(thread * width + lane);
            sink_(chunk, first + lane, sum);
          },
          sums);
    }
    leave_scratch(team);
  }

 private:
  T const* in_;
  std::size_t cols_;
  kernels::Chunks chunks_;
  Sink sink_;
};

}  // namespace tessera::layernorm_linear_backward
