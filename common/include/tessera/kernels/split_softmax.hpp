#pragma once
/// \file
/// Softmax of rows in which several teams share a row, for one or a few long rows; for many rows use softmax.hpp. Two
/// launches, which pass {max, sum} of each chunk of a row through memory.
///
/// In the first launch each team computes {max, sum} of its chunk. In the second launch each team folds the pairs of
/// all chunks of its row, always in the same order, so that every team gets the same result, and writes its chunk. It
/// processes the data backwards, because the data read last by the first launch are still in the last-level cache. The
/// result is bitwise reproducible.
///
/// Traffic: each element is read twice and written once.
///
/// Example, 1 2 | 3 4 in two chunks: {2, 1 + e^-1} and {4, 1 + e^-1} -> {4, 1.5530} -> 0.0321 0.0871 | 0.2369 0.6439.
///
/// Use:  SplitRowSoftmax<Exec, float> softmax(exec, rows, cols);  softmax(exec, in, out);

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/online_sum.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/collective/team/fold_threads.hpp>
#include <tessera/collective/thread/reduce.hpp>
#include <tessera/collective/thread/softmax_piece.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/chunks.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/kernels/detail/launch/views.hpp>
#include <tessera/kernels/softmax.hpp>

namespace tessera::kernels {

/// How SplitRowSoftmax processes a chunk.
template <ExecutionSpace Exec, class T>
struct SplitSoftmaxTuning {
  static constexpr bool loops = !is_gpu<Exec>;  ///< loops that the compiler vectorizes for a host, instead of lanes
  static constexpr int lanes = lane::natural_width<Exec>;
  static constexpr int pack = collective::pack_width<T>;  ///< elements of a pack: 16 bytes, the widest load
  using Bounds = Kokkos::LaunchBounds<512, 2>;  ///< 64 registers per lane: enough resident teams to hide latency
};

namespace detail {

/// A thread's part of a chunk, by lanes: packs at regular distances.
template <class Exec, class T, class Tuning, int N>
struct LanePart : thread::LaneSoftmax<T, lane::On<Exec, Tuning::lanes>, N> {
  using Lanes = lane::On<Exec, Tuning::lanes>;

  template <class Member>
  KOKKOS_FUNCTION explicit LanePart(Member const& team)
      : thread::LaneSoftmax<T, Lanes, N>{Lanes{}, team.team_rank(), team.team_size(), T(1)} {}
};

/// As LanePart, by loops, for hosts: a contiguous part of the chunk.
template <class Exec, class T>
struct LoopPart {
  using Lanes = lane::On<Exec, 1>;
  using Loop = thread::LoopSoftmax<T>;
  static constexpr int part = 1024;

  Loop loop{T(1)};
  std::size_t rank;
  std::size_t threads;

  template <class Member>
  KOKKOS_FUNCTION explicit LoopPart(Member const& team) : rank(team.team_rank()), threads(team.team_size()) {}

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

template <class Exec, class T, class Tuning, class Part>
struct RowChunks {
  using Policy = Kokkos::TeamPolicy<Exec, typename Tuning::Bounds>;
  using Member = typename Policy::member_type;
  using Lanes = typename Part::Lanes;
  using Sum = collective::OnlineSum<T>;
  using Merge = collective::MergeOnlineSums<T>;
  using Scratch = ScratchView<Sum*, Exec>;
  static constexpr int vector_length = lane::vector_length<Exec>(Lanes::width);

  SoftmaxRows<T> of;
  Chunks chunks;        // of one row
  Sum* partial;         // one per chunk: [rows, chunks.count]
  bool writes = false;  // the second launch

  /// Returns the chunks of a row; together with the chunks of all other rows they fill the machine.
  [[nodiscard]] static Chunks chunks_of(Exec const& exec, int threads, std::size_t rows, std::size_t cols) {
    std::size_t const teams = teams_that_fill(exec, threads * vector_length);
    return split(cols, static_cast<std::size_t>(threads) * Part::part, rows == 0 ? 1 : tiles_of(teams, rows));
  }

  void enqueue(Exec const& exec, std::string const& label, int threads) const {
    Policy policy(exec, league_of(of.rows * chunks.count), threads, vector_length);
    Kokkos::parallel_for(label, with_scratch(policy, Scratch::shmem_size(threads)), *this);
  }

