#pragma once
/// \file
/// The softmax of each row of a matrix, y = e^(x - max) / sum e^(x - max), in one launch.
///
/// W lanes share a short row, and each thread has several rows in flight; a team shares a longer row. In both cases the
/// row is read once, and lanes hold it in registers while they compute its maximum and sum. Rows that do not fit into a
/// team's registers are read twice: first for maximum and sum together, then backwards to write the results. On hosts,
/// by default, a thread handles a row with loops that the compiler vectorizes.
///
/// As in SciPy, a row with a NaN or +infinity, or with only -infinity, becomes NaN; -infinity among finite elements
/// gives 0.
///
/// Source: Milakov and Gimelshein, Online normalizer calculation for softmax (2018), for the long rows.
///
/// Traffic: each element is read once and written once; rows that do not fit into registers are read twice.
///
/// Example, one row: 1 2 3 4 -> 0.0320586 0.08714432 0.2368828 0.6439143.
///
/// Use:  softmax(exec, in, out);
/// or, enqueued many times:  RowSoftmax<Exec, float> softmax(exec, rows, cols);  softmax(exec, in, out);

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include <tessera/collective/exponential.hpp>
#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/online_sum.hpp>
#include <tessera/collective/operators.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/collective/prefetch.hpp>
#include <tessera/collective/team/fold_threads.hpp>
#include <tessera/collective/thread/reduce.hpp>
#include <tessera/collective/thread/rows.hpp>
#include <tessera/collective/thread/softmax_piece.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/chunks.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/kernels/detail/launch/views.hpp>

namespace tessera::kernels {

/// Which lanes handle a row. `lanes`: some lanes of a thread, for at most most_for_lanes elements. `team`: a team, for
/// any length. `automatic`: lanes or team, depending on the length. `loops`: for hosts, one thread with loops that the
/// compiler vectorizes.
enum class SoftmaxMethod : std::uint8_t { automatic, lanes, team, loops };

/// How RowSoftmax distributes rows.
template <ExecutionSpace Exec, class T,
          SoftmaxMethod Method = is_gpu<Exec> ? SoftmaxMethod::automatic : SoftmaxMethod::loops>
struct SoftmaxTuning {
  static constexpr SoftmaxMethod method = Method;
  static constexpr int pack = collective::pack_width<T>;   ///< elements of a pack: 16 bytes, the widest load
  static constexpr int lanes = lane::natural_width<Exec>;  ///< per thread, if a team handles a row
  /// Packs per lane if a team handles a row. Few packs, if enough threads can then hold the row, leave more teams
  /// resident; many packs are as many as fit into registers.
  static constexpr int few_packs = 4;
  static constexpr int many_packs = 8;
  /// With method `lanes`: true for one team per tile of rows; false if a team handles a chunk of rows, long enough to
  /// keep a host's thread busy.
  static constexpr bool team_a_tile = is_gpu<Exec>;
  static constexpr int most_lanes = is_gpu<Exec> ? 512 : 1;  ///< per team that handles a row, if the user gives no size
  using Bounds = Kokkos::LaunchBounds<512, 2>;  ///< 64 registers per lane: enough resident teams to hide memory latency
  /// Prefetch distance in rows: a team prefetches a later row into the cache for another team. 0: no prefetch. On a GPU
  /// the distance is 64 KiB per multiprocessor: 8 MiB of the 50 MiB cache of an H200. With twice as much, data are
  /// evicted before they are read.
  ///
  /// \param bytes size of a row
  [[nodiscard]] static std::size_t ahead(Exec const& exec, std::size_t bytes) {
    if (!is_gpu<Exec>) return 0;
    std::size_t const all = std::min<std::size_t>(multiprocessors(exec) * 65536, last_cache_of_gpu(exec) / 5);
    return std::max<std::size_t>(1, all / bytes);
  }
};

namespace detail {

/// The rows of x and y [rows, cols], row-major. The softmax is of factor * x.
template <class T>
struct SoftmaxRows {
  T const* x;
  T* y;
  std::size_t rows;
  std::size_t cols;
  T factor;
};

/// A lane's part of a row in registers, and the operations of both kernels that hold rows in registers.
template <class T, int Packs, int N>
struct SoftmaxItems {
  using Items = thread::Rows<T, Packs, N>;

