#pragma once
/// \file
/// Layer normalisation of the rows of a matrix, by a few lanes each, in one launch: ln = gamma * xhat + beta with
/// xhat = (x - mean) / sqrt(variance + eps) and the biased variance.
///
/// Everything is done to the row's distances from its first element: where a mean is large and the variance small these
/// are exact, and a mean of them is small; a mean of x itself would be rounded by more than the row varies. The
/// variance is a second sweep's, never E[x^2] - E[x]^2. A row that fits into its lanes' registers is read from memory
/// once, a longer one three times. Source: T. F. Chan, G. H. Golub, R. J. LeVeque, Algorithms for computing the sample
/// variance (1983), 2.
///
/// Example: x = [1 3], gamma = [1 2], beta = [0 5], eps -> 0: mean 2, inv_std 1, ln = [-1 7].
///
/// Use:  layer_norm(exec, x, gamma, beta, eps, ln);
/// or, enqueued many times:  LayerNorm<Exec, float> norm(exec, rows, cols, eps);  norm(exec, x, gamma, beta, ln);
/// The statistics alone:  norm.statistics(exec, x, mean, inv_std);

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/operators.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/collective/thread/reduce.hpp>
#include <tessera/collective/thread/rows.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/kernels/chunks.hpp>
#include <tessera/kernels/team_shape.hpp>
#include <tessera/kernels/views.hpp>

namespace tessera::kernels {

/// Which lanes share a row, and how many teams there are. Of a host:
template <ExecutionSpace Exec, class T>
struct LayerNormTuning {
  /// Calls body.operator()<W, N, Packs>(): W lanes for rows of this length, each of which holds `Packs` packs of N.
  ///
  /// \param aligned whether memory can be accessed by packs of 16 bytes, if rows are whole ones
  template <class Body>
  static void with_lanes(std::size_t cols, bool /*aligned*/, Body const& body) {
    // Lanes are vector registers; the first cache holds the row for the second sweep.
    if (cols < 16) return body.template operator()<8, 1, 1>();
    body.template operator()<32, 1, 1>();
  }
  /// A chunk of rows for each thread.
  [[nodiscard]] static std::size_t most_teams(Exec const& exec, int threads) { return teams_that_fill(exec, threads); }
};

/// Of a GPU.
template <ExecutionSpace Exec, class T>
  requires is_gpu<Exec>
struct LayerNormTuning<Exec, T> {
  template <class Body>
  static void with_lanes(std::size_t cols, bool aligned, Body const& body) {
    // As few lanes as hold a row at once, up to 32 registers in each.
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
  /// A team for each few rows.
  [[nodiscard]] static std::size_t most_teams(Exec const&, int) { return std::size_t{1} << 30; }
};

/// A row's statistics: its first element, the mean of the distances from it, 1 / sqrt(variance + eps).
template <class T>
struct NormalisedRow {
  T shift = 0;
  T mean = 0;
  T inv_std = 0;

  /// xhat. The order of the subtractions is the point: the first is exact where x is near its row's first element.
  [[nodiscard]] KOKKOS_FUNCTION T operator()(T x) const { return ((x - shift) - mean) * inv_std; }
};

/// Statistics of all rows in memory: mean [rows] and inv_std [rows]; the shift is x's.
template <class T>
struct RowStatistics {
  T* mean = nullptr;
  T* inv_std = nullptr;

  /// \param x [rows, cols]
  [[nodiscard]] KOKKOS_FUNCTION NormalisedRow<T> row(T const* x, std::size_t cols, std::size_t r) const {
    return {x[r * cols], mean[r], inv_std[r]};
  }
};

/// What a product may do with the rows of x as it loads them (see product_form.hpp): ln is never
/// stored.
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
    return collective::is_aligned_for_packs<W>(gamma) && collective::is_aligned_for_packs<W>(beta);
  }
};

/// W lanes that share a row, each of which holds `Packs` packs of N at a time. With N > 1 it divides cols, and rows are
/// aligned for packs of N. Who calls: all lanes. Scratch, barriers: none.
template <class Exec, class T, int W, int N, int Packs>
class LanesOfRow {
 public:
  using Lanes = lane::On<Exec, W>;
  using Held = thread::Rows<T, Packs, N>;
  using HeldByLanes = typename Lanes::template Value<Held>;
  static constexpr int vector_length = lane::vector_length<Exec>(W);
  static constexpr int part = W * N * Packs;  // of a row, that the lanes hold at once

  /// Of the sum of a row: a lane's packs, the elements of a pack, the lanes.
  [[nodiscard]] static double sum_steps(std::size_t cols) {
    return std::ceil(static_cast<double>(cols) / (W * N)) + N - 1 + std::log2(W);
  }

