#pragma once
/// \file
/// A segment rule (segment_rule.hpp) over a whole array, one segment an index: the plain answer. On a host a core works
/// through a segment with vector instructions, and nothing else is as fast; on a GPU neighbouring threads are a segment
/// apart in memory. One launch, 2n elements of traffic.
///
/// Example, segments of 3, maximum: 3 1 4 | 1 5 -> index 0 writes 4 4 4, index 1 writes 5 5.

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

#include <tessera/collective/segment_rule.hpp>
#include <tessera/collective/thread/rows.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/kernels/segment_lanes.hpp>
#include <tessera/kernels/team_shape.hpp>

namespace tessera::kernels {

namespace detail {

template <class Rule>
struct SegmentRangeKernel {
  using T = typename Rule::Element;

  Rule rule;
  T const* in;
  T* out;
  std::size_t n;
  int length;  // elements of an index
  bool one_segment;

  KOKKOS_FUNCTION void operator()(std::size_t index) const {
    std::size_t const begin = index * static_cast<std::size_t>(length);
    int const count = thread::count_before(begin, n, length);
    bool const has_next = one_segment && begin + static_cast<std::size_t>(count) < n;
    collective::finish_run(rule, in + begin, count, has_next, rule.settle(folded(in + begin, count)), out + begin);
  }

 private:
  [[nodiscard]] KOKKOS_FUNCTION typename Rule::Folded folded(T const* segment, int count) const {
    if constexpr (collective::folds_whole_segments<Rule>) {
      return collective::fold_run(rule, segment, count);
    } else if constexpr (collective::folds<Rule>) {
      return collective::fold_head(rule, one_segment ? in : segment,
                                   one_segment ? thread::count_before(0, n, Rule::reach) : count);
    } else {
      return rule.nothing();
    }
  }
};

}  // namespace detail

/// out[i] = what the rule makes of in[i], for arrays of n elements that do not overlap. A call only enqueues. A rule that
/// folds whole segments needs shape.segment > 0.
template <ExecutionSpace Exec, collective::SegmentRule Rule>
class SegmentRange {
  using T = typename Rule::Element;

 public:
  SegmentRange(Exec const&, SegmentShape const& shape) : n_(shape.n), segment_(segment_of<Rule>(shape)) {}

  void operator()(std::string const& label, Exec const& exec, Rule const& rule, T const* in, T* out) const {
    int const length = segment_ == 0 ? (is_gpu<Exec> ? 8 : collective::longest_segment) : segment_;
    Kokkos::parallel_for(label, Kokkos::RangePolicy<Exec>(exec, 0, tiles_of(n_, static_cast<std::size_t>(length))),
                         detail::SegmentRangeKernel<Rule>{rule, in, out, n_, length, segment_ == 0});
  }

 private:
  std::size_t n_;
  int segment_;
};

}  // namespace tessera::kernels