  /// Loads the packs at first, first + apart, ... that lie in the row. The rest becomes -infinity, which adds nothing.
  KOKKOS_FUNCTION static void load(T const* row, int first, int apart, int cols, T factor, Items& items) {
    for (int k = 0; k < Packs; ++k) {
      int const at = first + k * apart;
      if (at < cols) {
        items.at[k] = collective::pack_at<N>(row + at);
      } else {
        for (int e = 0; e < N; ++e) items.at[k][e] = collective::minus_infinity<T>();
      }
    }
    for (int k = 0; k < Packs; ++k) {
      for (int e = 0; e < N; ++e) items.at[k][e] *= factor;
    }
  }

  [[nodiscard]] KOKKOS_FUNCTION static T max(Items const& items) {
    T result = items.at[0][0];
    for (int k = 0; k < Packs; ++k) {
      for (int e = 0; e < N; ++e) result = thread::Larger<T>{}(items.at[k][e], result);
    }
    return result;
  }

  /// Replaces the elements by their exponentials; returns the sum.
  [[nodiscard]] KOKKOS_FUNCTION static T exponentials(Items& items, T max) {
    T sum = T(0);
    for (int k = 0; k < Packs; ++k) {
      for (int e = 0; e < N; ++e) {
        items.at[k][e] = collective::exp_nonpositive(items.at[k][e] - max);
        sum += items.at[k][e];
      }
    }
    return sum;
  }

  KOKKOS_FUNCTION static void store(T* row, int first, int apart, int cols, T inverse, Items const& items) {
    for (int k = 0; k < Packs; ++k) {
      int const at = first + k * apart;
      if (at < cols) {
        collective::Pack<T, N> out;
        for (int e = 0; e < N; ++e) out[e] = items.at[k][e] * inverse;
        collective::pack_at<N>(row + at) = out;
      }
    }
  }
};

/// One team per row, the row in registers: Packs packs of N elements per lane. If N > 1, rows must be whole packs and
/// aligned for packs.
template <ExecutionSpace Exec, class T, class Tuning, int Packs, int N>
struct TeamSoftmax {
  using Policy = Kokkos::TeamPolicy<Exec, typename Tuning::Bounds>;
  using Member = typename Policy::member_type;
  using Lanes = lane::On<Exec, Tuning::lanes>;
  using Share = SoftmaxItems<T, Packs, N>;
  using Items = typename Share::Items;
  using Scratch = ScratchView<T*, Exec>;
  static constexpr int vector_length = lane::vector_length<Exec>(Lanes::width);
  static constexpr int of_thread = Lanes::width * Packs * N;  // elements that a thread holds

  SoftmaxRows<T> of;
  std::size_t ahead;  // prefetch distance in rows; 0: no prefetch

  static void enqueue(std::string const& label, Exec const& exec, SoftmaxRows<T> const& of, int threads) {
    // A team handles several rows, because starting a team takes longer than a short row.
    std::size_t const teams = std::min(of.rows, 32 * teams_that_fill(exec, threads * vector_length));
    Policy policy(exec, static_cast<int>(teams), threads, vector_length);
    Kokkos::parallel_for(label, with_scratch(policy, 2 * Scratch::shmem_size(threads)),
                         TeamSoftmax{of, Tuning::ahead(exec, of.cols * sizeof(T))});
  }

  /// Returns the roundings of the sum: a lane's elements, the lanes, the threads.
  [[nodiscard]] static double rounding_steps(std::size_t, int threads) {
    return Packs * N + 2 * std::log2(Lanes::width) + std::ceil(static_cast<double>(threads) / Lanes::width);
  }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Lanes const lanes;
    Scratch const maxima(team.team_scratch(0), team.team_size());
    Scratch const sums(team.team_scratch(0), team.team_size());
    int const cols = static_cast<int>(of.cols);
    int const apart = team.team_size() * Lanes::width * N;
    int const begin = team.team_rank() * Lanes::width * N;
    for (std::size_t row = team.league_rank(); row < of.rows; row += team.league_size()) {
      T const* const from = of.x + row * of.cols;
      T* const to = of.y + row * of.cols;
      typename Lanes::template Value<Items> items;
      auto of_lane = lanes.template fill<T>(T(0));
      lanes.each(
          [&](int lane, Items& own, T& value) {
            Share::load(from, begin + lane * N, apart, cols, of.factor, own);
            if (ahead > 0 && row + ahead < of.rows) {
              collective::prefetch(from + ahead * of.cols, of.cols, team.team_rank() * Lanes::width + lane,
                                   team.team_size() * Lanes::width);
            }
            value = Share::max(own);
          },
          items, of_lane);
      thread::Larger<T> const larger;
      // The barriers in each of the two folds also ensure that all threads have read the other fold's scratch of the
      // previous row.
      T const max = team::fold_threads(team, lanes, thread::reduce<T>(lanes, of_lane, larger), maxima.data(),
                                       collective::minus_infinity<T>(), larger);
      lanes.each([&](int, Items& own, T& value) { value = Share::exponentials(own, max); }, items, of_lane);
      collective::Sum<T> const add;
      T const sum = team::fold_threads(team, lanes, thread::reduce<T>(lanes, of_lane, add), sums.data(), T(0), add);
      T const inverse = collective::OnlineSum<T>{max, sum}.inverse();
      lanes.each([&](int lane, Items const& own) { Share::store(to, begin + lane * N, apart, cols, inverse, own); },
                 items);
    }
    leave_scratch(team);
  }
};

/// W lanes share a row, each thread has InFlight rows in flight, and rows are held in registers as in TeamSoftmax.
template <ExecutionSpace Exec, class T, class Tuning, int W, int Packs, int N, int InFlight>
struct LanesSoftmax {
  using Policy = Kokkos::TeamPolicy<Exec, typename Tuning::Bounds>;
  using Member = typename Policy::member_type;
  using Lanes = lane::On<Exec, W>;
  using Share = SoftmaxItems<T, Packs, N>;
  using Items = typename Share::Items;
  static constexpr int vector_length = lane::vector_length<Exec>(W);
  static constexpr int most_cols = W * Packs * N;