  /// The statistics of a row of x. `held` is the row's last part afterwards: the whole row, if it has one part.
  [[nodiscard]] KOKKOS_FUNCTION static NormalisedRow<T> statistics_of(Lanes const& lanes, T const* row,
                                                                      std::size_t cols, T eps, HeldByLanes& held) {
    NormalisedRow<T> result{.shift = row[0]};
    auto sums = lanes.template fill<collective::Pack<T, N>>(collective::Pack<T, N>{});
    for (std::size_t first = 0; first < cols; first += part) {
      int const count = thread::count_before(first, cols, part);
      load(lanes, row + first, count, held);
      add_each(lanes, count, held, sums, [=](T value) { return value - result.shift; });
    }
    result.mean = total(lanes, sums) / static_cast<T>(cols);
    sums = lanes.template fill<collective::Pack<T, N>>(collective::Pack<T, N>{});
    for (std::size_t first = 0; first < cols; first += part) {
      int const count = thread::count_before(first, cols, part);
      if (cols > part) load(lanes, row + first, count, held);
      add_each(lanes, count, held, sums, [=](T value) {
        T const distance = (value - result.shift) - result.mean;
        return distance * distance;
      });
    }
    result.inv_std = T(1) / Kokkos::sqrt(total(lanes, sums) / static_cast<T>(cols) + eps);
    return result;
  }

  /// The first `count` elements of a part; what lies past them becomes zero.
  KOKKOS_FUNCTION static void load(Lanes const& lanes, T const* from, int count, HeldByLanes& held) {
    lanes.each(
        [&](int lane, Held& own) {
          for (int p = 0; p < Packs; ++p) {
            int const i = thread::row_offset<W, N>(p, lane, 0);
            own.at[p] = i < count ? collective::pack_at<N>(from + i) : collective::Pack<T, N>{};
          }
        },
        held);
  }

  /// The sum of all lanes' packs, for all lanes.
  [[nodiscard]] KOKKOS_FUNCTION static T total(Lanes const& lanes,
                                               typename Lanes::template Value<collective::Pack<T, N>> const& sums) {
    auto of_lane = lanes.template fill<T>(T(0));
    lanes.each(
        [&](int, T& sum, collective::Pack<T, N> const& own) {
          sum = own[0];
          for (int e = 1; e < N; ++e) sum += own[e];
        },
        of_lane, sums);
    return thread::reduce<T>(lanes, of_lane, collective::Sum<T>{});
  }

 private:
  template <class Sums, class Term>
  KOKKOS_FUNCTION static void add_each(Lanes const& lanes, int count, HeldByLanes const& held, Sums& sums,
                                       Term const& term) {
    lanes.each(
        [&](int lane, Held const& own, collective::Pack<T, N>& sum) {
          for (int p = 0; p < Packs; ++p) {
            if (thread::row_offset<W, N>(p, lane, 0) >= count) continue;
            for (int e = 0; e < N; ++e) sum[e] += term(own.at[p][e]);
          }
        },
        held, sums);
  }
};

namespace detail {

/// A team of any number of threads with `vector_length`, each of which has every t-th row of the team's chunk.
template <class Exec, class T, int W, int N, int Packs>
struct LayerNormKernel {
  using Policy = Kokkos::TeamPolicy<Exec>;
  using Member = typename Policy::member_type;
  using Row = LanesOfRow<Exec, T, W, N, Packs>;
  using Lanes = typename Row::Lanes;
  using Held = typename Row::Held;

  T const* x;
  std::size_t cols;
  T eps;
  RowStatistics<T> statistics;  // null: not stored
  T const* gamma;
  T const* beta;
  T* ln;  // null: not stored
  Chunks chunks;

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Lanes const lanes;
    std::size_t const end = chunks.end(team.league_rank());
    for (std::size_t row = chunks.begin(team.league_rank()) + team.team_rank(); row < end; row += team.team_size()) {
      auto held = lanes.template fill<Held>(Held{});
      NormalisedRow<T> const normalised = Row::statistics_of(lanes, x + row * cols, cols, eps, held);
      if (statistics.mean != nullptr) {
        lanes.each(
            [&](int lane, Held const&) {
              if (lane > 0) return;
              statistics.mean[row] = normalised.mean;
              statistics.inv_std[row] = normalised.inv_std;
            },
            held);
      }
      if (ln != nullptr) store(lanes, row, normalised, held);
    }
  }

  KOKKOS_FUNCTION void store(Lanes const& lanes, std::size_t row, NormalisedRow<T> const& normalised,
                             typename Row::HeldByLanes& held) const {
    for (std::size_t first = 0; first < cols; first += Row::part) {
      int const count = thread::count_before(first, cols, Row::part);
      if (cols > Row::part) Row::load(lanes, x + row * cols + first, count, held);
      T* const to = ln + row * cols + first;
      lanes.each(
          [&](int lane, Held const& own) {
            for (int p = 0; p < Packs; ++p) {
              int const i = thread::row_offset<W, N>(p, lane, 0);
              if (i >= count) continue;
              auto const scale = collective::pack_at<N>(gamma + first + i);
              auto const offset = collective::pack_at<N>(beta + first + i);
              collective::Pack<T, N> values;
              for (int e = 0; e < N; ++e) values[e] = scale[e] * normalised(own.at[p][e]) + offset[e];
              collective::pack_at<N>(to + i) = values;
            }
          },
          held);
    }
  }
};

}  // namespace detail

