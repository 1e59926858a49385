#pragma once
/// \file
/// The segments of an array on several ranks. Most segments lie on one rank. A segment that the end of a rank's block
/// cuts is completed with elements of other ranks (ranks/halo.hpp), in a separate strip in the memory of an execution
/// space. A segment kernel is enqueued twice: on the complete segments, while elements of other ranks are in flight;
/// then on the strip, from which the rank keeps the results of its own elements. Every rank that has an element of a
/// segment computes the whole segment.
///
/// Example, segments of 4, rank 1 has 6 .. 13 of 20 elements: 8 .. 11 are a complete segment; the strip is 4 5 6 7 | 12
/// 13 14 15, from which the rank keeps 6 7 and 12 13.

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <variant>

#include <tessera/core/problem.hpp>
#include <tessera/core/segment_shape.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/ranks/halo.hpp>
#include <tessera/ranks/part.hpp>

namespace tessera::ranks {

/// The constructor allocates the strip and the messages' host memory. All ranks must call begin(), exchange() and
/// keep(), in this order, and launches of one object must not overlap.
template <ExecutionSpace Exec, class T>
class CutSegments {
  using Memory = typename Exec::memory_space;
  using Host = Kokkos::View<T*, Kokkos::HostSpace>;

 public:
  /// \param n elements of all ranks together
  /// \param segment elements per segment, at least 1
  CutSegments(Ranks const& ranks, std::size_t n, std::size_t segment, std::string const& label)
      : halo_(ranks, n, {segment - 1, segment - 1}, sizeof(T)),
        own_(ranks.block(n)),
        head_(cut(own_.begin, n, segment, own_.size() > 0)),
        tail_(cut(own_.end, n, segment, own_.size() > 0 && own_.end / segment * segment >= own_.begin)),
        whole_(common(own_, {head_.size() > 0 ? head_.end : own_.begin, tail_.size() > 0 ? tail_.begin : own_.end})),
        label_(label + ": elements for other ranks"),
        in_(unset(label + "::strip"), head_.size() + tail_.size()),
        out_(unset(label + "::of_strip"), in_.size()),
        first_(unset(label + "::first"), halo_.head()),
        last_(unset(label + "::last"), halo_.tail()),
        before_(unset(label + "::before"), halo_.before()),
        behind_(unset(label + "::behind"), halo_.behind()) {
    halo_.lies_at(first_.data(), last_.data(), before_.data(), behind_.data());
  }

  /// Returns the range of the rank's elements, counted from its first, that lie in complete segments.
  [[nodiscard]] Block whole() const { return {whole_.begin - own_.begin, whole_.end - own_.begin}; }
  /// The strip of one or two segments (the array's last segment may be shorter), and the kernel's results for it.
  [[nodiscard]] Array<T const*, Memory> in() const { return in_; }
  [[nodiscard]] Array<T*, Memory> out() const { return out_; }

  /// Copies the rank's elements that other ranks need, and the strip's own elements. Waits until they are on the host.
  void begin(Exec const& exec, T const* own) const {
    each_cut([&](Block segment, std::size_t at) {
      Block const kept = common(own_, segment);
      Kokkos::deep_copy(exec, part(in_, at + kept.begin - segment.begin, kept.size()),
                        unmanaged<Memory>(own + (kept.begin - own_.begin), kept.size()));
    });
    if (first_.size() + last_.size() == 0) return;
    Kokkos::deep_copy(exec, first_, unmanaged<Memory>(own, first_.size()));
    Kokkos::deep_copy(exec, last_, unmanaged<Memory>(own + own_.size() - last_.size(), last_.size()));
    exec.fence(label_);
  }

  /// Exchanges the halos, and enqueues the copies of other ranks' elements into the strip.
  void exchange(Exec const& exec) const {
    halo_.exchange();
    each_cut([&](Block segment, std::size_t at) {
      if (segment.begin < own_.begin) {
        std::size_t const missing = own_.begin - segment.begin;
        Kokkos::deep_copy(exec, part(in_, at, missing), part(before_, before_.size() - missing, missing));
      }
      if (segment.end > own_.end) {
        std::size_t const missing = segment.end - own_.end;
        Kokkos::deep_copy(exec, part(in_, at + segment.size() - missing, missing), part(behind_, 0, missing));
      }
    });
  }