  SoftmaxRows<T> of;
  Chunks chunks;  // of rows

  static void enqueue(std::string const& label, Exec const& exec, SoftmaxRows<T> const& of, int threads) {
    std::size_t const tile = static_cast<std::size_t>(threads) * InFlight;
    // One tile per team, unless this exceeds the largest league.
    std::size_t const teams = Tuning::team_a_tile ? std::size_t{1} << 30 : teams_that_fill(exec, threads);
    LanesSoftmax const kernel{of, split(of.rows, tile, teams)};
    Kokkos::parallel_for(label, Policy(exec, kernel.chunks.count, threads, vector_length), kernel);
  }

  [[nodiscard]] static double rounding_steps(std::size_t, int) { return Packs * N + std::log2(W); }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Lanes const lanes;
    int const cols = static_cast<int>(of.cols);
    auto const threads = static_cast<std::size_t>(team.team_size());
    std::size_t const end = chunks.end(team.league_rank());
    for (std::size_t first = chunks.begin(team.league_rank()) + team.team_rank(); first < end;
         first += threads * InFlight) {
      // This thread's rows are first, first + threads, ..., so that the accesses of a warp are adjacent. A row past the
      // end is handled as a row without columns, because every lane must take part in every exchange.
      typename Lanes::template Value<Items> items[InFlight];
      typename Lanes::template Value<T> of_lane[InFlight];
      for (int r = 0; r < InFlight; ++r) {
        std::size_t const row = first + r * threads;
        lanes.each(
            [&](int lane, Items& own) {
              Share::load(of.x + row * of.cols, lane * N, W * N, row < end ? cols : 0, of.factor, own);
            },
            items[r]);
      }
      T max[InFlight];
      for (int r = 0; r < InFlight; ++r) {
        lanes.each([&](int, Items const& own, T& value) { value = Share::max(own); }, items[r], of_lane[r]);
        max[r] = thread::reduce<T>(lanes, of_lane[r], thread::Larger<T>{});
      }
      for (int r = 0; r < InFlight; ++r) {
        std::size_t const row = first + r * threads;
        lanes.each([&](int, Items& own, T& value) { value = Share::exponentials(own, max[r]); }, items[r], of_lane[r]);
        T const sum = thread::reduce<T>(lanes, of_lane[r], collective::Sum<T>{});
        T const inverse = collective::OnlineSum<T>{max[r], sum}.inverse();
        lanes.each(
            [&](int lane, Items const& own) {
              Share::store(of.y + row * of.cols, lane * N, W * N, row < end ? cols : 0, inverse, own);
            },
            items[r]);
      }
    }
  }
};

/// One team per row of any length; the row is read twice.
template <ExecutionSpace Exec, class T, class Tuning, int N>
struct SweepSoftmax {
  using Policy = Kokkos::TeamPolicy<Exec, typename Tuning::Bounds>;
  using Member = typename Policy::member_type;
  using Lanes = lane::On<Exec, Tuning::lanes>;
  using Piece = thread::LaneSoftmax<T, Lanes, N>;
  using Sum = collective::OnlineSum<T>;
  using Merge = collective::MergeOnlineSums<T>;
  using Scratch = ScratchView<Sum*, Exec>;
  static constexpr int vector_length = lane::vector_length<Exec>(Lanes::width);

  SoftmaxRows<T> of;