/// Layer normalisation of x [rows, cols], cols >= 1.
///
/// Constructed once: chooses lanes and teams, allocates nothing. Calls only enqueue, one launch each (none without rows),
/// and may run at the same time. The bits of the result depend on the extents, the alignment of the memory and the kind
/// of machine only.
template <ExecutionSpace Exec, class T, class Tuning = LayerNormTuning<Exec, T>>
class LayerNorm {
 public:
  /// \param eps added to each row's variance
  /// \param team threads of a team; 0: choose. Throws Skip if the space cannot give so many.
  /// \param label what Kokkos' tools call it
  /// Throws std::invalid_argument if cols is 0: a row without elements has no mean.
  LayerNorm(Exec const& exec, std::size_t rows, std::size_t cols, double eps, std::int64_t team = 0,
            std::string label = "tessera::layer_norm")
      : label_(std::move(label)), rows_(rows), cols_(cols), eps_(static_cast<T>(eps)), team_(team) {
    if (cols == 0) throw std::invalid_argument("rows of no elements (they have no mean)");
    for (bool const aligned : {false, true}) {
      Tuning::with_lanes(cols, aligned, [&]<int W, int N, int Packs>() {
        using Row = LanesOfRow<Exec, T, W, N, Packs>;
        (void)kernels::team_size(exec, team, Row::vector_length);
        sum_steps_ = std::max(sum_steps_, Row::sum_steps(cols));
      });
    }
  }

  /// Enqueues ln = layernorm(x). x and ln [rows, cols], matrices by rows, which may be the same; gamma and beta [cols].
  /// Throws std::invalid_argument if an extent or a stride is another.
  template <Readable<Exec, T, 2> X, Readable<Exec, T, 1> Gamma, Readable<Exec, T, 1> Beta, Writable<Exec, T, 2> Ln>
  void operator()(Exec const& exec, X const& x, Gamma const& gamma, Beta const& beta, Ln const& ln) const {
    enqueue(exec, row_major(x, rows_, cols_), contiguous(gamma, cols_), contiguous(beta, cols_), {},
            row_major(ln, rows_, cols_));
  }

  /// Enqueues the statistics of the rows of x, to mean [rows], of the distances from a row's first element, and inv_std
  /// [rows].
  template <Readable<Exec, T, 2> X, Writable<Exec, T, 1> Mean, Writable<Exec, T, 1> InvStd>
  void statistics(Exec const& exec, X const& x, Mean const& mean, InvStd const& inv_std) const {
    enqueue(exec, row_major(x, rows_, cols_), nullptr, nullptr, {contiguous(mean, rows_), contiguous(inv_std, rows_)},
            nullptr);
  }

  /// What a product does to the rows of x, with those statistics, so that ln is never stored.
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

  /// Longest chain of roundings for an xhat or an ln: see verify/normalised_rows.hpp for what is counted.
  [[nodiscard]] double rounding_steps() const { return sum_steps_ + 8; }

 private:
  void enqueue(Exec const& exec, T const* x, T const* gamma, T const* beta, RowStatistics<T> const& statistics,
               T* ln) const {
    if (rows_ == 0) return;
    constexpr int pack = collective::pack_width<T>;
    bool const aligned = collective::is_aligned_for_packs<pack>(x) && collective::is_aligned_for_packs<pack>(gamma) &&
                         collective::is_aligned_for_packs<pack>(beta) && collective::is_aligned_for_packs<pack>(ln);
    Tuning::with_lanes(cols_, aligned, [&]<int W, int N, int Packs>() {
      using Kernel = detail::LayerNormKernel<Exec, T, W, N, Packs>;
      constexpr int vector_length = Kernel::Row::vector_length;
      int const threads = kernels::team_size(exec, team_, vector_length);
      Chunks const chunks = split(rows_, static_cast<std::size_t>(threads), Tuning::most_teams(exec, threads));
      Kokkos::parallel_for(label_, typename Kernel::Policy(exec, chunks.count, threads, vector_length),
                           Kernel{x, cols_, eps_, statistics, gamma, beta, ln, chunks});
    });
  }

  std::string label_;
  std::size_t rows_;
  std::size_t cols_;
  T eps_;
  std::int64_t team_;
  double sum_steps_ = 0;
};

/// ln = layernorm(x), x and ln [rows, cols], gamma and beta [cols]. For a single use: it enqueues and waits.
template <ExecutionSpace Exec, class X, class Gamma, class Beta, class Ln>
void layer_norm(Exec const& exec, X const& x, Gamma const& gamma, Beta const& beta, double eps, Ln const& ln) {
  LayerNorm<Exec, typename X::non_const_value_type>(exec, x.extent(0), x.extent(1), eps)(exec, x, gamma, beta, ln);
  exec.fence("tessera: layer_norm");
}

}  // namespace tessera::kernels
