#pragma once
/// \file
/// Pooling with trailing windows: out[i] = op(in[max(0, i - window + 1)] .. in[i]). Each thread computes a run of
/// consecutive outputs and folds the common part of their windows only once. The elements before the run are in the
/// cache, because the previous thread reads them as its own. Nothing is subtracted, so that any commutative operator
/// works and no digits cancel. One launch, 2n elements of traffic; for long windows 3 + window / run operations per
/// output.
///
/// Source: van Herk (1992); Gil and Werman, Computing 2-D min, median, and max filters (1993).
///
/// Example, sum, window 3: 3 1 4 1 5 -> 3 4 8 6 10; mean: 3 2 8/3 2 10/3.
///
/// Use:  window_sum(exec, window, in, out);  window_mean(exec, window, in, out);  window_max(exec, window, in, out);
/// or, enqueued many times:
///   WindowFold<Exec, float, collective::Max<float>> max(exec, n, window);  max(exec, in, out);

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <type_traits>

#include <tessera/collective/operators.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/collective/thread/window_run.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/kernels/detail/launch/array_kernel.hpp>
#include <tessera/kernels/detail/launch/for_each_pack.hpp>

namespace tessera::kernels {

/// Outputs per thread of WindowFold.
template <ExecutionSpace Exec, class T>
struct WindowTuning {
  /// Outputs per thread: one 16-byte access on a GPU; several vector registers on a host.
  static constexpr int items = (is_gpu<Exec> ? 1 : 16) * collective::pack_width<T>;
  /// Whether a run is read and written with one aligned access. Vector accesses of a host need no alignment.
  static constexpr bool aligned = is_gpu<Exec>;
};

namespace detail {

// Two kernels, because the code for long windows would cost short ones registers, and so occupancy.
template <bool IsShort, class T, class Op>
struct WindowFoldBody {
  Op op;
  thread::FinishWindow<T> finish;
  T const* in;
  T* out;

  template <int L>
  KOKKOS_FUNCTION void operator()(Width<L>, std::size_t begin) const {
    T run[L];
    if constexpr (!IsShort) {
      thread::long_window_run<L>(op, in + begin, finish.window, begin, run);
    } else if constexpr (L > 1) {
      thread::short_window_run<L>(op, in + begin, finish.window, begin, run);
    } else {
      run[0] = in[begin];
      for (std::size_t back = 1; back < finish.window && back <= begin; ++back) run[0] = op(in[begin - back], run[0]);
    }
    finish(thread::RunOf<L>{}, begin, run, L, in, L);
    thread::write_run<L>(run, out + begin);
  }
};

}  // namespace detail

/// out[i] = op(in[max(0, i - window + 1)] .. in[i]), or this value divided by the number of elements in the window.
///
/// `Op` is a commutative operator of collective/operators.hpp. Construct it once; it allocates nothing. A call only
/// enqueues; calls on one object may run concurrently. `in` and `out` must not overlap; a call throws
/// std::invalid_argument if one is strided or does not have n elements. On a GPU, arrays that are not aligned to 16
/// bytes are accessed element by element.
template <ExecutionSpace Exec, class T, collective::OperatorOn<T> Op, class Tuning = WindowTuning<Exec, T>>
class WindowFold : public ArrayKernel<WindowFold<Exec, T, Op, Tuning>, Exec, T> {
  using Base = ArrayKernel<WindowFold, Exec, T>;
  friend Base;
  static constexpr int items = Tuning::items;

 public:
  /// \param n elements of both arrays
  /// \param window elements of a window, at least 1; may exceed n
  /// \param mean whether to divide; only for floating-point elements
  /// \param label kernel name that Kokkos Tools reports
  WindowFold(Exec const&, std::size_t n, std::size_t window, bool mean = false,
             std::string const& label = "tessera::window", Op const& op = {})
      : Base(n,
             label + (thread::is_short_window<items>(thread::FinishWindow<T>::of(n, window, mean).window) ? "::short"
                                                                                                          : "::long")),
        finish_(thread::FinishWindow<T>::of(n, window, mean)),
        op_(op) {}

  /// Returns the operations on the longest path from an element to a result, in a run or in an output after the last
  /// whole run; the division is not counted.
  [[nodiscard]] double rounding_steps() const {
    double const of_run = thread::window_run_steps<items>(finish_.window);
    return is_short() ? of_run : std::max(of_run, thread::window_run_steps<1>(finish_.window));
  }

 private:
  [[nodiscard]] bool is_short() const { return thread::is_short_window<items>(finish_.window); }

  void enqueue(Exec const& exec, T const* in, T* out) const {
    constexpr int pack = collective::pack_width<T>;
    bool const in_packs = !Tuning::aligned || collective::is_aligned_for_packs<pack>(in, out);
    if (is_short()) {
      for_each_pack<items>(this->label_, exec, this->n_, in_packs,
                           detail::WindowFoldBody<true, T, Op>{op_, finish_, in, out});
    } else {
      for_each_pack<items>(this->label_, exec, this->n_, in_packs,
                           detail::WindowFoldBody<false, T, Op>{op_, finish_, in, out});
    }
  }

  thread::FinishWindow<T> finish_;
  Op op_;
};

namespace detail {

template <template <class> class Op, ExecutionSpace Exec, class In, class Out>
void fold_windows(Exec const& exec, std::size_t window, bool mean, In const& in, Out const& out) {
  using T = typename In::non_const_value_type;
  WindowFold<Exec, T, Op<T>> const kernel(exec, in.extent(0), window, mean);
  kernel(exec, in, out);
  exec.fence("tessera: window");
}

}  // namespace detail

/// out[i] = in[max(0, i - window + 1)] + ... + in[i]. `in` and `out` [n], contiguous, must not overlap. Integers wrap.
/// Convenience for a single call: enqueues and waits.
template <ExecutionSpace Exec, class In, class Out>
void window_sum(Exec const& exec, std::size_t window, In const& in, Out const& out) {
  detail::fold_windows<collective::Sum>(exec, window, false, in, out);
}

/// As window_sum, divided by the number of elements: min(i + 1, window). The sum may leave the range.
template <ExecutionSpace Exec, class In, class Out>
  requires std::is_floating_point_v<typename In::non_const_value_type>
void window_mean(Exec const& exec, std::size_t window, In const& in, Out const& out) {
  detail::fold_windows<collective::Sum>(exec, window, true, in, out);
}

/// As window_sum, but the largest of these elements; a NaN among them gives NaN.
template <ExecutionSpace Exec, class In, class Out>
void window_max(Exec const& exec, std::size_t window, In const& in, Out const& out) {
  detail::fold_windows<collective::Max>(exec, window, false, in, out);
}

}  // namespace tessera::kernels
