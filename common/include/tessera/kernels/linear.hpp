#pragma once
/// \file
/// A linear layer, c = b w^T + bias for each row of b, and its gradients for a given gradient of c:
///
///     db = dc w     dw = dc^T b     dbias = the column sums of dc
///
/// The kernel of gemm.hpp computes the products; sums over rows add in a fixed order.
///
/// Example: b = [1 2], w = [0 1; 2 3], bias = [10 20] -> c = [12 28].
///
/// Use:  Linear<Exec, float> layer(exec, rows, outputs, inputs);  layer(exec, b, w, bias, c);
///       LinearBackward<Exec, float> backward(exec, rows, outputs, inputs);
///       backward.rows(exec, dc, w, db);  backward.weights(exec, dc, b, dw, dbias);

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include <tessera/core/spaces.hpp>
#include <tessera/kernels/detail/launch/views.hpp>
#include <tessera/kernels/gemm.hpp>
#include <tessera/kernels/product_form.hpp>
#include <tessera/kernels/sum_columns.hpp>

namespace tessera::kernels {

/// c = b w^T + bias, with `inputs` columns of b and `outputs` columns of c, in one launch. Construct it once. A call
/// only enqueues; calls may run concurrently.
template <ExecutionSpace Exec, class T>
class Linear {
 public:
  /// \param team threads per team on a host; 0: choose
  /// \param label kernel name that Kokkos Tools reports
  Linear(Exec const& exec, std::size_t rows, std::size_t outputs, std::size_t inputs, std::int64_t team = 0,
         std::string const& label = "tessera::linear")
      : product_(exec, rows, outputs, inputs, Product::team_if_open(team), label), outputs_(outputs) {}

  /// Enqueues. `b` [rows, inputs], `w` [outputs, inputs], `c` [rows, outputs]: row-major; `bias` [outputs]. `c` must
  /// not overlap the others. Throws std::invalid_argument for other extents or strides.
  template <Readable<Exec, T, 2> B, Readable<Exec, T, 2> W, Readable<Exec, T, 1> Bias, Writable<Exec, T, 2> C>
  void operator()(Exec const& exec, B const& b, W const& w, Bias const& bias, C const& c) const {
    product_(exec, b, w, c, {.load = {}, .store = sum_and_bias(exec, bias, outputs_)});
  }

  /// Returns the longest chain of roundings of an element of c.
  [[nodiscard]] double rounding_steps() const { return product_.rounding_steps() + 1; }

 private:
  using Product = Gemm<Exec, T, ProductForm<false, true, AsStored, SumAndBias<T>>>;

  Product product_;
  std::size_t outputs_;
};

/// The gradients of a linear layer. Construct it once: it allocates the memory of its sums over rows. A call only
/// enqueues; calls of weights() on one object must not run concurrently.
template <ExecutionSpace Exec, class T>
class LinearBackward {
 public:
  /// \param team threads per team on a host; 0: choose
  /// \param label kernel name that Kokkos Tools reports
  LinearBackward(Exec const& exec, std::size_t rows, std::size_t outputs, std::size_t inputs, std::int64_t team = 0,
                 std::string const& label = "tessera::linear_backward")
      : rows_(exec, rows, inputs, outputs, Rows::team_if_open(team), label + "_rows"),
        weights_(exec, outputs, inputs, rows, Weights::team_if_open(team), label + "_weights", SplitK::where_it_helps),
        bias_(exec, rows, outputs, team, label + "_bias") {}

  /// Enqueues db = dc w. `dc` [rows, outputs], `w` [outputs, inputs], `db` [rows, inputs]; `db` must not overlap the
  /// others. Throws std::invalid_argument for other extents or strides.
  template <Readable<Exec, T, 2> Dc, Readable<Exec, T, 2> W, Writable<Exec, T, 2> Db>
  void rows(Exec const& exec, Dc const& dc, W const& w, Db const& db) const {
    rows_(exec, dc, w, db);
  }
  /// Enqueues dw = dc^T b and dbias = the column sums of dc. `b` [rows, inputs], `dw` [outputs, inputs], `dbias`
  /// [outputs]; results must not overlap the others. Throws std::invalid_argument for other extents or strides.
  template <Readable<Exec, T, 2> Dc, Readable<Exec, T, 2> B, Writable<Exec, T, 2> Dw, Writable<Exec, T, 1> Dbias>
  void weights(Exec const& exec, Dc const& dc, B const& b, Dw const& dw, Dbias const& dbias) const {
    weights_(exec, dc, b, dw);
    bias_(exec, dc, dbias);
  }

  /// Returns the longest chain of roundings of an element of a gradient.
  [[nodiscard]] double rounding_steps() const {
    return std::max({rows_.rounding_steps(), weights_.rounding_steps(), bias_.rounding_steps()});
  }

 private:
  using Rows = Gemm<Exec, T>;
  using Weights = Gemm<Exec, T, TransposedA>;

  Rows rows_;
  Weights weights_;
  SumColumns<Exec, T> bias_;
};

}  // namespace tessera::kernels
