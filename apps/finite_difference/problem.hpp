#pragma once
/// \file
/// finite_difference: out[i] = in[i + 1] - in[i], 0 for the last element of each segment.

#include <vector>

#include <tessera/collective/accumulator.hpp>
#include <tessera/core/info.hpp>
#include <tessera/core/per_element.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/stencil_problem.hpp>
#include <tessera/core/types.hpp>
#include <tessera/ranks/halo.hpp>

namespace tessera::finite_difference {

struct FiniteDifference : StencilProblem, PerElement<2, 1> {
  static constexpr AppInfo info{.name = "finite_difference",
                                .summary = "out[i] = in[i + 1] - in[i], last of each segment 0",
                                .traffic = {.pattern = Traffic::Pattern::halo, .launches = 2}};
  static constexpr bool short_floats = true;

  static constexpr std::array data = data_kinds;
  static constexpr int reference_doubles = 1;

  /// A rank's last element needs one from the next rank.
  [[nodiscard]] static ranks::Reach reach(std::vector<Shape> const&, Parameters const&) { return {.behind = 1}; }

  template <class T>
  [[nodiscard]] static std::vector<ExpectedField> reference(Input<T, Kokkos::HostSpace> const& input);
};

/// next - own; integers wrap.
template <class T>
[[nodiscard]] KOKKOS_INLINE_FUNCTION T difference(T const& own, T const& next) {
  using Wide = collective::Accumulator<T>;
  return static_cast<T>(static_cast<Wide>(next) - static_cast<Wide>(own));
}

/// The operator of an element and the next one, for variants whose lanes or threads share elements
/// (thread/forward_stencil.hpp).
template <class T>
struct Difference {
  static constexpr int reach = 1;
  [[nodiscard]] KOKKOS_FUNCTION T operator()(T const* window, int present) const {
    T const result = difference(window[0], window[1]);  // computed before the choice, which then needs no branch
    return present > 1 ? result : T(0);
  }
};

}  // namespace tessera::finite_difference
