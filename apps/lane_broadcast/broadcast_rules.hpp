#pragma once
/// \file
/// The three operations as segment rules, and the Plan of a variant that applies them.

#include <array>

#include "problem.hpp"

#include <tessera/collective/accumulator.hpp>
#include <tessera/collective/operators.hpp>
#include <tessera/collective/segment_rule.hpp>
#include <tessera/core/segment_shape.hpp>
#include <tessera/kernels/segments.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::lane_broadcast {

/// Sums of a segment's first 4 elements. The sum of no elements is -0, because adding -0 changes no number, not even
/// +0. 16-bit floats are computed in float and rounded when they are stored.
template <class T>
struct SumOfFour {
  using Element = T;
  using Folded = Arithmetic<T>;
  static constexpr int reach = 4;

  [[nodiscard]] KOKKOS_FUNCTION Folded nothing() const { return -Folded(0); }
  [[nodiscard]] KOKKOS_FUNCTION Folded lift(T x) const { return x; }
  [[nodiscard]] KOKKOS_FUNCTION Folded combine(Folded a, Folded b) const { return collective::Sum<Folded>{}(a, b); }
  [[nodiscard]] KOKKOS_FUNCTION T alone(T) const { return -T(0); }
};

template <class T>
struct BasicRule : SumOfFour<T> {
  using Folded = typename SumOfFour<T>::Folded;
  static constexpr auto neighbour = collective::Neighbour::none;

  [[nodiscard]] KOKKOS_FUNCTION Folded settle(Folded sum) const { return sum; }
  [[nodiscard]] KOKKOS_FUNCTION T finish(T x, T, Folded sum, bool) const { return collective::Sum<Folded>{}(x, sum); }
};

template <class T>
struct ShuffleRule : SumOfFour<T> {
  using Folded = typename SumOfFour<T>::Folded;
  static constexpr auto neighbour = collective::Neighbour::next;

  [[nodiscard]] KOKKOS_FUNCTION Folded settle(Folded sum) const {
    if constexpr (Floating<T>) return sum * Folded(0.25);
    return sum / Folded(4);
  }
  [[nodiscard]] KOKKOS_FUNCTION T finish(T x, T next, Folded mean, bool) const {
    return static_cast<T>(collective::product(collective::Sum<Folded>{}(x, next), mean));
  }
};

template <class T>
struct ConditionalRule {
  using Element = T;
  using Folded = T;
  static constexpr int reach = 8;
  static constexpr auto neighbour = collective::Neighbour::none;

  [[nodiscard]] KOKKOS_FUNCTION T nothing() const { return collective::Max<T>{}.identity(); }
  [[nodiscard]] KOKKOS_FUNCTION T lift(T x) const { return x; }
  [[nodiscard]] KOKKOS_FUNCTION T combine(T a, T b) const { return collective::Max<T>{}(a, b); }
  [[nodiscard]] KOKKOS_FUNCTION T alone(T x) const { return x; }
  /// Returns the smallest number t that is not below m/2: x >= m/2 is the same as x >= t. Half of an odd integer or
  /// denormal is rounded; if it is rounded down, t is m minus this half. For NaN and infinities t is m itself.
  [[nodiscard]] KOKKOS_FUNCTION Arithmetic<T> settle(T m) const {
    using A = Arithmetic<T>;
    A const half = m / A(2);
    A const rest = m - half;
    return rest > half ? rest : half;
  }
  [[nodiscard]] KOKKOS_FUNCTION T finish(T x, T, Arithmetic<T> half, bool) const {
    // Computes both results and selects one: compilers do not vectorise the branch.
    using A = Arithmetic<T>;
    auto const doubled = static_cast<T>(collective::product(x, T(2)));
    T const halved = Floating<T> ? static_cast<T>(x * static_cast<A>(0.5)) : static_cast<T>(x / A(2));
    return x >= half ? doubled : halved;
  }
};

/// The Plan of a variant around `OnSegments<Exec, Rule>`, one of the kernels in kernels/segments.hpp.
template <template <class...> class OnSegments, class Variant, ExecutionSpace Exec, class T>
class BroadcastPlan : public SegmentPlan<LaneBroadcast, Variant, Exec, T, OnSegments<Exec, BasicRule<T>>,
                                         OnSegments<Exec, ConditionalRule<T>>, OnSegments<Exec, ShuffleRule<T>>> {
  using Base = typename BroadcastPlan::SegmentPlan;

 public:
  using Base::Base;

  /// basic: a sum of 4 as a tree of two levels, and one addition. conditional: none. shuffle: the sum, an addition and
  /// a multiplication.
  [[nodiscard]] double rounding_steps() const { return std::array<int, 3>{3, 0, 4}[this->op()]; }
};

}  // namespace tessera::lane_broadcast
