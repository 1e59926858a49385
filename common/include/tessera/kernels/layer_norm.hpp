#pragma once
/// \file
/// Layer normalisation of the rows of a matrix in one launch: ln = gamma * xhat + beta with xhat = (x - mean) /
/// sqrt(variance + eps) and the biased variance. A few lanes share a short row; on a GPU a team shares a long one.
///
/// All arithmetic uses the distances of a row's elements from its first element. If the mean is large and the variance
/// small, these distances are exact and their mean is small, while the mean of x itself would have a rounding error
/// larger than the row's variation. If the sum of the distances or of their squares leaves the range, they are scaled
/// and summed again (in_range.hpp). The variance comes from a second sweep, never from E[x^2] - E[x]^2. A row that fits
/// into the registers of its lanes or team is read from memory once, a longer row three times. If T has 16 bits, memory
/// holds 16-bit floats, but all arithmetic is in float, and ln is rounded once.
///
/// Source: T. F. Chan, G. H. Golub, R. J. LeVeque, Algorithms for computing the sample variance (1983), 2.
///
/// Example: x = [1 3], gamma = [1 2], beta = [0 5], eps -> 0: mean 2, inv_std 1, ln = [-1 7].
///
/// Use:  layer_norm(exec, x, gamma, beta, eps, ln);
/// or, enqueued many times:  LayerNorm<Exec, float> norm(exec, rows, cols, eps);  norm(exec, x, gamma, beta, ln);
/// Only the statistics:  norm.statistics(exec, x, mean, inv_std);

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include <tessera/collective/in_range.hpp>
#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/operators.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/collective/streaming_store.hpp>
#include <tessera/collective/team/fold_threads.hpp>
#include <tessera/collective/team/normalised_row.hpp>
#include <tessera/collective/thread/reduce.hpp>
#include <tessera/collective/thread/rows.hpp>
#include <tessera/core/half.hpp>
#include <tessera/core/hidden.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/chunks.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/kernels/detail/launch/views.hpp>

namespace tessera::kernels {

/// For hosts: how many lanes share a row, whether a team does, and the number of teams.
template <ExecutionSpace Exec, class T>
struct LayerNormTuning {
  /// Calls body.operator()<W, N, Packs>(): W lanes share a row of this length, and each holds `Packs` packs of N.
  ///
  /// \param aligned whether memory can be accessed in packs of 16 bytes, if rows are whole packs
  template <class Body>
  static void with_lanes(std::size_t cols, [[maybe_unused]] bool aligned, Body const& body) {
    // Lanes are elements of vector registers; the first-level cache holds the row for the second sweep.
    if (cols < 16) return body.template operator()<8, 1, 1>();
    if (cols < 512) return body.template operator()<32, 1, 1>();
    body.template operator()<64, 1, 1>();
  }
  /// If a team handles a row of this length, calls body.operator()<W, N, Packs, most>(): threads of W lanes, at most
  /// `most` lanes in all, each holding `Packs` packs of N; returns true. Returns false if the lanes of one thread
  /// handle the row.
  template <class Body>
  static bool with_team(std::size_t /*cols*/, bool /*aligned*/, Body const& /*body*/) {
    return false;
  }
  /// One chunk of rows per thread.
  [[nodiscard]] static std::size_t most_teams(Exec const& exec, int threads) { return teams_that_fill(exec, threads); }
};

/// For GPUs.
template <ExecutionSpace Exec, class T>
  requires is_gpu<Exec>
struct LayerNormTuning<Exec, T> {
  template <class Body>
  static void with_lanes(std::size_t cols, bool aligned, Body const& body) {
    // As few lanes as can hold a row at once, with up to 32 registers per lane.
    constexpr int pack = collective::pack_width<T>;
    if (aligned && cols % pack == 0) {
      if (cols <= 8 * pack) return body.template operator()<8, pack, 1>();
      if (cols <= 64 * pack) return body.template operator()<32, pack, 2>();
      body.template operator()<32, pack, 8>();
    } else {
      if (cols <= 32) return body.template operator()<8, 1, 4>();
      body.template operator()<32, 1, 8>();
    }
  }
  template <class Body>
  static bool with_team(std::size_t cols, bool aligned, Body const& body) {
    constexpr int pack = collective::pack_width<T>;
    if (aligned && cols % pack == 0) {
      if (cols <= 256 * pack) return false;  // a warp holds it
      // Few registers per lane, so that a multiprocessor has several rows in flight: one is written while another is
      // read. Doubles use fewer lanes, because roots and quotients take each lane longer.
      if (sizeof(T) == 4 && cols <= 1024 * pack) {
        body.template operator()<32, pack, 4, 512>();
      } else if (cols <= 4096 * pack) {
        body.template operator()<32, pack, 8, 512>();
      } else {
        body.template operator()<32, pack, 8, 1024>();
      }
    } else {
      if (cols <= 384 * pack) return false;  // a warp's three sweeps find it in the first-level cache
      // If elements are accessed one by one, a lane holds as many as fit into 64 registers beside their addresses.
      // Longer rows are swept three times, by teams of which two are resident.
      if (cols <= 3072 * pack) {
        body.template operator()<32, 1, 6 * pack, 512>();
      } else {
        body.template operator()<32, 1, 4 * pack, 512>();
      }
    }
    return true;
  }
  /// One team for every few rows, up to the largest league.
  [[nodiscard]] static std::size_t most_teams(Exec const&, int) { return std::size_t{1} << 30; }
};

using team::NormalisedRow;

/// The statistics of all rows, in memory: mean [rows] and inv_std [rows]. The shift is read from x.
template <class T>
struct RowStatistics {
  T* mean = nullptr;
  T* inv_std = nullptr;