  /// Returns the roundings: of a chunk and its threads; then of the chunks of a row, which all lanes share and fold in
  /// the same way.
  [[nodiscard]] static double rounding_steps(Chunks const& chunks, int threads) {
    double const of_lanes = std::log2(Lanes::width);
    double const of_threads = std::ceil(static_cast<double>(threads) / Lanes::width) + of_lanes;
    double const dealt = std::ceil(static_cast<double>(chunks.count) / (static_cast<double>(threads) * Lanes::width));
    return Part::rounding_steps(static_cast<double>(chunks.size), threads) +
           Merge::rounding_steps * (of_threads + dealt + of_lanes + of_threads);
  }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Lanes const lanes;
    Part const part(team);
    Scratch const scratch(team.team_scratch(0), team.team_size());
    int const place = writes ? team.league_size() - 1 - team.league_rank() : team.league_rank();
    std::size_t const row = place / chunks.count;
    int const chunk = place % chunks.count;
    std::size_t const begin = chunks.begin(chunk);
    std::size_t const at = row * of.cols + begin;
    std::size_t const count = chunks.end(chunk) - begin;
    Sum const own = writes ? of_chunks(team, lanes, partial + row * chunks.count) : part.sum(of.x + at, count);
    Sum const sum = team::fold_threads(team, lanes, own, scratch.data(), Sum{}, Merge{});
    if (writes) {
      part.write(of.x + at, of.y + at, count, sum.max, sum.inverse());
    } else {
      Kokkos::single(Kokkos::PerTeam(team), [&] { partial[place] = sum; });
    }
    leave_scratch(team);
  }

 private:
  // Returns the sum over this thread's part of a row's chunks, the same in every lane.
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

}  // namespace detail

/// out = softmax(in), row by row, for matrices of rows x cols.
///
/// Construct it once: chooses the chunks, and allocates two numbers per chunk. A call only enqueues; calls on one
/// object must not run concurrently, because they share this memory.
template <ExecutionSpace Exec, class T, class Tuning = SplitSoftmaxTuning<Exec, T>>
class SplitRowSoftmax {
  static constexpr int pack = Tuning::pack;
  template <int N>
  using Part = std::conditional_t<Tuning::loops, detail::LoopPart<Exec, T>, detail::LanePart<Exec, T, Tuning, N>>;
  template <int N>
  using Kernel = detail::RowChunks<Exec, T, Tuning, Part<N>>;

 public:
  /// \param team threads per team; 0: choose. Throws Skip if the space cannot provide them.
  /// \param label kernel name that Kokkos Tools reports
  SplitRowSoftmax(Exec const& exec, std::size_t rows, std::size_t cols, std::int64_t team = 0,
                  std::string const& label = "tessera::split_softmax")
      : label_(label),
        rows_(rows),
        threads_(team_size(exec, team, Kernel<1>::vector_length)),
        singles_(Kernel<1>::chunks_of(exec, threads_, rows, cols)),
        packs_(cols % pack == 0 ? Kernel<pack>::chunks_of(exec, threads_, rows, cols) : singles_),
        partial_(unset(label + "::partial"),
                 static_cast<std::size_t>(league_of(rows * std::max(singles_.count, packs_.count)))) {}

  /// Enqueues. `in`, `out` [rows, cols] must be contiguous and row-major; they may be the same. Throws
  /// std::invalid_argument for other extents or strides.
  template <Readable<Exec, T, 2> In, Writable<Exec, T, 2> Out>
  void operator()(Exec const& exec, In const& in, Out const& out) const {
    (*this)(exec, in, out, [](auto const&) {});
  }

  /// As above, for rows whose other columns are held elsewhere, for example on other ranks: `between(sums)` is called
  /// on the host between the two launches, unless the matrix is empty. `sums` [rows * chunks], OnlineSum<T>, has the
  /// {max, sum} of each chunk of a row, which the second launch folds row by row.
  template <Readable<Exec, T, 2> In, Writable<Exec, T, 2> Out, class Between>
  void operator()(Exec const& exec, In const& in, Out const& out, Between const& between) const {
    detail::SoftmaxRows<T> const of{row_major(in, rows_, singles_.n), row_major(out, rows_, singles_.n), rows_,
                                    singles_.n, T(1)};
    if (rows_ == 0 || of.cols == 0) return;
    bool const in_packs = of.cols % pack == 0 && collective::is_aligned_for_packs<pack>(of.x, of.y);
    in_packs ? enqueue(exec, Kernel<pack>{of, packs_, partial_.data()}, between)
             : enqueue(exec, Kernel<1>{of, singles_, partial_.data()}, between);
  }

  [[nodiscard]] int most_chunks() const { return std::max(singles_.count, packs_.count); }  ///< of any row
  [[nodiscard]] int chunks() const { return packs_.count; }  ///< per row, if the Views are aligned for packs

  /// Returns the roundings of a row's sum on the longest path.
  [[nodiscard]] double rounding_steps() const {
    double const of_singles = Kernel<1>::rounding_steps(singles_, threads_);
    return singles_.n % pack == 0 ? std::max(of_singles, Kernel<pack>::rounding_steps(packs_, threads_)) : of_singles;
  }

 private:
  template <class Any, class Between>
  void enqueue(Exec const& exec, Any kernel, Between const& between) const {
    kernel.enqueue(exec, label_ + "::sums", threads_);
    between(Kokkos::subview(partial_, std::pair<std::size_t, std::size_t>(0, rows_ * kernel.chunks.count)));
    kernel.writes = true;
    kernel.enqueue(exec, label_ + "::write", threads_);
  }

  std::string label_;
  std::size_t rows_;
  int threads_;
  Chunks singles_;  // for rows accessed element by element
  Chunks packs_;
  Kokkos::View<collective::OnlineSum<T>*, typename Exec::memory_space> partial_;
};

}  // namespace tessera::kernels
