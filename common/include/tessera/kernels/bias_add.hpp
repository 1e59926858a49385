#pragma once
/// \file
/// Adds a row to each row of a matrix: y[r, c] = x[r, c] + bias[c]. Each index handles one pack of x. One division per
/// pack, done as a multiplication (collective/divider.hpp), finds its column. A pack inside one row reads a pack of the
/// bias; a pack that crosses into the next row restarts the bias at column 0. Correct for any number of columns;
/// fastest if it is a multiple of the pack.
///
/// Reads and writes each element once; the bias comes from the caches after the first row.
///
/// Example: x = (1 2 | 3 4 | 5 6), bias = (10 20) -> (11 22 | 13 24 | 15 26).
///
/// Use:  bias_add(exec, x, bias, y);
/// or, enqueued many times:  BiasAdd<Exec, float> add(exec, rows, cols);  add(exec, x, bias, y);

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <string>

#include <tessera/collective/divider.hpp>
#include <tessera/collective/operators.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/kernels/detail/launch/for_each_pack.hpp>
#include <tessera/kernels/detail/launch/views.hpp>

namespace tessera::kernels {

/// Elements per index of BiasAdd.
template <ExecutionSpace Exec, class T>
struct BiasAddTuning {
  static constexpr int width = natural_pack<Exec, T>;
};

namespace detail {

template <class T>
struct AddRowToPacks {
  T const* x;
  T const* bias;
  T* y;
  std::size_t cols;
  collective::Divider row_of;

  template <int N>
  KOKKOS_FUNCTION void operator()(Width<N>, std::size_t begin) const {
    using Add = collective::Sum<T>;  // integers wrap
    std::size_t col = begin - row_of(begin) * cols;
    collective::Pack<T, N> values = collective::load_pack<N>(x + begin);
    if (col + N <= cols) {
      collective::Pack<T, N> const of_columns = collective::load_pack<N>(bias + col);
      for (int e = 0; e < N; ++e) values[e] = Add{}(values[e], of_columns[e]);
    } else {
      for (int e = 0; e < N; ++e) {
        values[e] = Add{}(values[e], bias[col]);
        if (++col == cols) col = 0;
      }
    }
    collective::pack_at<N>(y + begin) = values;
  }
};

}  // namespace detail

/// y[r, c] = x[r, c] + bias[c]; integers wrap.
///
/// Construct it once for the extents of x. A call enqueues one launch, or none if x is empty. Calls share no memory and
/// may run concurrently.
template <ExecutionSpace Exec, class T, class Tuning = BiasAddTuning<Exec, T>>
class BiasAdd {
 public:
  /// \param rows,cols extents of x and y
  /// \param label kernel name that Kokkos Tools reports
  BiasAdd(Exec const&, std::size_t rows, std::size_t cols, std::string const& label = "tessera::bias_add")
      : label_(label + "::add"), rows_(rows), cols_(cols) {}

  /// Enqueues. `x`, `y` [rows, cols] must be contiguous and row-major; they may be the same matrix, but must not
  /// overlap otherwise. `bias` [cols] must not overlap y. Throws std::invalid_argument for other extents or strides.
  template <Readable<Exec, T, 2> X, Readable<Exec, T, 1> Bias, Writable<Exec, T, 2> Y>
  void operator()(Exec const& exec, X const& x, Bias const& bias, Y const& y) const {
    T const* const from = row_major(x, rows_, cols_);
    T const* const of_columns = contiguous(bias, cols_);
    T* const to = row_major(y, rows_, cols_);
    if (y.size() == 0) return;
    for_each_pack<Tuning::width>(label_, exec, y.size(), collective::is_aligned_for_packs<Tuning::width>(to),
                                 detail::AddRowToPacks<T>{from, of_columns, to, cols_, collective::Divider(cols_)});
  }

 private:
  std::string label_;
  std::size_t rows_;
  std::size_t cols_;
};

/// y[r, c] = x[r, c] + bias[c]. `x`, `y` [rows, cols], `bias` [cols]. Convenience for a single call: enqueues and
/// waits.
template <ExecutionSpace Exec, class X, class Bias, class Y>
void bias_add(Exec const& exec, X const& x, Bias const& bias, Y const& y) {
  BiasAdd<Exec, typename Y::non_const_value_type> const add(exec, y.extent(0), y.extent(1));
  add(exec, x, bias, y);
  exec.fence("tessera: bias_add");
}

}  // namespace tessera::kernels
