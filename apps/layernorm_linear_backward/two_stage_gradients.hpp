#pragma once
/// \file
/// The gradients without atomics, in few sweeps; every run gives the same bits:
///   1. q = G w.
///   2. One sweep over x and q makes dx, ln and the column sums of each chunk of rows, which are added in their order.
///   3. dw = G^T ln, whose k is split over teams if dw is small.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "column_sums.hpp"
#include "gradient_rows.hpp"

#include <tessera/core/tiles.hpp>

namespace tessera::layernorm_linear_backward {

/// A sink that stores the sums of the columns [dgamma, dbeta, dbias] in the three arrays.
template <class T>
struct ThreeGradients {
  T* dgamma;
  T* dbeta;
  T* dbias;
  std::size_t hidden;

  KOKKOS_FUNCTION void operator()(int, std::size_t col, T sum) const {
    if (col < hidden) {
      dgamma[col] = sum;
    } else if (col < 2 * hidden) {
      dbeta[col - hidden] = sum;
    } else {
      dbias[col - 2 * hidden] = sum;
    }
  }
};

/// Constructed once: allocates q, ln and the chunks' sums. Calls only enqueue. Calls of one object must not run at the
/// same time.
/// \tparam P the products (gradient_rows.hpp)
template <ExecutionSpace Exec, class T, class P = Products<Exec, T>>
class TwoStageGradients {
 public:
  /// \param label name of the variant; the launches are named label::q, label::rows, and so on
  TwoStageGradients(Exec const& exec, InputOn<LayernormLinearBackward, Exec, T> const& input, std::string const& label)
      : label_(label),
        work_(exec, input, label),
        chunks_(chunks_of(exec, input)),
        parts_(unset(label + "::parts"), static_cast<std::size_t>(chunks_) * (2 * input.hidden() + input.outputs())) {
    using Columns = ColumnSums<Exec, T, PartialSums<T>>;
    int const threads = Columns::threads_of(exec, input.parameters.team);
    PartialSums<T> const nowhere{nullptr, 0};
    auto const steps = [&](std::size_t rows, int chunks) {
      return Columns(nullptr, rows, 1, chunks, nowhere).rounding_steps(threads);
    };
    double const last = steps(static_cast<std::size_t>(chunks_), 1);
    steps_ = {.row = work_.rows.row_steps(),
              .q = work_.products.q.rounding_steps(),
              .means = work_.rows.mean_steps(),
              .columns = work_.rows.column_steps() + steps(work_.rows.sum_rows(), chunks_) + last,
              .dw = work_.products.dw.rounding_steps(),
              .dbias = steps(input.rows(), chunks_) + last};
  }

  /// Enqueues all gradients.
  void operator()(Exec const& exec, InputOn<LayernormLinearBackward, Exec, T> const& input,
                  OutputOn<LayernormLinearBackward, Exec, T> const& output) const {
    rows_and_columns(exec, input, output);
    weights(exec, input, output);
  }

  /// Enqueues dx, dgamma, dbeta and dbias.
  void rows_and_columns(Exec const& exec, InputOn<LayernormLinearBackward, Exec, T> const& input,
                        OutputOn<LayernormLinearBackward, Exec, T> const& output) const {
    std::size_t const hidden = input.hidden();
    std::size_t const cols = 2 * hidden + input.outputs();
    std::int64_t const team = input.parameters.team;
    work_.products.q(exec, input.grad_y, input.w, work_.q);
    work_.rows(label_ + "::rows", exec,
               {input.x.data(), work_.q.data(), input.gamma.data(), input.beta.data(), output.dx.data(),
                work_.ln.data(), nullptr, nullptr, nullptr});
    ColumnSums<Exec, T, PartialSums<T>>(work_.rows.sums(), work_.rows.sum_rows(), 2 * hidden, chunks_,
                                        {parts_.data(), cols})
        .enqueue(label_ + "::columns", exec, team);
    ColumnSums<Exec, T, PartialSums<T>>(input.grad_y.data(), input.rows(), input.outputs(), chunks_,
                                        {parts_.data(), cols, 2 * hidden})
        .enqueue(label_ + "::bias", exec, team);
    ColumnSums<Exec, T, ThreeGradients<T>>(parts_.data(), static_cast<std::size_t>(chunks_), cols, 1,
                                           {output.dgamma.data(), output.dbeta.data(), output.dbias.data(), hidden})
        .enqueue(label_ + "::total", exec, team);
  }

  /// Enqueues dw. Must be called after rows_and_columns().
  void weights(Exec const& exec, InputOn<LayernormLinearBackward, Exec, T> const& input,
               OutputOn<LayernormLinearBackward, Exec, T> const& output) const {
    work_.products.dw(exec, input.grad_y, work_.ln, output.dw);
  }

  [[nodiscard]] P const& products() const { return work_.products; }
  /// Returns the longest chain of roundings in each part.
  [[nodiscard]] LayernormLinearBackward::Steps steps() const { return steps_; }
  [[nodiscard]] double rounding_steps() const { return LayernormLinearBackward::chain(steps_); }
  [[nodiscard]] std::string note() const
    requires requires(P const& products) { products.dw.parts(); }
  {
    return work_.products.dw.parts() > 1 ? "dw in " + std::to_string(work_.products.dw.parts()) + " parts of the rows"
                                         : "";
  }

 private:
  // Returns as many chunks, of at least 32 rows, as fill the machine together with the columns.
  [[nodiscard]] static int chunks_of(Exec const& exec, InputOn<LayernormLinearBackward, Exec, T> const& input) {
    using Columns = ColumnSums<Exec, T, PartialSums<T>>;
    std::size_t const across = std::max<std::size_t>(1, tiles_of(input.outputs(), Columns::width));
    std::size_t const teams = kernels::teams_that_fill(exec, is_gpu<Exec> ? 256 : 1);
    std::size_t const most = std::min<std::size_t>(256, input.rows() / 32);
    return static_cast<int>(std::clamp<std::size_t>(teams / across, 1, std::max<std::size_t>(1, most)));
  }

  std::string label_;
  ProductsAndRows<Exec, T, P> work_;
  int chunks_;
  Kokkos::View<T*, typename Exec::memory_space> parts_;
  LayernormLinearBackward::Steps steps_;
};

}  // namespace tessera::layernorm_linear_backward
