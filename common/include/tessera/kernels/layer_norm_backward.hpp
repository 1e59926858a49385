#pragma once
/// \file
/// The gradients of a layer normalisation (layer_norm.hpp), ln = gamma * xhat + beta, given the gradient dln of ln:
///
///     dgamma[c] = sum_r dln[r, c] xhat[r, c],  dbeta[c] = sum_r dln[r, c],  and with g = dln * gamma
///     dx[r, c]  = inv_std_r (g[r, c] - mean_c(g) - xhat[r, c] mean_c(g * xhat))
///
/// One sweep over the rows makes dx and, if wanted, ln again. Several lanes share a row, as in layer_norm.hpp. A
/// thread's lanes go through rows of one chunk and keep the thread's column sums: in registers if a row fits, else in
/// the thread's own part of memory. A second step adds the threads' sums in their order, so every run gives the same
/// bits.
///
/// Traffic: x and dln read once if a row fits into registers (up to 1024 floats), else three times; dx written once.
///
/// Example: x = [1 3], gamma = [1 2], eps -> 0, dln = [1 1]: xhat = [-1 1], dgamma = [-1 1], dbeta = [1 1], dx = [0 0].
///
/// Use:  LayerNormBackward<Exec, float> backward(exec, rows, cols, eps);
///       backward(exec, x, gamma, dln, dx, dgamma, dbeta);

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/collective/thread/rows.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/chunks.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/kernels/detail/launch/views.hpp>
#include <tessera/kernels/layer_norm.hpp>
#include <tessera/kernels/sum_columns.hpp>

namespace tessera::kernels {

namespace detail {

/// The arrays of a launch. x, q, dx, ln [rows, cols]; gamma, beta, dgamma, dbeta [cols]; sums [threads, 2, cols] of
/// dgamma and dbeta. No two overlap.
template <class T>
struct RowArrays {
  T const* x;
  T const* q;  ///< gradient of ln
  T const* gamma;
  T const* beta;  ///< read only if ln is stored
  T* dx;
  T* ln;  ///< null: not stored
  T* sums;
  T* dgamma;  ///< null: the sums stay in `sums`; else they are added to dgamma and dbeta atomically
  T* dbeta;
};

/// W lanes share a row; each lane takes `Packs` packs of N elements at a time. If N > 1, cols must be a multiple of N,
/// and all arrays must be aligned for packs of N. A functor for teams of any number of threads with `vector_length`;
/// each thread has its own sums. Scratch, barriers: none.
template <class Exec, class T, int W, int N, int Packs>
class GradientRows {
 public:
  using Normal = LanesOfRow<Exec, T, W, N, Packs>;
  using Lanes = typename Normal::Lanes;
  using Held = typename Normal::Held;
  using HeldByLanes = typename Normal::HeldByLanes;
  using Pack = collective::Pack<T, N>;
  // Teams are small if a row takes many registers, so that each lane has enough registers.
  static constexpr int most_lanes = Packs * N * static_cast<int>(sizeof(T)) > 64 ? 128 : 256;
  using Policy = Kokkos::TeamPolicy<Exec, Kokkos::LaunchBounds<most_lanes, 2>>;
  using Member = typename Policy::member_type;
  static constexpr int vector_length = Normal::vector_length;
  static constexpr int part = Normal::part;

  RowArrays<T> of;
  std::size_t cols;
  T eps;
  Chunks chunks;  // chunks of rows, one per team

  [[nodiscard]] static int threads_of(Exec const& exec, std::int64_t team) {
    int const threads = team_size(exec, team, vector_length);
    return is_gpu<Exec> ? std::min(threads, most_lanes / vector_length) : threads;
  }
  /// Returns as many chunks as fill the machine, but at least 16 rows per thread, because a thread's sums cost as much
  /// as two rows.
  [[nodiscard]] static Chunks chunks_of(Exec const& exec, int threads, std::size_t rows) {
    std::size_t const most = std::max<std::size_t>(1, rows / (16 * static_cast<std::size_t>(threads)));
    return split(rows, static_cast<std::size_t>(threads),
                 std::min(most, teams_that_fill(exec, threads * vector_length)));
  }

