#pragma once
/// \file
/// The part of the backward step that works on rows, in one sweep: the statistics of a row of x, dx, ln, and the row's
/// contribution to dgamma and dbeta.
///
/// Several lanes share a row, as in kernels/layer_norm.hpp. A thread's lanes go through rows of one chunk and keep the
/// thread's column sums: in registers if a row fits, else in the thread's own part of memory.

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "problem.hpp"

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/collective/thread/rows.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/chunks.hpp>
#include <tessera/kernels/gemm.hpp>
#include <tessera/kernels/layer_norm.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::layernorm_linear_backward {

/// The arrays of a launch. x, q, dx, ln [rows, cols]; gamma, beta, dgamma, dbeta [cols]; sums [threads, 2, cols] of
/// dgamma and dbeta. No two overlap.
template <class T>
struct RowArrays {
  T const* x;
  T const* q;  ///< gradient of ln
  T const* gamma;
  T const* beta;
  T* dx;
  T* ln;
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
  using Normal = kernels::LanesOfRow<Exec, T, W, N, Packs>;
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
  kernels::Chunks chunks;  // chunks of rows, one per team

  [[nodiscard]] static int threads_of(Exec const& exec, std::int64_t team) {
    int const threads = kernels::team_size(exec, team, vector_length);
    return is_gpu<Exec> ? std::min(threads, most_lanes / vector_length) : threads;
  }
  /// Returns as many chunks as fill the machine, but at least 16 rows per thread, because a thread's sums cost as much
  /// as two rows.
  [[nodiscard]] static kernels::Chunks chunks_of(Exec const& exec, int threads, std::size_t rows) {
    std::size_t const most = std::max<std::size_t>(1, rows / (16 * static_cast<std::size_t>(threads)));
    return kernels::split(rows, static_cast<std::size_t>(threads),
                          std::min(most, kernels::teams_that_fill(exec, threads * vector_length)));
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
    kernels::NormalisedRow<T> const normalised = Normal::statistics_of(lanes, x, cols, eps, x_held);
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
          Pack const beta = collective::pack_at<N>(of.beta + col);
          Pack dx;
          Pack ln;
          Pack to_dgamma;
          for (int e = 0; e < N; ++e) {
            T const xhat = normalised(own_x.at[p][e]);
            to_dgamma[e] = own_q.at[p][e] * xhat;
            dx[e] = normalised.inv_std * ((own_q.at[p][e] * gamma[e] - mean) - xhat * mean_of_x);
            ln[e] = gamma[e] * xhat + beta[e];
          }
          collective::pack_at<N>(of.dx + row * cols + col) = dx;
          collective::pack_at<N>(of.ln + row * cols + col) = ln;
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

/// Chooses the lanes, and owns the memory for their sums.
template <class Exec, class T>
class RowGradients {
 public:
  RowGradients(Exec const& exec, InputOn<LayernormLinearBackward, Exec, T> const& input)
      : rows_(input.rows()),
        cols_(input.hidden()),
        eps_(static_cast<T>(input.parameters.eps)),
        team_(input.parameters.team) {
    for (bool const aligned : {false, true}) {
      kernels::LayerNormTuning<Exec, T>::with_lanes(cols_, aligned, [&]<int W, int N, int Packs>() {
        using Kernel = GradientRows<Exec, T, W, N, Packs>;
        int const threads = Kernel::threads_of(exec, team_);
        kernels::Chunks const chunks = Kernel::chunks_of(exec, threads, rows_);
        threads_ = std::max(threads_, static_cast<std::size_t>(chunks.count) * static_cast<std::size_t>(threads));
        sum_steps_ = std::max(sum_steps_, Kernel::Normal::sum_steps(cols_));
        column_steps_ =
            std::max(column_steps_, static_cast<double>(tiles_of(chunks.size, static_cast<std::size_t>(threads))));
      });
    }
    sums_ = Kokkos::View<T*, typename Exec::memory_space>(
        Kokkos::view_alloc(exec, "tessera::layernorm_linear_backward::sums"), 2 * threads_ * cols_);
  }

  /// Enqueues the launch, with `arrays.sums` set to this object's memory. Launches nothing if rows have no elements.
  void operator()(std::string const& label, Exec const& exec, RowArrays<T> arrays) const {
    if (rows_ == 0) return;
    arrays.sums = sums_.data();
    bool const aligned = collective::is_aligned_for_packs<collective::pack_width<T>>(
        arrays.x, arrays.q, arrays.gamma, arrays.beta, arrays.dx, arrays.ln, arrays.sums);
    kernels::LayerNormTuning<Exec, T>::with_lanes(cols_, aligned, [&]<int W, int N, int Packs>() {
      using Kernel = GradientRows<Exec, T, W, N, Packs>;
      int const threads = Kernel::threads_of(exec, team_);
      Kernel const kernel{arrays, cols_, eps_, Kernel::chunks_of(exec, threads, rows_)};
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

/// Both products, q = G w and dw = G^T ln, by multiply-adds.
template <class Exec, class T>
struct Products {
  /// \param label name of the variant; the products are named label::q and label::dw
  Products(Exec const& exec, InputOn<LayernormLinearBackward, Exec, T> const& input, std::string const& label)
      : q(exec, input.rows(), input.hidden(), input.outputs(),
          kernels::Gemm<Exec, T>::team_if_open(input.parameters.team), label + "::q"),
        dw(exec, input.outputs(), input.hidden(), input.rows(),
           kernels::Gemm<Exec, T>::team_if_open(input.parameters.team), label + "::dw",
           kernels::SplitK::where_it_helps) {}

  kernels::Gemm<Exec, T> q;
  kernels::Gemm<Exec, T, kernels::TransposedA> dw;
};

/// The two products with the sweep between them, and the matrices q and ln.
/// \tparam P Products, or a type with the same members
template <class Exec, class T, class P = Products<Exec, T>>
struct ProductsAndRows {
  using Matrix = Array<T**, typename Exec::memory_space>;

  /// \param label name of the variant
  ProductsAndRows(Exec const& exec, InputOn<LayernormLinearBackward, Exec, T> const& input, std::string const& label)
      : rows(exec, input),
        products(exec, input, label),
        q(unset(label + "::q"), input.rows(), input.hidden()),
        ln(unset(label + "::ln"), input.rows(), input.hidden()) {}

  RowGradients<Exec, T> rows;
  P products;
  Matrix q;
  Matrix ln;
};

}  // namespace tessera::layernorm_linear_backward
