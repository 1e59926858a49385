#pragma once
/// \file
/// Softmax of rows, several teams a row: two launches, with what each chunk of a row sums up to in memory between them.
///
/// First each team finds {max, sum} of its chunk. Then each team folds all of its row's, in their order, so that every
/// one has the same, and writes its chunk. The second launch goes over the data backwards: what the first one read last
/// is still in the last cache.

#include <cmath>
#include <cstddef>
#include <cstdint>

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/online_sum.hpp>
#include <tessera/collective/thread/softmax_piece.hpp>
#include <tessera/kernels/chunks.hpp>
#include <tessera/kernels/row_softmax.hpp>

namespace tessera::softmax {

/// A thread's share of a piece by lanes: every so many packs of it.
template <class Exec, class T, int N>
struct LaneShare {
  using Lanes = lane::On<Exec, lane::natural_width<Exec>>;
  using Piece = thread::LaneSoftmax<T, Lanes, N>;
  static constexpr int part = Piece::part;

  Piece piece;

  template <class Member>
  KOKKOS_FUNCTION explicit LaneShare(Member const& team) : piece{Lanes{}, team.team_rank(), team.team_size(), T(1)} {}

  [[nodiscard]] static double rounding_steps(double count, int threads) {
    return Piece::rounding_steps(count, threads);
  }
  [[nodiscard]] KOKKOS_FUNCTION collective::OnlineSum<T> sum(T const* x, std::size_t count) const {
    return piece.sum(x, count);
  }
  KOKKOS_FUNCTION void write(T const* x, T* y, std::size_t count, T max, T inverse) const {
    piece.write(x, y, count, max, inverse);
  }
};

/// The same by loops, for hosts: a contiguous part of it.
template <class Exec, class T>
struct LoopShare {
  using Lanes = lane::On<Exec, 1>;
  using Loop = thread::LoopSoftmax<T>;
  static constexpr int part = 1024;

  Loop loop{T(1)};
  std::size_t rank;
  std::size_t threads;

  template <class Member>
  KOKKOS_FUNCTION explicit LoopShare(Member const& team) : rank(team.team_rank()), threads(team.team_size()) {}

  [[nodiscard]] static double rounding_steps(double count, int threads) {
    return Loop::rounding_steps(std::ceil(count / threads));
  }
  [[nodiscard]] KOKKOS_FUNCTION collective::OnlineSum<T> sum(T const* x, std::size_t count) const {
    return loop.sum(x + begin(count, rank), begin(count, rank + 1) - begin(count, rank));
  }
  KOKKOS_FUNCTION void write(T const* x, T* y, std::size_t count, T max, T inverse) const {
    std::size_t const first = begin(count, rank);
    loop.write(x + first, y + first, begin(count, rank + 1) - first, max, inverse);
  }

 private:
  [[nodiscard]] KOKKOS_FUNCTION std::size_t begin(std::size_t count, std::size_t thread) const {
    return count * thread / threads;
  }
};

template <class Exec, class T, class Share>
struct RowChunks {
  using Policy = Kokkos::TeamPolicy<Exec, Kokkos::LaunchBounds<512, 2>>;
  using Member = typename Policy::member_type;
  using Lanes = typename Share::Lanes;
  using Sum = collective::OnlineSum<T>;
  using Merge = collective::MergeOnlineSums<T>;
  using Scratch = Kokkos::View<Sum*, typename Exec::scratch_memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  static constexpr int vector_length = lane::vector_length<Exec>(Lanes::width);

  kernels::SoftmaxRows<T> of;
  kernels::Chunks chunks;  // of one row
  Sum* partial;            // one a chunk: [rows, chunks.count]
  bool writes = false;     // the second launch

  /// Chunks of a row that fill the machine, together with those of all other rows.
  [[nodiscard]] static kernels::Chunks chunks_of(Exec const& exec, int threads, std::size_t rows, std::size_t cols) {
    std::size_t const teams = kernels::teams_that_fill(exec, threads * vector_length);
    return kernels::split(cols, static_cast<std::size_t>(threads) * Share::part, rows == 0 ? 1 : tiles_of(teams, rows));
  }