  /// \param x [rows, cols]
  [[nodiscard]] KOKKOS_FUNCTION NormalisedRow<T> row(T const* x, std::size_t cols, std::size_t r) const {
    return {x[r * cols], mean[r], inv_std[r]};
  }
};

/// Normalises the rows of x while a product loads them (see product_form.hpp), so that ln is never stored.
template <class T>
struct NormaliseOnLoad {
  static constexpr bool changes = true;
  using Row = NormalisedRow<T>;

  T const* x = nullptr;
  std::size_t cols = 0;
  RowStatistics<T> statistics;
  T const* gamma = nullptr;
  T const* beta = nullptr;

  [[nodiscard]] KOKKOS_FUNCTION Row row(std::size_t r) const { return statistics.row(x, cols, r); }
  template <int W>
  KOKKOS_FUNCTION void change(Row const& row, std::size_t k, collective::Pack<T, W>& values) const {
    auto const scale = collective::pack_at<W>(gamma + k);
    auto const offset = collective::pack_at<W>(beta + k);
    for (int e = 0; e < W; ++e) values[e] = scale[e] * row(values[e]) + offset[e];
  }
  template <int W>
  [[nodiscard]] bool is_aligned() const {
    return collective::is_aligned_for_packs<W>(gamma, beta);
  }
};

/// The lanes of one thread share a row.
struct OneThread {
  static constexpr int threads = 1;
  static constexpr int rank = 0;
  [[nodiscard]] KOKKOS_FUNCTION OneThread for_sweep() const { return {}; }
  template <class Lanes, class T>
  [[nodiscard]] KOKKOS_FUNCTION T fold(Lanes const&, T value, int) const {
    return value;
  }
};

/// A number that the compiler knows. (The conversion of std::integral_constant is a function of hosts.)
template <int Value>
struct FixedCount {
  KOKKOS_FUNCTION constexpr operator int() const { return Value; }
};

/// The lanes of all threads of a team share a row.
template <class Member, class T>
struct WholeTeam {
  Member const& team;
  T* scratch;  ///< 2 per thread
  int threads = team.team_size();
  int rank = team.team_rank();