  void enqueue(std::string const& label, Exec const& exec, int threads) const {
    Kokkos::parallel_for(label, Policy(exec, chunks.count, threads, vector_length), *this);
  }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Lanes const lanes;
    auto const thread = static_cast<std::size_t>(team.league_rank()) * team.team_size() + team.team_rank();
    T* const own_sums = of.sums + 2 * thread * cols;
    auto to_gamma = lanes.template fill<Held>(Held{});
    auto to_beta = lanes.template fill<Held>(Held{});
    if (cols > part) clear(lanes, own_sums);
    std::size_t const end = chunks.end(team.league_rank());
    for (std::size_t row = chunks.begin(team.league_rank()) + team.team_rank(); row < end; row += team.team_size()) {
      one_row(lanes, row, own_sums, to_gamma, to_beta);
    }
    finish(lanes, own_sums, to_gamma, to_beta);
  }

 private:
  KOKKOS_FUNCTION void one_row(Lanes const& lanes, std::size_t row, T* own_sums, HeldByLanes& to_gamma,
                               HeldByLanes& to_beta) const {
    T const* const x = of.x + row * cols;
    T const* const q = of.q + row * cols;
    auto x_held = lanes.template fill<Held>(Held{});
    auto q_held = lanes.template fill<Held>(Held{});
    if (cols <= part) Normal::load(lanes, q, static_cast<int>(cols), q_held);  // in flight during the statistics
    NormalisedRow<T> const normalised = Normal::statistics_of(lanes, x, cols, eps, x_held);
    auto sums = lanes.template fill<Pack>(Pack{});       // of g = q * gamma
    auto sums_of_x = lanes.template fill<Pack>(Pack{});  // of g * xhat
    auto const load = [&](std::size_t first, int count) {
      if (cols <= part) return;
      Normal::load(lanes, x + first, count, x_held);
      Normal::load(lanes, q + first, count, q_held);
    };
    each_pack(
        lanes, load,
        [&](int p, std::size_t col, Held const& own_x, Held const& own_q, Pack& sum, Pack& sum_of_x) {
          Pack const gamma = collective::pack_at<N>(of.gamma + col);
          for (int e = 0; e < N; ++e) {
            T const g = own_q.at[p][e] * gamma[e];
            sum[e] += g;
            sum_of_x[e] += g * normalised(own_x.at[p][e]);
          }
        },
        x_held, q_held, sums, sums_of_x);
    T const mean = Normal::total(lanes, sums) / static_cast<T>(cols);
    T const mean_of_x = Normal::total(lanes, sums_of_x) / static_cast<T>(cols);
    each_pack(
        lanes, load,
        [&](int p, std::size_t col, Held const& own_x, Held const& own_q, Held& gamma_sum, Held& beta_sum) {
          Pack const gamma = collective::pack_at<N>(of.gamma + col);
          Pack dx;
          Pack to_dgamma;
          for (int e = 0; e < N; ++e) {
            T const xhat = normalised(own_x.at[p][e]);
            to_dgamma[e] = own_q.at[p][e] * xhat;
            dx[e] = normalised.inv_std * ((own_q.at[p][e] * gamma[e] - mean) - xhat * mean_of_x);
          }
          collective::pack_at<N>(of.dx + row * cols + col) = dx;
          if (of.ln != nullptr) {
            Pack const beta = collective::pack_at<N>(of.beta + col);
            Pack ln;
            for (int e = 0; e < N; ++e) ln[e] = gamma[e] * normalised(own_x.at[p][e]) + beta[e];
            collective::pack_at<N>(of.ln + row * cols + col) = ln;
          }
          if (cols <= part) {
            for (int e = 0; e < N; ++e) {
              gamma_sum.at[p][e] += to_dgamma[e];
              beta_sum.at[p][e] += own_q.at[p][e];
            }
          } else {
            Pack& in_gamma = collective::pack_at<N>(own_sums + col);
            Pack& in_beta = collective::pack_at<N>(own_sums + cols + col);
            for (int e = 0; e < N; ++e) {
              in_gamma[e] += to_dgamma[e];
              in_beta[e] += own_q.at[p][e];
            }
          }
        },
        x_held, q_held, to_gamma, to_beta);
  }

  // A lane clears, adds to and reads the same elements, so no barrier is needed.
  KOKKOS_FUNCTION void clear(Lanes const& lanes, T* own_sums) const {
    auto const zeros = lanes.template fill<Held>(Held{});
    each_pack(
        lanes, [](std::size_t, int) {},
        [&](int p, std::size_t col, Held const& zero) {
          collective::pack_at<N>(own_sums + col) = zero.at[p];
          collective::pack_at<N>(own_sums + cols + col) = zero.at[p];
        },
        zeros);
  }

