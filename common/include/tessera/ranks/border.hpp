#pragma once
/// \file
/// A rank's border: those of its rows whose results need rows of other ranks (ranks/halo.hpp), in the memory of an execution
/// space, with their halo beside them in one strip. A kernel for one rank is enqueued twice: on the rank's own rows, as if
/// there were no others, while the halo is on its way; then on the strip. Of its results those of the border replace what
/// the first launch made without the halo.
///
/// Example, 3 rows of a stencil that looks 2 rows behind, own rows 4 5 6, halo 7 8: the first launch is right for 4 alone.
/// The strip is 5 6 7 8; of its results the first 2 are kept.

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include <tessera/core/problem.hpp>
#include <tessera/core/segment_shape.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/ranks/halo.hpp>
#include <tessera/ranks/part.hpp>

namespace tessera::ranks {

/// Rows of one side: reach.before or reach.behind is 0.
///
/// Constructed once: allocates the strip and the messages' host memory. All ranks call begin(), exchange() and keep(), in this
/// order, and launches of one object do not overlap.
template <ExecutionSpace Exec, class T>
class Border {
  using Memory = typename Exec::memory_space;
  using Host = Kokkos::View<T*, Kokkos::HostSpace>;

 public:
  /// \param n rows of all ranks together
  /// \param row elements of a row
  Border(Ranks const& ranks, std::size_t n, Reach reach, std::size_t row, std::string const& label)
      : halo_(ranks, n, reach, row * sizeof(T)),
        row_(row),
        own_(ranks.block(n)),
        got_(halo_.before() + halo_.behind()),
        rows_(got_ == 0 ? 0 : std::min(own_.size(), reach.before + reach.behind)),
        is_behind_(reach.behind > 0),
        label_(label + ": rows for other ranks"),
        in_(Kokkos::view_alloc(Kokkos::WithoutInitializing, label + "::strip"), (rows_ + got_) * row),
        out_(Kokkos::view_alloc(Kokkos::WithoutInitializing, label + "::of_strip"), (rows_ + got_) * row),
        head_(Kokkos::view_alloc(Kokkos::WithoutInitializing, label + "::head"), halo_.head() * row),
        tail_(Kokkos::view_alloc(Kokkos::WithoutInitializing, label + "::tail"), halo_.tail() * row),
        halo_rows_(Kokkos::view_alloc(Kokkos::WithoutInitializing, label + "::halo"), got_ * row) {
    halo_.lies_at(head_.data(), tail_.data(), halo_rows_.data(), halo_rows_.data());
  }

  /// Rows of the strip: those of the border, and the halo; 0 where no result needs others.
  [[nodiscard]] std::size_t strip_rows() const { return rows_ + got_; }
  /// Index, of all ranks' rows, of the strip's first one.
  [[nodiscard]] std::size_t first() const { return is_behind_ ? own_.end - rows_ : own_.begin - got_; }
  /// The strip [strip_rows() * row], and what a kernel makes of it.
  [[nodiscard]] Array<T const*, Memory> in() const { return in_; }
  [[nodiscard]] Array<T*, Memory> out() const { return out_; }

  /// Takes what others need, and the strip's own rows, from the rank's rows. Waits until they are on the host.
  void begin(Exec const& exec, T const* own) const {
    if (rows_ > 0) Kokkos::deep_copy(exec, strip(in_, is_behind_ ? 0 : got_, rows_), elements(own + border(), rows_));
    if (halo_.head() + halo_.tail() == 0) return;
    Kokkos::deep_copy(exec, head_, elements(own, halo_.head()));
    Kokkos::deep_copy(exec, tail_, elements(own + (own_.size() - halo_.tail()) * row_, halo_.tail()));
    exec.fence(label_);
  }

  /// Gives and gets, and enqueues the halo's way into the strip.
  void exchange(Exec const& exec) const {
    halo_.exchange();
    if (got_ > 0) Kokkos::deep_copy(exec, strip(in_, is_behind_ ? rows_ : 0, got_), halo_rows_);
  }

  /// Enqueues the copy of the border's results from out() to the rank's.
  void keep(Exec const& exec, T* results) const {
    if (rows_ == 0) return;
    Kokkos::View<T*, Memory, Kokkos::MemoryUnmanaged> const to(results + border(), rows_ * row_);
    Kokkos::deep_copy(exec, to, strip(out_, is_behind_ ? 0 : got_, rows_));
  }

 private:
  // Where the border begins among the rank's elements.
  [[nodiscard]] std::size_t border() const { return is_behind_ ? (own_.size() - rows_) * row_ : 0; }
  using Elements = Kokkos::View<T const*, Memory, Kokkos::MemoryUnmanaged>;
  [[nodiscard]] Elements elements(T const* from, std::size_t rows) const { return Elements(from, rows * row_); }
  [[nodiscard]] Array<T*, Memory> strip(Array<T*, Memory> const& all, std::size_t first, std::size_t rows) const {
    return Kokkos::subview(all, std::pair(first * row_, (first + rows) * row_));
  }

  Halo halo_;
  std::size_t row_;
  Block own_;
  std::size_t got_;   // rows of the halo
  std::size_t rows_;  // of the border
  bool is_behind_;
  std::string label_;
  Array<T*, Memory> in_;
  Array<T*, Memory> out_;
  Host head_;
  Host tail_;
  Host halo_rows_;
};

/// The Plan of a variant of level `ranks` around a kernel on the elements of segments: on the rank's block while its halo is on
/// its way, then on the border. The Problem has shape_of(input), the kernel is constructed from a SegmentShape.
template <class Problem, class Variant, ExecutionSpace Exec, class T, class Kernel>
class StencilPlanOnRanks {
 public:
  StencilPlanOnRanks(Exec const& exec, InputOn<Problem, Exec, T> const& input, Part const& part)
      : border_(part.ranks, part.input[0][0], Problem::reach(part.input, input.parameters), 1, Variant::label),
        on_block_(exec, shape_of(input, input.in.extent(0), part.ranks.block(part.input[0][0]).begin), Variant::label),
        on_strip_(exec, shape_of(input, border_.strip_rows(), border_.first()), Variant::label) {}

  void operator()(Exec const& exec, InputOn<Problem, Exec, T> const& input,
                  OutputOn<Problem, Exec, T> const& output) const {
    border_.begin(exec, input.in.data());
    on_block_(exec, input.in, output.out);
    border_.exchange(exec);
    on_strip_(exec, border_.in(), border_.out());
    border_.keep(exec, output.out.data());
  }

 private:
  // Of n elements from index `first` on.
  [[nodiscard]] static SegmentShape shape_of(InputOn<Problem, Exec, T> const& input, std::size_t n, std::size_t first) {
    SegmentShape shape = Problem::shape_of(input);
    shape.n = n;
    shape.first = first;
    return shape;
  }

  Border<Exec, T> border_;
  Kernel on_block_;
  Kernel on_strip_;
};

}  // namespace tessera::ranks
