#pragma once
/// \file
/// The three operations as segment rules, and the Plan of a variant that applies them.

#include <string>
#include <type_traits>
#include <variant>

#include "problem.hpp"

#include <tessera/collective/accumulator.hpp>
#include <tessera/collective/operators.hpp>
#include <tessera/collective/segment_rule.hpp>
#include <tessera/core/problem.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/kernels/segment_lanes.hpp>

namespace tessera::lane_broadcast {

/// Sums of a segment's first 4. Nothing is -0, which changes no other number, +0 among them.
template <class T>
struct SumOfFour {
  using Element = T;
  using Folded = T;
  static constexpr int reach = 4;

  [[nodiscard]] KOKKOS_FUNCTION T nothing() const { return -T(0); }
  [[nodiscard]] KOKKOS_FUNCTION T lift(T x) const { return x; }
  [[nodiscard]] KOKKOS_FUNCTION T combine(T a, T b) const { return collective::Sum<T>{}(a, b); }
  [[nodiscard]] KOKKOS_FUNCTION T alone(T) const { return nothing(); }
};

template <class T>
struct BasicRule : SumOfFour<T> {
  static constexpr auto neighbour = collective::Neighbour::none;

  [[nodiscard]] KOKKOS_FUNCTION T settle(T sum) const { return sum; }
  [[nodiscard]] KOKKOS_FUNCTION T finish(T x, T, T sum, bool) const { return collective::Sum<T>{}(x, sum); }
};

template <class T>
struct ShuffleRule : SumOfFour<T> {
  static constexpr auto neighbour = collective::Neighbour::next;

  [[nodiscard]] KOKKOS_FUNCTION T settle(T sum) const {
    if constexpr (std::is_floating_point_v<T>) return sum * T(0.25);
    return sum / T(4);
  }
  [[nodiscard]] KOKKOS_FUNCTION T finish(T x, T next, T mean, bool) const {
    return static_cast<T>(collective::product(collective::Sum<T>{}(x, next), mean));
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
  /// The smallest number not below m/2, which x >= m/2 is the same as: an odd integer's or denormal's half is rounded,
  /// and the other part of it is the neighbour of that. Of NaN and infinities themselves.
  [[nodiscard]] KOKKOS_FUNCTION T settle(T m) const {
    T const half = m / T(2);
    T const rest = m - half;
    return rest > half ? rest : half;
  }
  [[nodiscard]] KOKKOS_FUNCTION T finish(T x, T, T half, bool) const {
    // Both, and a selection: of a branch no compiler makes vectors.
    auto const doubled = static_cast<T>(collective::product(x, T(2)));
    T const halved = std::is_floating_point_v<T> ? static_cast<T>(x * T(0.5)) : static_cast<T>(x / T(2));
    return x >= half ? doubled : halved;
  }
};

/// The Plan of a variant that is `OnDevice<Exec, Rule>`: constructed from (exec, shape), enqueued with (label, exec,
/// rule, in, out).
template <template <class, class> class OnDevice, class Label, ExecutionSpace Exec, class T>
class BroadcastPlan {
 public:
  BroadcastPlan(Exec const& exec, InputOn<LaneBroadcast, Exec, T> const& input) : rules_(chosen(exec, input)) {}

  void operator()(Exec const& exec, InputOn<LaneBroadcast, Exec, T> const& input,
                  OutputOn<LaneBroadcast, Exec, T> const& output) const {
    std::visit([&](auto const& rule) { rule(exec, input.in.data(), output.out.data()); }, rules_);
  }

  /// A sum of 4 as a tree of two levels, and one addition; or an addition and a multiplication.
  [[nodiscard]] double rounding_steps() const {
    return std::visit([](auto const& rule) { return rule.rounding_steps(); }, rules_);
  }

 private:
  template <class Rule>
  struct OfRule {
    OnDevice<Exec, Rule> on_device;

    void operator()(Exec const& exec, T const* in, T* out) const { on_device(Label::text, exec, Rule{}, in, out); }
    [[nodiscard]] double rounding_steps() const {
      if (std::is_same_v<Rule, ConditionalRule<T>>) return 0;
      return std::is_same_v<Rule, ShuffleRule<T>> ? 4 : 3;
    }
  };
  using AnyRule = std::variant<OfRule<BasicRule<T>>, OfRule<ConditionalRule<T>>, OfRule<ShuffleRule<T>>>;

  [[nodiscard]] static AnyRule chosen(Exec const& exec, InputOn<LaneBroadcast, Exec, T> const& input) {
    kernels::SegmentShape const shape{
        .n = input.in.extent(0), .segment = input.parameters.segment, .team = input.parameters.team};
    switch (input.parameters.op) {
      case BroadcastOp::conditional: return OfRule<ConditionalRule<T>>{{exec, shape}};
      case BroadcastOp::shuffle: return OfRule<ShuffleRule<T>>{{exec, shape}};
      default: return OfRule<BasicRule<T>>{{exec, shape}};
    }
  }

  AnyRule rules_;
};

}  // namespace tessera::lane_broadcast