  /// Enqueues the copy of the own elements' results from out() to the rank's results.
  void keep(Exec const& exec, T* results) const {
    each_cut([&](Block segment, std::size_t at) {
      Block const kept = common(own_, segment);
      Kokkos::deep_copy(exec, unmanaged<Memory>(results + (kept.begin - own_.begin), kept.size()),
                        part(out_, at + kept.begin - segment.begin, kept.size()));
    });
  }

 private:
  // Returns the segment with elements on both sides of `end`, an end of the rank's block; an empty range if there is
  // none.
  [[nodiscard]] static Block cut(std::size_t end, std::size_t n, std::size_t segment, bool is_there) {
    if (!is_there || end % segment == 0 || end == n) return {end, end};
    std::size_t const begin = end / segment * segment;
    return {begin, std::min(n, begin + segment)};
  }
  // Calls body(segment, offset of the segment in the strip).
  template <class Body>
  void each_cut(Body const& body) const {
    if (head_.size() > 0) body(head_, 0);
    if (tail_.size() > 0) body(tail_, head_.size());
  }
  template <class View>
  [[nodiscard]] static View part(View const& all, std::size_t first, std::size_t count) {
    return Kokkos::subview(all, std::pair(first, first + count));
  }

  Halo halo_;
  Block own_;
  Block head_;  // the segment that the block's begin cuts; also its end, if it is the same segment
  Block tail_;  // the segment that its end cuts
  Block whole_;
  std::string label_;
  Array<T*, Memory> in_;
  Array<T*, Memory> out_;
  Host first_;
  Host last_;
  Host before_;
  Host behind_;
};

/// The Plan of a variant of level `ranks` around segment kernels, like SegmentPlan. Does not support the whole array as
/// one segment.
template <class Problem, class Variant, ExecutionSpace Exec, class T, class... Kernels>
class SegmentPlanOnRanks {
 public:
  SegmentPlanOnRanks(Exec const& exec, InputOn<Problem, Exec, T> const& input, Part const& part)
      : cut_(part.ranks, part.input[0][0], Problem::shape_of(input).segment, label_of<Problem, Variant>()),
        kernels_(chosen(exec, input, cut_)) {}

  void operator()(Exec const& exec, InputOn<Problem, Exec, T> const& input,
                  OutputOn<Problem, Exec, T> const& output) const {
    std::pair const whole(cut_.whole().begin, cut_.whole().end);
    std::visit(
        [&](auto const& kernels) {
          cut_.begin(exec, input.in.data());
          kernels.first(exec, Kokkos::subview(input.in, whole), Kokkos::subview(output.out, whole));
          cut_.exchange(exec);
          kernels.second(exec, cut_.in(), cut_.out());
          cut_.keep(exec, output.out.data());
        },
        kernels_);
  }

 private:
  // A kernel for the complete segments and one for the strip.
  using AnyKernels = std::variant<std::pair<Kernels, Kernels>...>;

  template <class Kernel>
  [[nodiscard]] static AnyKernels made(Exec const& exec, SegmentShape shape, CutSegments<Exec, T> const& cut) {
    SegmentShape strip = shape;
    shape.n = cut.whole().size();
    strip.n = cut.in().size();
    std::string const label = label_of<Problem, Variant>() + "::apply";
    return std::pair(Kernel(exec, shape, label), Kernel(exec, strip, label));
  }
  [[nodiscard]] static AnyKernels chosen(Exec const& exec, InputOn<Problem, Exec, T> const& input,
                                         CutSegments<Exec, T> const& cut) {
    AnyKernels (*const make[])(Exec const&, SegmentShape, CutSegments<Exec, T> const&) = {&made<Kernels>...};
    return make[static_cast<std::size_t>(input.parameters.op)](exec, Problem::shape_of(input), cut);
  }

  CutSegments<Exec, T> cut_;
  AnyKernels kernels_;
};

}  // namespace tessera::ranks
