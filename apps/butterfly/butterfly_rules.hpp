#pragma once
/// \file
/// The three operations as segment rules, and the Plan of a variant that applies them to segments.

#include "problem.hpp"

#include <tessera/collective/operators.hpp>
#include <tessera/collective/segment_rule.hpp>
#include <tessera/core/segment_shape.hpp>
#include <tessera/kernels/segments.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::butterfly {

template <class T>
struct PairSwapRule : collective::FoldsNothing<T> {
  using Element = T;
  static constexpr auto neighbour = collective::Neighbour::partner;

  [[nodiscard]] KOKKOS_FUNCTION T alone(T x) const { return x; }
  [[nodiscard]] KOKKOS_FUNCTION T finish(T, T partner, typename collective::FoldsNothing<T>::Folded, bool) const {
    return partner;
  }
};

template <class T>
struct MaxRule {
  using Element = T;
  using Folded = T;
  static constexpr int reach = collective::longest_segment;
  static constexpr auto neighbour = collective::Neighbour::none;

  [[nodiscard]] KOKKOS_FUNCTION T nothing() const { return collective::Max<T>{}.identity(); }
  [[nodiscard]] KOKKOS_FUNCTION T lift(T x) const { return x; }
  [[nodiscard]] KOKKOS_FUNCTION T combine(T a, T b) const { return collective::Max<T>{}(a, b); }
  [[nodiscard]] KOKKOS_FUNCTION T settle(T max) const { return max; }
  [[nodiscard]] KOKKOS_FUNCTION T alone(T x) const { return x; }
  [[nodiscard]] KOKKOS_FUNCTION T finish(T, T, T max, bool) const { return max; }
};

// As above, with the minimum.
template <class T>
struct MinRule : MaxRule<T> {
  [[nodiscard]] KOKKOS_FUNCTION T nothing() const { return collective::Min<T>{}.identity(); }
  [[nodiscard]] KOKKOS_FUNCTION T combine(T a, T b) const { return collective::Min<T>{}(a, b); }
};

template <class T>
struct Extremes {
  T max;
  T min;
};

template <class T>
struct MinMaxRule {
  using Element = T;
  using Folded = Extremes<T>;
  static constexpr int reach = collective::longest_segment;
  static constexpr auto neighbour = collective::Neighbour::none;

  [[nodiscard]] KOKKOS_FUNCTION Folded nothing() const {
    return {collective::Max<T>{}.identity(), collective::Min<T>{}.identity()};
  }
  [[nodiscard]] KOKKOS_FUNCTION Folded lift(T x) const { return {x, x}; }
  [[nodiscard]] KOKKOS_FUNCTION Folded combine(Folded const& a, Folded const& b) const {
    return {collective::Max<T>{}(a.max, b.max), collective::Min<T>{}(a.min, b.min)};
  }
  [[nodiscard]] KOKKOS_FUNCTION Folded of_run(T const* x, int count) const {
    return {collective::fold_run(MaxRule<T>{}, x, count), collective::fold_run(MinRule<T>{}, x, count)};
  }
  [[nodiscard]] KOKKOS_FUNCTION Folded settle(Folded const& extremes) const { return extremes; }
  [[nodiscard]] KOKKOS_FUNCTION T alone(T x) const { return x; }
  [[nodiscard]] KOKKOS_FUNCTION T finish(T, T, Folded const& extremes, bool odd) const {
    return odd ? extremes.min : extremes.max;
  }
};

/// The Plan of a variant around `OnSegments<Exec, Rule>`, one of the kernels in kernels/segments.hpp.
template <template <class...> class OnSegments, class Variant, ExecutionSpace Exec, class T>
using ButterflyPlan = SegmentPlan<Butterfly, Variant, Exec, T, OnSegments<Exec, PairSwapRule<T>>,
                                  OnSegments<Exec, MaxRule<T>>, OnSegments<Exec, MinMaxRule<T>>>;

}  // namespace tessera::butterfly