  void enqueue(Exec const& exec, char const* label, int threads) const {
    Policy policy(exec, league_of(of.rows * chunks.count), threads, vector_length);
    auto const scratch = static_cast<int>(Scratch::shmem_size(threads));
    Kokkos::parallel_for(label, policy.set_scratch_size(0, Kokkos::PerTeam(scratch)), *this);
  }

  /// A chunk, its threads; the chunks of a row, dealt out to all lanes, and folded like them.
  [[nodiscard]] static double rounding_steps(kernels::Chunks const& chunks, int threads) {
    double const of_lanes = std::log2(Lanes::width);
    double const of_threads = std::ceil(static_cast<double>(threads) / Lanes::width) + of_lanes;
    double const dealt = std::ceil(static_cast<double>(chunks.count) / (static_cast<double>(threads) * Lanes::width));
    return Share::rounding_steps(static_cast<double>(chunks.size), threads) +
           Merge::rounding_steps * (of_threads + dealt + of_lanes + of_threads);
  }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Lanes const lanes;
    Share const share(team);
    Scratch const scratch(team.team_scratch(0), team.team_size());
    int const place = writes ? team.league_size() - 1 - team.league_rank() : team.league_rank();
    std::size_t const row = place / chunks.count;
    int const chunk = place % chunks.count;
    std::size_t const begin = chunks.begin(chunk);
    std::size_t const at = row * of.cols + begin;
    std::size_t const count = chunks.end(chunk) - begin;
    Sum const own = writes ? of_chunks(team, lanes, partial + row * chunks.count) : share.sum(of.x + at, count);
    Sum const sum = kernels::fold_threads(team, lanes, own, scratch.data(), Sum{}, Merge{});
    if (writes) {
      share.write(of.x + at, of.y + at, count, sum.max, sum.inverse());
    } else {
      Kokkos::single(Kokkos::PerTeam(team), [&] { partial[place] = sum; });
    }
    team.team_barrier();  // hosts go on with another team in the same scratch
  }

 private:
  // This thread's share of a row's chunks, in every lane.
  KOKKOS_FUNCTION Sum of_chunks(Member const& team, Lanes const& lanes, Sum const* of_row) const {
    auto sums = lanes.template fill<Sum>(Sum{});
    for (int first = team.team_rank() * Lanes::width; first < chunks.count; first += team.team_size() * Lanes::width) {
      lanes.each(
          [&](int lane, Sum& sum) {
            if (first + lane < chunks.count) sum = Merge{}(sum, of_row[first + lane]);
          },
          sums);
    }
    return thread::reduce<Sum>(lanes, sums, Merge{});
  }
};

/// The softmax of rows in chunks: how many there are, their memory, and both launches.
template <class Exec, class T, class Share>
class ChunkedRows {
 public:
  using Kernel = RowChunks<Exec, T, Share>;

  ChunkedRows(Exec const& exec, std::size_t rows, std::size_t cols, std::int64_t team)
      : rows_(rows),
        threads_(kernels::team_size(exec, team, Kernel::vector_length)),
        chunks_(Kernel::chunks_of(exec, threads_, rows, cols)),
        partial_(Kokkos::view_alloc(Kokkos::WithoutInitializing, "tessera::softmax::buffer_reduction::partial"),
                 static_cast<std::size_t>(league_of(rows * chunks_.count))) {}

  void operator()(Exec const& exec, T const* x, T* y) const {
    if (rows_ == 0 || chunks_.n == 0) return;
    Kernel kernel{{x, y, rows_, chunks_.n, T(1)}, chunks_, partial_.data()};
    kernel.enqueue(exec, "tessera::softmax::buffer_reduction::sums", threads_);
    kernel.writes = true;
    kernel.enqueue(exec, "tessera::softmax::buffer_reduction::write", threads_);
  }

  [[nodiscard]] int chunks() const { return chunks_.count; }
  [[nodiscard]] double rounding_steps() const { return Kernel::rounding_steps(chunks_, threads_); }

 private:
  std::size_t rows_;
  int threads_;
  kernels::Chunks chunks_;
  Kokkos::View<collective::OnlineSum<T>*, typename Exec::memory_space> partial_;
};

}  // namespace tessera::softmax