  /// Returns the same object. On AMD GPUs each sweep recomputes the positions of its packs: otherwise hipcc keeps the
  /// addresses of all sweeps for all rows, which needs more registers than exist.
  [[nodiscard]] KOKKOS_FUNCTION WholeTeam for_sweep() const {
    WholeTeam result = *this;
    result.rank = hidden_on_hip(rank);
    return result;
  }

  /// Returns the sum of the threads' values. `number` must alternate between 0 and 1: each has its own scratch, and the
  /// barrier of one call ensures that all threads have read the scratch of the previous call.
  template <class Lanes>
  [[nodiscard]] KOKKOS_FUNCTION T fold(Lanes const& lanes, T value, int number) const {
    return team::fold_threads(team, lanes, value, scratch + number * threads, T(0), collective::Sum<T>{});
  }
};

/// Lanes that share a row, W per thread, each of which holds `Packs` packs of N at a time. If N is above 1, cols must
/// be a multiple of N, and rows must be aligned for packs of N. Members must be called by all lanes of all threads of
/// `who`. One thread needs no scratch and no barriers; a team needs the scratch and barriers of WholeTeam.
template <class Exec, class T, int W, int N, int Packs>
class LanesOfRow {
 public:
  using Lanes = lane::On<Exec, W>;
  using A = Arithmetic<T>;
  using Held = thread::Rows<T, Packs, N>;
  using HeldByLanes = typename Lanes::template Value<Held>;
  static constexpr int vector_length = lane::vector_length<Exec>(W);
  static constexpr int part = W * N * Packs;  // elements of a row that the lanes of a thread hold at once

  /// Roundings in the sum of a row: a lane's packs, the elements of a pack, the lanes; then the threads, again by
  /// lanes.
  [[nodiscard]] static double sum_steps(std::size_t cols, int threads = 1) {
    double const of_lane = std::ceil(static_cast<double>(cols) / (static_cast<double>(threads) * W * N));
    double const of_threads = threads == 1 ? 0 : std::ceil(static_cast<double>(threads) / W) + std::log2(W);
    return of_lane + N - 1 + std::log2(W) + of_threads;
  }

  /// Returns the statistics of a row of x. Afterwards `held` is the row's last part, or the whole row if it has only
  /// one.
  template <class Who = OneThread>
  [[nodiscard]] KOKKOS_FUNCTION static NormalisedRow<A> statistics_of(Lanes const& lanes, T const* row,
                                                                      std::size_t cols, A eps, HeldByLanes& held,
                                                                      Who const& who = {}) {
    NormalisedRow<A> result{.shift = row[0]};
    bool const is_held = cols <= static_cast<std::size_t>(part * who.threads);
    // Repeated with scaled distances if a sum has left the range. All lanes of `who` have the same sums.
    for (A scale = 1;; scale = collective::shrink<A>) {
      auto sums = lanes.template fill<collective::Pack<A, N>>(collective::Pack<A, N>{});
      each_part(cols, who, [&](std::size_t first, auto count) {
        load(lanes, row + first, count, held, who);
        add_each(lanes, count, held, sums, who, [=](A value) { return (value - result.shift) * scale; });
      });
      result.mean = who.fold(lanes, total(lanes, sums), 0) / static_cast<A>(cols) / scale;
      sums = lanes.template fill<collective::Pack<A, N>>(collective::Pack<A, N>{});
      each_part(cols, who, [&](std::size_t first, auto count) {
        if (!is_held) load(lanes, row + first, count, held, who);
        add_each(lanes, count, held, sums, who, [=](A value) {
          A const distance = ((value - result.shift) - result.mean) * scale;
          return distance * distance;
        });
      });
      A const variance = who.fold(lanes, total(lanes, sums), 1) / static_cast<A>(cols) + eps * scale * scale;
      result.inv_std = scale / Kokkos::sqrt(variance);
      if (result.inv_std > 0 || scale < 1) return result;
    }
  }

