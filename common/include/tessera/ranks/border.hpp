#pragma once
/// \file
/// A rank's border: the rows whose results need rows of other ranks (ranks/halo.hpp), in the memory of an execution
/// space. The border and its halo are copied into one strip. A one-rank kernel is enqueued twice: on the rank's own
/// rows, as if there were no other rows; and concurrently on the strip, as soon as the halo has arrived. The strip's
/// results for the border then replace the results that the first launch computed without the halo.
///
/// Example, a stencil that needs the 2 following rows, own rows 4 5 6, halo 7 8: the first launch is correct only for
/// row 4. The strip is 5 6 7 8; its first 2 results are kept.

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <tuple>
#include <utility>

#include <tessera/core/problem.hpp>
#include <tessera/core/segment_shape.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/ranks/halo.hpp>
#include <tessera/ranks/part.hpp>
#include <tessera/ranks/side.hpp>

namespace tessera::ranks {

/// For rows of one side: reach.before or reach.behind must be 0.
///
/// The constructor allocates the strip and the messages' host memory. All ranks must make these calls in this order,
/// and launches of one object must not overlap:
///
///     border.begin(exec);  on_block(exec, own, results);
///     border.exchange(own);  on_strip(border.side(), border.in(), border.out());
///     border.keep(exec, results);
template <ExecutionSpace Exec, class T>
class Border {
  using Memory = typename Exec::memory_space;
  using Host = Kokkos::View<T*, Kokkos::SharedHostPinnedSpace>;  // pinned, so that its copies overlap with kernels

 public:
  /// \param n rows of all ranks together
  /// \param row elements per row
  Border(Exec const& exec, Ranks const& ranks, std::size_t n, Reach reach, std::size_t row, std::string const& label)
      : side_(exec),
        halo_(ranks, n, reach, row * sizeof(T)),
        row_(row),
        own_(ranks.block(n)),
        got_(halo_.before() + halo_.behind()),
        rows_(got_ == 0 ? 0 : std::min(own_.size(), reach.before + reach.behind)),
        is_behind_(reach.behind > 0),
        ready_(label + ": own rows"),
        on_host_(label + ": rows for other ranks"),
        made_(label + ": results of the border"),
        in_(unset(label + "::strip"), (rows_ + got_) * row),
        out_(unset(label + "::of_strip"), (rows_ + got_) * row),
        head_(unset(label + "::head"), halo_.head() * row),
        tail_(unset(label + "::tail"), halo_.tail() * row),
        halo_rows_(unset(label + "::halo"), got_ * row) {
    halo_.lies_at(head_.data(), tail_.data(), halo_rows_.data(), halo_rows_.data());
  }

  /// Returns the number of rows of the strip: border plus halo; 0 if no result needs other rows.
  [[nodiscard]] std::size_t strip_rows() const { return rows_ + got_; }
  /// Returns the global index of the strip's first row.
  [[nodiscard]] std::size_t first() const { return is_behind_ ? own_.end - rows_ : own_.begin - got_; }
  /// The strip [strip_rows() * row], and the results of the kernel on it.
  [[nodiscard]] Array<T const*, Memory> in() const { return in_; }
  [[nodiscard]] Array<T*, Memory> out() const { return out_; }

  /// Returns the instance on which the kernel on the strip is enqueued; it runs concurrently with work on `exec`.
  [[nodiscard]] Exec const& side() const { return side_.exec(); }

  /// Waits for the work on `exec`: the rank's rows are then complete.
  void begin(Exec const& exec) const {
    if (rows_ + halo_.head() + halo_.tail() > 0) exec.fence(ready_);
  }

  /// Copies the rows that other ranks need, exchanges the halos, and then enqueues copies of border and halo into the
  /// strip.
  void exchange(T const* own) const {
    if (halo_.head() > 0) Kokkos::deep_copy(side(), head_, elements(own, halo_.head()));
    if (halo_.tail() > 0) {
      Kokkos::deep_copy(side(), tail_, elements(own + (own_.size() - halo_.tail()) * row_, halo_.tail()));
    }
    side().fence(on_host_);
    halo_.exchange();
    if (rows_ == 0) return;
    Kokkos::deep_copy(side(), strip(in_, is_behind_ ? 0 : got_, rows_), elements(own + border(), rows_));
    Kokkos::deep_copy(side(), strip(in_, is_behind_ ? rows_ : 0, got_), halo_rows_);
  }