  static void enqueue(std::string const& label, Exec const& exec, SoftmaxRows<T> const& of, int threads) {
    std::size_t const teams = std::min(of.rows, 32 * teams_that_fill(exec, threads * vector_length));
    Policy policy(exec, static_cast<int>(teams), threads, vector_length);
    Kokkos::parallel_for(label, with_scratch(policy, Scratch::shmem_size(threads)), SweepSoftmax{of});
  }

  [[nodiscard]] static double rounding_steps(std::size_t cols, int threads) {
    return Piece::rounding_steps(static_cast<double>(cols), threads) +
           Merge::rounding_steps * (std::ceil(static_cast<double>(threads) / Lanes::width) + std::log2(Lanes::width));
  }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Lanes const lanes;
    Scratch const sums(team.team_scratch(0), team.team_size());
    Piece const piece{lanes, team.team_rank(), team.team_size(), of.factor};
    for (std::size_t row = team.league_rank(); row < of.rows; row += team.league_size()) {
      T const* const from = of.x + row * of.cols;
      Sum const sum = team::fold_threads(team, lanes, piece.sum(from, of.cols), sums.data(), Sum{}, Merge{});
      piece.write(from, of.y + row * of.cols, of.cols, sum.max, sum.inverse());
      team.team_barrier();  // all have read the sums, which the next row (or, on a host, another team) overwrites
    }
  }
};

/// For hosts: one thread per row.
template <ExecutionSpace Exec, class T>
struct LoopRowSoftmax {
  using Policy = Kokkos::TeamPolicy<Exec>;
  using Member = typename Policy::member_type;
  using Loop = thread::LoopSoftmax<T>;
  static constexpr std::size_t in_cache = (std::size_t{1} << 18) / sizeof(T);  // longest row that stays in the cache

  SoftmaxRows<T> of;
  Chunks chunks;  // of rows

  static void enqueue(std::string const& label, Exec const& exec, SoftmaxRows<T> const& of, int threads) {
    LoopRowSoftmax const kernel{of, split(of.rows, threads, teams_that_fill(exec, threads))};
    Kokkos::parallel_for(label, Policy(exec, kernel.chunks.count, threads), kernel);
  }

  [[nodiscard]] static double rounding_steps(std::size_t cols, int) {
    auto const count = static_cast<double>(cols);
    return cols <= in_cache ? std::ceil(count / Loop::wide) + Loop::wide : Loop::rounding_steps(count);
  }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Loop const loop{of.factor};
    std::size_t const end = chunks.end(team.league_rank());
    for (std::size_t row = chunks.begin(team.league_rank()) + team.team_rank(); row < end; row += team.team_size()) {
      T const* const from = of.x + row * of.cols;
      T* const to = of.y + row * of.cols;
      if (of.cols <= in_cache) {
        loop.whole(from, to, of.cols);
      } else {
        auto const sum = loop.sum(from, of.cols);
        loop.write(from, to, of.cols, sum.max, sum.inverse());
      }
    }
  }
};

}  // namespace detail

/// out = softmax(factor * in), row by row, for matrices of rows x cols.
///
/// Construct it once: chooses the kernel. A call only enqueues. Calls share no memory and may run concurrently.
template <ExecutionSpace Exec, class T, class Tuning = SoftmaxTuning<Exec, T>>
class RowSoftmax {
  static constexpr int pack = Tuning::pack;
  static constexpr SoftmaxMethod method = Tuning::method;

 public:
  /// Longest row, in elements, that the lanes of one thread hold.
  static constexpr std::size_t most_for_lanes = 256 * pack;

  /// \param team threads per team; 0: choose. Throws Skip if the space cannot provide them, or, with method `lanes`, if
  ///        rows do not fit into the registers of one thread's lanes.
  /// \param label kernel name that Kokkos Tools reports
  RowSoftmax(Exec const& exec, std::size_t rows, std::size_t cols, std::int64_t team = 0,
             std::string const& label = "tessera::softmax")
      : label_(label + "::rows"), rows_(rows), cols_(cols), team_(team) {
    if (method == SoftmaxMethod::lanes && cols > most_for_lanes) {
      throw Skip("rows of " + std::to_string(cols) + " elements (the registers of one thread's lanes hold " +
                 std::to_string(most_for_lanes) + ")");
    }
    for (bool const in_packs : {false, true}) {
      with_kernel(exec, in_packs, [&]<class Kernel>(int threads) {
        steps_ = std::max(steps_, Kernel::rounding_steps(cols_, threads));
      });
    }
  }