  /// Writes ln of a row of x; `held` is its last part and `normalised` its statistics. Afterwards `held` is undefined.
  /// `streaming`: bypass a host's caches; the row must be whole packs of 16 bytes and aligned for them.
  template <class Who = OneThread>
  KOKKOS_FUNCTION static void normalise(Lanes const& lanes, T const* row, std::size_t cols,
                                        NormalisedRow<A> const& normalised, T const* gamma, T const* beta, T* ln,
                                        HeldByLanes& held, Who const& who = {}, bool streaming = false) {
    bool const is_held = cols <= static_cast<std::size_t>(part * who.threads);
    each_part(cols, who, [&](std::size_t first, auto count) {
      if (!is_held) load(lanes, row + first, count, held, who);
      auto const each_pack = [&](auto const& body) {
        lanes.each(
            [&](int lane, Held& own) {
              auto const here = who.for_sweep();
              for (int p = 0; p < Packs; ++p) {
                int const i = place(p, lane, here);
                if (i < count) body(i, own.at[p]);
              }
            },
            held);
      };
      T const* const scales = gamma + first;
      T const* const offsets = beta + first;
      if constexpr (is_gpu<Exec>) {
        each_pack([&](int i, collective::Pack<T, N> const& own) {
          auto const scale = collective::pack_at<N>(scales + i);
          auto const offset = collective::pack_at<N>(offsets + i);
          collective::Pack<T, N> values;
          for (int e = 0; e < N; ++e) values[e] = scale[e] * normalised(own[e]) + offset[e];
          collective::pack_at<N>(ln + first + i) = values;
        });
      } else {
        // Two loops, because a compiler cannot know that ln does not overlap gamma and beta; and element by element,
        // because it does not vectorize copies of structs.
        each_pack([&](int i, collective::Pack<T, N>& own) {
          for (int e = 0; e < N; ++e) own[e] = scales[i + e] * normalised(own[e]) + offsets[i + e];
        });
        if constexpr (N == 1 && Packs == 1) {
          if (streaming) return store_past_caches(held, ln + first, count);
        }
        each_pack([&](int i, collective::Pack<T, N> const& own) {
          for (int e = 0; e < N; ++e) ln[first + i + e] = own[e];
        });
      }
    });
  }

  /// Calls body(first, count) for each part of a row in order: its first element and its number of elements. On a host,
  /// the count of a whole part is a compile-time constant, so that no masks are needed.
  template <class Who, class Body>
  KOKKOS_FUNCTION static void each_part(std::size_t cols, Who const& who, Body const& body) {
    int const at_once = part * who.threads;
    std::size_t first = 0;
    if constexpr (!is_gpu<Exec> && std::is_same_v<Who, OneThread>) {
      for (; first + part <= cols; first += part) body(first, FixedCount<part>{});
    }
    for (; first < cols; first += at_once) body(first, thread::count_before(first, cols, at_once));
  }

  /// Loads the first `count` elements of a part; the rest of `held` becomes zero.
  template <class Count, class Who = OneThread>
  KOKKOS_FUNCTION static void load(Lanes const& lanes, T const* from, Count count, HeldByLanes& held,
                                   Who const& who = {}) {
    lanes.each(
        [&](int lane, Held& own) {
          auto const here = who.for_sweep();
          for (int p = 0; p < Packs; ++p) {
            int const i = place(p, lane, here);
            own.at[p] = i < count ? collective::pack_at<N>(from + i) : collective::Pack<T, N>{};
          }
        },
        held);
  }

  /// Returns the sum of all lanes' packs, in all lanes of the thread.
  [[nodiscard]] KOKKOS_FUNCTION static A total(Lanes const& lanes,
                                               typename Lanes::template Value<collective::Pack<A, N>> const& sums) {
    auto of_lane = lanes.template fill<A>(A(0));
    lanes.each(
        [&](int, A& sum, collective::Pack<A, N> const& own) {
          sum = own[0];
          for (int e = 1; e < N; ++e) sum += own[e];
        },
        of_lane, sums);
    return thread::reduce<A>(lanes, of_lane, collective::Sum<A>{});
  }