  /// Waits for out(), then enqueues the copy of the border's results on `exec`, after the kernel on the rank's rows.
  void keep(Exec const& exec, T* results) const {
    if (rows_ == 0) return;
    side().fence(made_);
    Kokkos::deep_copy(exec, elements(results + border(), rows_), strip(out_, is_behind_ ? 0 : got_, rows_));
  }

 private:
  // Returns the offset of the border in the rank's elements.
  [[nodiscard]] std::size_t border() const { return is_behind_ ? (own_.size() - rows_) * row_ : 0; }
  template <class Element>
  [[nodiscard]] auto elements(Element* from, std::size_t rows) const {
    return unmanaged<Memory>(from, rows * row_);
  }
  [[nodiscard]] Array<T*, Memory> strip(Array<T*, Memory> const& all, std::size_t first, std::size_t rows) const {
    return Kokkos::subview(all, std::pair(first * row_, (first + rows) * row_));
  }

  Side<Exec> side_;
  Halo halo_;
  std::size_t row_;
  Block own_;
  std::size_t got_;   // rows of the halo
  std::size_t rows_;  // rows of the border
  bool is_behind_;
  std::string ready_;  // label of the fences in Kokkos' tools
  std::string on_host_;
  std::string made_;
  Array<T*, Memory> in_;
  Array<T*, Memory> out_;
  Host head_;
  Host tail_;
  Host halo_rows_;
};

/// The Plan of a variant of level `ranks` around a one-rank kernel, which is called as a Plan is. It launches the
/// kernel on the rank's block while the halo is in flight, then on the border. The ranks share the Problem's first
/// input field and its first output field, which has the same shape; other fields are whole.
template <class Problem, class Variant, ExecutionSpace Exec, class T, class Kernel>
class BorderPlan {
  using Input = InputOn<Problem, Exec, T>;
  using Output = OutputOn<Problem, Exec, T>;

 public:
  /// \param kernel called with a number of rows, the global index of the first row and the variant's label; returns the
  /// kernel for them
  template <class MakeKernel>
  BorderPlan(Exec const& exec, Input const& input, Part const& part, MakeKernel const& kernel)
      : border_(exec, part.ranks, part.input[0][0], Problem::reach(part.input, input.parameters),
                row_elements(part.input[0]), label_of<Problem, Variant>()),
        on_block_(kernel(part.ranks.block(part.input[0][0]).size(), part.ranks.block(part.input[0][0]).begin,
                         label_of<Problem, Variant>())),
        on_strip_(kernel(border_.strip_rows(), border_.first(), label_of<Problem, Variant>())) {}

  void operator()(Exec const& exec, Input const& input, Output const& output) const {
    auto const& own = std::get<0>(Input::fields(input));
    auto const& results = std::get<0>(Output::fields(output));
    Input strip = input;
    Output of_strip = output;
    std::get<0>(Input::fields(strip)) = strip_like(own, border_.in().data());
    std::get<0>(Output::fields(of_strip)) = strip_like(results, border_.out().data());
    border_.begin(exec);
    tessera::detail::enqueue(on_block_, exec, input, output);
    border_.exchange(own.data());
    tessera::detail::enqueue(on_strip_, border_.side(), strip, of_strip);
    border_.keep(exec, results.data());
  }

  /// Returns the longer chain of both launches.
  [[nodiscard]] double rounding_steps() const
    requires requires(Kernel const& kernel) { kernel.rounding_steps(); }
  {
    return std::max(on_block_.rounding_steps(), on_strip_.rounding_steps());
  }

 private:
  // Returns a field of the strip, with as many rows.
  template <class Field>
  [[nodiscard]] Field strip_like(Field const& field, typename Field::pointer_type data) const {
    auto layout = field.layout();
    layout.dimension[0] = border_.strip_rows();
    return Field(data, layout);
  }

  Border<Exec, T> border_;
  Kernel on_block_;
  Kernel on_strip_;
};

/// A BorderPlan around a kernel on the elements of segments, constructed from (exec, SegmentShape, label). The
/// Problem defines shape_of(input).
template <class Problem, class Variant, ExecutionSpace Exec, class T, class Kernel>
struct StencilPlanOnRanks : BorderPlan<Problem, Variant, Exec, T, Kernel> {
  StencilPlanOnRanks(Exec const& exec, InputOn<Problem, Exec, T> const& input, Part const& part)
      : StencilPlanOnRanks::BorderPlan(exec, input, part,
                                       [&](std::size_t n, std::size_t first, std::string const& label) {
                                         SegmentShape shape = Problem::shape_of(input);
                                         shape.n = n;
                                         shape.first = first;
                                         return Kernel(exec, shape, label + "::apply");
                                       }) {}
};

}  // namespace tessera::ranks