  KOKKOS_FUNCTION void finish(Lanes const& lanes, T* own_sums, HeldByLanes const& to_gamma,
                              HeldByLanes const& to_beta) const {
    bool const in_registers = cols <= part;
    if (!in_registers && of.dgamma == nullptr) return;
    each_pack(
        lanes, [](std::size_t, int) {},
        [&](int p, std::size_t col, Held const& gamma_sum, Held const& beta_sum) {
          Pack const gamma = in_registers ? gamma_sum.at[p] : collective::pack_at<N>(own_sums + col);
          Pack const beta = in_registers ? beta_sum.at[p] : collective::pack_at<N>(own_sums + cols + col);
          if (of.dgamma == nullptr) {
            collective::pack_at<N>(own_sums + col) = gamma;
            collective::pack_at<N>(own_sums + cols + col) = beta;
            return;
          }
          for (int e = 0; e < N; ++e) {
            Kokkos::atomic_add(of.dgamma + col + e, gamma[e]);
            Kokkos::atomic_add(of.dbeta + col + e, beta[e]);
          }
        },
        to_gamma, to_beta);
  }

  // Calls begin(first, count) for each part of a row, then body(p, col, own values) for each pack of each lane: its
  // number in the lane's part, and its first column.
  template <class Begin, class Body, class... Values>
  KOKKOS_FUNCTION void each_pack(Lanes const& lanes, Begin const& begin, Body const& body, Values&... values) const {
    for (std::size_t first = 0; first < cols; first += part) {
      int const count = thread::count_before(first, cols, part);
      begin(first, count);
      lanes.each(
          [&](int lane, auto&... own) {
            for (int p = 0; p < Packs; ++p) {
              int const i = thread::row_offset<W, N>(p, lane, 0);
              if (i < count) body(p, first + i, own...);
            }
          },
          values...);
    }
  }
};

/// The sweep over rows: chooses the lanes, and owns the memory for their column sums, which the caller adds.
template <ExecutionSpace Exec, class T>
class RowGradients {
 public:
  /// \param team threads per team; 0: choose. Throws Skip if the space cannot provide them.
  RowGradients(Exec const& exec, std::size_t rows, std::size_t cols, double eps, std::int64_t team,
               std::string const& label)
      : rows_(rows), cols_(cols), eps_(static_cast<T>(eps)), team_(team) {
    for (bool const aligned : {false, true}) {
      LayerNormTuning<Exec, T>::with_lanes(cols_, aligned, [&]<int W, int N, int Packs>() {
        using Kernel = GradientRows<Exec, T, W, N, Packs>;
        int const threads = Kernel::threads_of(exec, team_);
        Chunks const chunks = Kernel::chunks_of(exec, threads, rows_);
        threads_ = std::max(threads_, static_cast<std::size_t>(chunks.count) * static_cast<std::size_t>(threads));
        sum_steps_ = std::max(sum_steps_, Kernel::Normal::sum_steps(cols_));
        column_steps_ =
            std::max(column_steps_, static_cast<double>(tiles_of(chunks.size, static_cast<std::size_t>(threads))));
      });
    }
    sums_ =
        Kokkos::View<T*, typename Exec::memory_space>(Kokkos::view_alloc(exec, label + "::sums"), 2 * threads_ * cols_);
  }

  /// Enqueues the launch, with `arrays.sums` set to this object's memory. Launches nothing if rows have no elements.
  void operator()(std::string const& label, Exec const& exec, RowArrays<T> arrays) const {
    if (rows_ == 0) return;
    arrays.sums = sums_.data();
    bool const aligned = collective::is_aligned_for_packs<collective::pack_width<T>>(
        arrays.x, arrays.q, arrays.gamma, arrays.beta, arrays.dx, arrays.ln, arrays.sums);
    LayerNormTuning<Exec, T>::with_lanes(cols_, aligned, [&]<int W, int N, int Packs>() {
      using Kernel = GradientRows<Exec, T, W, N, Packs>;
      int const threads = Kernel::threads_of(exec, team_);
      Kernel const kernel{arrays, cols_, eps_, Kernel::chunks_of(exec, threads, rows_)};
      // An earlier call, of Views with another alignment, may have had more threads.
      std::size_t const made = 2 * cols_ * static_cast<std::size_t>(kernel.chunks.count * threads);
      if (arrays.dgamma == nullptr && made < sums_.extent(0)) {
        Kokkos::deep_copy(exec, Kokkos::subview(sums_, std::pair(made, sums_.size())), T(0));
      }
      kernel.enqueue(label, exec, threads);
    });
  }