 private:
  // Stores the elements of the first `count` lanes as packs of 16 bytes: emulated lanes are neighbours in memory.
  KOKKOS_FUNCTION static void store_past_caches(HeldByLanes const& held, T* to, int count) {
    constexpr int pack = collective::pack_width<T>;
    for (int first = 0; first < count; first += pack) {
      collective::Pack<T, pack> values;
      for (int e = 0; e < pack; ++e) values[e] = held.at[first + e].at[0][0];
      collective::streaming_store(to + first, values);
    }
  }

  // Position of a lane's pack in a part: neighbouring lanes, and then neighbouring threads, have neighbouring packs.
  template <class Who>
  [[nodiscard]] KOKKOS_FUNCTION static int place(int pack, int lane, Who const& who) {
    return thread::row_offset<W, N>(pack * who.threads + who.rank, lane, 0);
  }

  template <class Count, class Sums, class Who, class Term>
  KOKKOS_FUNCTION static void add_each(Lanes const& lanes, Count count, HeldByLanes const& held, Sums& sums,
                                       Who const& who, Term const& term) {
    lanes.each(
        [&](int lane, Held const& own, collective::Pack<A, N>& sum) {
          auto const here = who.for_sweep();
          for (int p = 0; p < Packs; ++p) {
            if (place(p, lane, here) >= count) continue;
            for (int e = 0; e < N; ++e) sum[e] += term(own.at[p][e]);
          }
        },
        held, sums);
  }
};

namespace detail {

/// The arrays of a launch.
template <class T>
struct LayerNormRows {
  T const* x;
  std::size_t cols;
  Arithmetic<T> eps;
  RowStatistics<Arithmetic<T>> statistics;  // null: not stored
  T const* gamma;
  T const* beta;
  T* ln;                   // null: not stored
  bool streaming = false;  // ln bypasses a host's caches

  /// Handles one row, with all lanes of `who`.
  template <class Row, class Who>
  KOKKOS_FUNCTION void take(typename Row::Lanes const& lanes, std::size_t row, Who const& who) const {
    auto held = lanes.template fill<typename Row::Held>(typename Row::Held{});
    NormalisedRow<Arithmetic<T>> const normalised = Row::statistics_of(lanes, x + row * cols, cols, eps, held, who);
    if (statistics.mean != nullptr) {
      lanes.each(
          [&](int lane, typename Row::Held const&) {
            if (lane > 0 || who.rank > 0) return;
            statistics.mean[row] = normalised.mean;
            statistics.inv_std[row] = normalised.inv_std;
          },
          held);
    }
    if (ln != nullptr) {
      Row::normalise(lanes, x + row * cols, cols, normalised, gamma, beta, ln + row * cols, held, who, streaming);
    }
  }
};

/// A team of t threads with `vector_length`, for any t; each thread handles every t-th row of the team's chunk.
template <class Exec, class T, int W, int N, int Packs>
struct LayerNormKernel {
  using Policy = Kokkos::TeamPolicy<Exec>;
  using Member = typename Policy::member_type;
  using Row = LanesOfRow<Exec, T, W, N, Packs>;

  LayerNormRows<T> of;
  Chunks chunks;

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    typename Row::Lanes const lanes;
    std::size_t const end = chunks.end(team.league_rank());
    for (std::size_t row = chunks.begin(team.league_rank()) + team.team_rank(); row < end; row += team.team_size()) {
      of.template take<Row>(lanes, row, OneThread{});
    }
    if (of.streaming) collective::streaming_fence();
  }
};

/// A team of up to `most` lanes handles the rows league_rank, league_rank + league_size, and so on.
template <class Exec, class T, int W, int N, int Packs, int most>
struct TeamLayerNorm {
  // At least 1024 lanes per multiprocessor, with 64 registers each.
  using Policy = Kokkos::TeamPolicy<Exec, Kokkos::LaunchBounds<most, 1024 / most>>;
  using Member = typename Policy::member_type;
  using Row = LanesOfRow<Exec, T, W, N, Packs>;
  using Sum = Arithmetic<T>;
  using Scratch = ScratchView<Sum*, Exec>;