  /// Enqueues. `in`, `out` [rows, cols] must be contiguous and row-major; they may be the same. Throws
  /// std::invalid_argument for other extents or strides.
  ///
  /// \param factor greater than 0
  template <Readable<Exec, T, 2> In, Writable<Exec, T, 2> Out>
  void operator()(Exec const& exec, In const& in, Out const& out, T factor = T(1)) const {
    detail::SoftmaxRows<T> const of{row_major(in, rows_, cols_), row_major(out, rows_, cols_), rows_, cols_, factor};
    if (rows_ == 0 || cols_ == 0) return;
    bool const in_packs = cols_ % pack == 0 && collective::is_aligned_for_packs<pack>(of.x, of.y);
    with_kernel(exec, in_packs, [&]<class Kernel>(int threads) { Kernel::enqueue(label_, exec, of, threads); });
  }

  /// Returns the roundings of a row's sum on the longest path. An element also has the roundings of its exponential and
  /// its division.
  [[nodiscard]] double rounding_steps() const { return steps_; }

 private:
  /// Calls body.operator()<Kernel>(threads) with the kernel for rows of this length. Kernels that the method never uses
  /// are not compiled.
  template <class Body>
  void with_kernel(Exec const& exec, [[maybe_unused]] bool in_packs, Body const& body) const {
    if constexpr (method == SoftmaxMethod::loops) {
      body.template operator()<detail::LoopRowSoftmax<Exec, T>>(team_size(exec, team_));
    }
    if constexpr (method == SoftmaxMethod::lanes || method == SoftmaxMethod::automatic) {
      if (cols_ <= most_for_lanes) return in_packs ? with_lanes<pack>(exec, body) : with_lanes<1>(exec, body);
    }
    if constexpr (method == SoftmaxMethod::team || method == SoftmaxMethod::automatic) {
      in_packs ? with_team<pack>(exec, body) : with_team<1>(exec, body);
    }
  }

  template <int W, int Packs, int N, int InFlight, class Body>
  bool try_lanes(Exec const& exec, Body const& body) const {
    using Kernel = detail::LanesSoftmax<Exec, T, Tuning, W, Packs, N, InFlight>;
    if (cols_ > static_cast<std::size_t>(Kernel::most_cols)) return false;
    body.template operator()<Kernel>(team_size(exec, team_, Kernel::vector_length));
    return true;
  }

  template <int N, class Body>
  void with_lanes(Exec const& exec, Body const& body) const {
    constexpr int e = pack / N;  // without packs (N = 1) a lane holds the same number of elements
    (void)(try_lanes<1, e, N, 4>(exec, body) || try_lanes<4, e, N, 4>(exec, body) ||
           try_lanes<16, e, N, 4>(exec, body) || try_lanes<32, 2 * e, N, 2>(exec, body) ||
           try_lanes<32, 4 * e, N, 1>(exec, body) || try_lanes<32, 8 * e, N, 1>(exec, body));
  }

  template <int N, class Body>
  void with_team(Exec const& exec, Body const& body) const {
    constexpr int e = pack / N;
    using Small = detail::TeamSoftmax<Exec, T, Tuning, Tuning::few_packs * e, N>;
    using Large = detail::TeamSoftmax<Exec, T, Tuning, Tuning::many_packs * e, N>;
    int const given = team_size(exec, team_, Small::vector_length);  // may throw Skip
    std::size_t const most = team_ > 0 ? given : std::max(given, Tuning::most_lanes / Small::vector_length);
    auto const run = [&]<class Kernel>() {
      std::size_t const needed = std::max<std::size_t>(1, tiles_of(cols_, Kernel::of_thread));
      if (needed > most) return false;
      body.template operator()<Kernel>(team_ > 0 ? given : static_cast<int>(needed));
      return true;
    };
    if (run.template operator()<Small>() || run.template operator()<Large>()) return;
    body.template operator()<detail::SweepSoftmax<Exec, T, Tuning, N>>(static_cast<int>(most));
  }

  std::string label_;
  std::size_t rows_;
  std::size_t cols_;
  std::int64_t team_;
  double steps_ = 0;
};

/// out = softmax(factor * in), row by row. `in`, `out` [rows, cols]; they may be the same. Convenience for a single
/// call: enqueues and waits.
template <ExecutionSpace Exec, class In, class Out>
void softmax(Exec const& exec, In const& in, Out const& out, typename In::non_const_value_type factor = 1) {
  RowSoftmax<Exec, typename In::non_const_value_type> const kernel(exec, in.extent(0), in.extent(1));
  kernel(exec, in, out, factor);
  exec.fence("tessera: softmax");
}

}  // namespace tessera::kernels