  /// Returns the column sums of a launch: [sum_rows(), 2, cols]. Sums that no thread makes are zeros.
  [[nodiscard]] T const* sums() const { return sums_.data(); }
  [[nodiscard]] std::size_t sum_rows() const { return threads_; }

  /// Return the longest chains of roundings: to an xhat, in a sum over a row, in a thread's sum of a column.
  [[nodiscard]] double row_steps() const { return sum_steps_ + 8; }
  [[nodiscard]] double mean_steps() const { return sum_steps_; }
  [[nodiscard]] double column_steps() const { return column_steps_; }

 private:
  std::size_t rows_;
  std::size_t cols_;
  T eps_;
  std::int64_t team_;
  std::size_t threads_ = 0;
  double sum_steps_ = 0;
  double column_steps_ = 0;
  Kokkos::View<T*, typename Exec::memory_space> sums_;
};

}  // namespace detail

/// dx, dgamma and dbeta of a layer normalisation of the rows of x.
///
/// Construct it once: chooses the lanes, and allocates the threads' column sums. A call only enqueues. Calls of one
/// object share the sums and must not run concurrently.
template <ExecutionSpace Exec, class T>
class LayerNormBackward {
 public:
  /// \param eps added to the variances; must be positive
  /// \param team threads per team; 0: choose. Throws Skip if the space cannot provide them.
  /// \param label kernel name that Kokkos Tools reports
  LayerNormBackward(Exec const& exec, std::size_t rows, std::size_t cols, double eps, std::int64_t team = 0,
                    std::string const& label = "tessera::layer_norm_backward")
      : label_(label + "::rows"),
        rows_(rows),
        cols_(cols),
        sweep_(exec, rows, cols, eps, team, label),
        add_(exec, sweep_.sum_rows(), 2 * cols, team, label + "::sums"),
        both_(unset(label + "::both"), 2 * cols) {}

  /// Enqueues. `x`, `dln`, `dx` [rows, cols] must be contiguous and row-major; `gamma`, `dgamma`, `dbeta` [cols]
  /// contiguous. Results must not overlap each other or the inputs. Without rows, dgamma and dbeta become zeros.
  /// Throws std::invalid_argument for other extents or strides.
  template <Readable<Exec, T, 2> X, Readable<Exec, T, 1> Gamma, Readable<Exec, T, 2> Dln, Writable<Exec, T, 2> Dx,
            Writable<Exec, T, 1> Dgamma, Writable<Exec, T, 1> Dbeta>
  void operator()(Exec const& exec, X const& x, Gamma const& gamma, Dln const& dln, Dx const& dx, Dgamma const& dgamma,
                  Dbeta const& dbeta) const {
    require_apart(dx, x, gamma, dln);
    require_apart(dgamma, x, gamma, dln, dx);
    require_apart(dbeta, x, gamma, dln, dx, dgamma);
    (void)contiguous(dgamma, cols_);
    (void)contiguous(dbeta, cols_);
    sweep_(label_, exec,
           {row_major(x, rows_, cols_), row_major(dln, rows_, cols_), contiguous(gamma, cols_), nullptr,
            row_major(dx, rows_, cols_), nullptr, nullptr, nullptr, nullptr});
    if (rows_ == 0) {
      Kokkos::deep_copy(exec, dgamma, T(0));
      return Kokkos::deep_copy(exec, dbeta, T(0));
    }
    using Sums = Kokkos::View<T const**, Kokkos::LayoutRight, typename Exec::memory_space>;
    add_(exec, Sums(sweep_.sums(), sweep_.sum_rows(), 2 * cols_), both_);
    Kokkos::deep_copy(exec, dgamma, Kokkos::subview(both_, std::pair(std::size_t{0}, cols_)));
    Kokkos::deep_copy(exec, dbeta, Kokkos::subview(both_, std::pair(cols_, 2 * cols_)));
  }

  /// Returns the roundings on the longest path of a sum over a row or over the rows, and of the result made from it.
  [[nodiscard]] double rounding_steps() const {
    return std::max(sweep_.row_steps() + 10, sweep_.column_steps() + 1 + add_.rounding_steps());
  }

 private:
  std::string label_;
  std::size_t rows_;
  std::size_t cols_;
  detail::RowGradients<Exec, T> sweep_;
  SumColumns<Exec, T> add_;
  Kokkos::View<T*, typename Exec::memory_space> both_;  // dgamma and dbeta
};

}  // namespace tessera::kernels