  LayerNormRows<T> of;
  std::size_t rows;

  /// As many threads as can hold a row, at most `most` lanes. \param team the user's choice; 0: choose
  [[nodiscard]] static int threads_of(Exec const& exec, std::size_t cols, std::int64_t team) {
    int const given = kernels::team_size(exec, team, Row::vector_length);
    if (team > 0) return given;
    std::size_t const threads = is_gpu<Exec> ? most / Row::vector_length : 1;
    return static_cast<int>(std::min(threads, tiles_of(cols, Row::part)));
  }

  void enqueue(std::string const& label, Exec const& exec, int threads) const {
    // A team handles several rows, because starting a team takes as long as a short row.
    std::size_t const teams = std::min(rows, 32 * teams_that_fill(exec, threads * Row::vector_length));
    Policy const policy(exec, static_cast<int>(teams), threads, Row::vector_length);
    Kokkos::parallel_for(label, with_scratch(policy, Scratch::shmem_size(2 * threads)), *this);
  }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    typename Row::Lanes const lanes;
    Scratch const scratch(team.team_scratch(0), 2 * team.team_size());
    WholeTeam<Member, Sum> const who{.team = team, .scratch = scratch.data()};
    for (std::size_t row = team.league_rank(); row < rows; row += team.league_size()) {
      of.template take<Row>(lanes, row, who);
    }
    leave_scratch(team);
  }
};

}  // namespace detail

/// Layer normalisation of x [rows, cols], cols >= 1.
///
/// Construct it once: chooses lanes and teams, allocates nothing. A call only enqueues one launch, or none if there are
/// no rows; calls may run concurrently. The result is bitwise reproducible for the same extents, alignment of memory
/// and kind of machine.
template <ExecutionSpace Exec, class T, class Tuning = LayerNormTuning<Exec, T>>
class LayerNorm {
 public:
  /// \param eps added to each row's variance
  /// \param team threads per team; 0: choose. Throws Skip if the space cannot provide them.
  /// \param label kernel name that Kokkos Tools reports
  ///
  /// Throws std::invalid_argument if cols is 0: a row without elements has no mean.
  LayerNorm(Exec const& exec, std::size_t rows, std::size_t cols, double eps, std::int64_t team = 0,
            std::string label = "tessera::layer_norm")
      : label_(std::move(label)), rows_(rows), cols_(cols), eps_(static_cast<Arithmetic<T>>(eps)), team_(team) {
    if (cols == 0) throw std::invalid_argument("rows of no elements (they have no mean)");
    for (bool const aligned : {false, true}) {
      bool const by_team = Tuning::with_team(cols, aligned, [&]<int W, int N, int Packs, int most>() {
        using Kernel = detail::TeamLayerNorm<Exec, T, W, N, Packs, most>;
        int const threads = Kernel::threads_of(exec, cols, team);
        sum_steps_ = std::max(sum_steps_, Kernel::Row::sum_steps(cols, threads));
      });
      if (by_team) continue;
      Tuning::with_lanes(cols, aligned, [&]<int W, int N, int Packs>() {
        using Row = LanesOfRow<Exec, T, W, N, Packs>;
        (void)kernels::team_size(exec, team, Row::vector_length);
        sum_steps_ = std::max(sum_steps_, Row::sum_steps(cols));
      });
    }
  }

  /// Enqueues ln = layernorm(x). x and ln [rows, cols] must be contiguous and row-major, and may be the same; gamma and
  /// beta [cols]. Throws std::invalid_argument for other extents or strides.
  template <Readable<Exec, T, 2> X, Readable<Exec, T, 1> Gamma, Readable<Exec, T, 1> Beta, Writable<Exec, T, 2> Ln>
  void operator()(Exec const& exec, X const& x, Gamma const& gamma, Beta const& beta, Ln const& ln) const {
    enqueue(exec, row_major(x, rows_, cols_), contiguous(gamma, cols_), contiguous(beta, cols_), {},
            row_major(ln, rows_, cols_));
  }

  /// Enqueues the statistics of the rows of x: mean [rows], the mean of the distances from a row's first element, and
  /// inv_std [rows]. Both are float if T is a 16-bit float.
  template <Readable<Exec, T, 2> X, Writable<Exec, Arithmetic<T>, 1> Mean, Writable<Exec, Arithmetic<T>, 1> InvStd>
  void statistics(Exec const& exec, X const& x, Mean const& mean, InvStd const& inv_std) const {
    enqueue(exec, row_major(x, rows_, cols_), nullptr, nullptr, {contiguous(mean, rows_), contiguous(inv_std, rows_)},
            nullptr);
  }

  /// Returns the LoadOfA with which a product normalises the rows of x by these statistics, so that ln is never stored.
  template <Readable<Exec, T, 2> X, Readable<Exec, T, 1> Gamma, Readable<Exec, T, 1> Beta, Writable<Exec, T, 1> Mean,
            Writable<Exec, T, 1> InvStd>
  [[nodiscard]] NormaliseOnLoad<T> on_load(X const& x, Gamma const& gamma, Beta const& beta, Mean const& mean,
                                           InvStd const& inv_std) const {
    return {row_major(x, rows_, cols_),
            cols_,
            {contiguous(mean, rows_), contiguous(inv_std, rows_)},
            contiguous(gamma, cols_),
            contiguous(beta, cols_)};
  }

  /// Returns the longest chain of roundings of an xhat or ln; verify/normalised_rows.hpp says what is counted.
  [[nodiscard]] double rounding_steps() const { return sum_steps_ + 8; }

 private:
  void enqueue(Exec const& exec, T const* x, T const* gamma, T const* beta,
               RowStatistics<Arithmetic<T>> const& statistics, T* ln) const {
    if (rows_ == 0) return;
    constexpr int pack = collective::pack_width<T>;
    bool const aligned = collective::is_aligned_for_packs<pack>(x, gamma, beta, ln);
    // If x and ln are the same matrix, the row is in the cache already.
    bool const streaming = aligned && cols_ % pack == 0 && ln != nullptr && ln != x &&
                           collective::streams<Exec>(rows_ * cols_ * sizeof(T));
    detail::LayerNormRows<T> const of{x, cols_, eps_, statistics, gamma, beta, ln, streaming};
    bool const by_team = Tuning::with_team(cols_, aligned, [&]<int W, int N, int Packs, int most>() {
      using Kernel = detail::TeamLayerNorm<Exec, T, W, N, Packs, most>;
      Kernel{of, rows_}.enqueue(label_, exec, Kernel::threads_of(exec, cols_, team_));
    });
    if (by_team) return;
    Tuning::with_lanes(cols_, aligned, [&]<int W, int N, int Packs>() {
      using Kernel = detail::LayerNormKernel<Exec, T, W, N, Packs>;
      constexpr int vector_length = Kernel::Row::vector_length;
      int const threads = kernels::team_size(exec, team_, vector_length);
      Chunks const chunks = split(rows_, threads, Tuning::most_teams(exec, threads));
      Kokkos::parallel_for(label_, typename Kernel::Policy(exec, chunks.count, threads, vector_length),
                           Kernel{of, chunks});
    });
  }

  std::string label_;
  std::size_t rows_;
  std::size_t cols_;
  Arithmetic<T> eps_;
  std::int64_t team_;
  double sum_steps_ = 0;
};

/// ln = layernorm(x), x and ln [rows, cols], gamma and beta [cols]. Convenience for a single call: enqueues and waits.
template <ExecutionSpace Exec, class X, class Gamma, class Beta, class Ln>
void layer_norm(Exec const& exec, X const& x, Gamma const& gamma, Beta const& beta, double eps, Ln const& ln) {
  LayerNorm<Exec, typename X::non_const_value_type>(exec, x.extent(0), x.extent(1), eps)(exec, x, gamma, beta, ln);
  exec.fence("tessera: layer_norm");
}

}  // namespace tessera::kernels
