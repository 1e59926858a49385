#pragma once
/// \file
/// moving_average: out[i] = mean of in[i], in[i + 1], in[i + 2], without elements outside the segment.

#include <limits>
#include <vector>

#include <tessera/collective/in_range.hpp>
#include <tessera/core/info.hpp>
#include <tessera/core/per_element.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/stencil_problem.hpp>
#include <tessera/core/types.hpp>
#include <tessera/ranks/halo.hpp>

namespace tessera::moving_average {

struct MovingAverage : StencilProblem, PerElement<2, 3> {
  static constexpr AppInfo info{.name = "moving_average",
                                .summary = "out[i] = mean of in[i .. i + 2] inside the segment",
                                .traffic = {.pattern = Traffic::Pattern::halo, .launches = 2}};
  static constexpr bool short_floats = true;

  static constexpr std::array data = data_kinds;
  static constexpr int reference_doubles = 3;
  static constexpr int exact_reference_doubles = 2;

  /// Exact: whole numbers of 21 bits, so that the sum of three is exact; for 16-bit floats, as many bits as the dtype
  /// holds.
  template <class T>
  [[nodiscard]] static T element(Draw const& draw, Parameters const&) {
    constexpr unsigned bits = ShortFloat<T> ? std::numeric_limits<T>::digits : 21;
    return draw.data == DataKind::exact ? whole_value<T>(draw, bits) : drawn<T>(draw);
  }

  /// Counts two additions, the rounding of 1/3, and the multiplication by it.
  [[nodiscard]] static double rounding_steps(std::vector<Shape> const&, Parameters const&) { return 4; }

  /// A rank's last elements need two elements from the next ranks.
  [[nodiscard]] static ranks::Reach reach(std::vector<Shape> const&, Parameters const&) { return {.behind = 2}; }

  template <class T>
  [[nodiscard]] static std::vector<ExpectedField> reference(Input<T, Kokkos::HostSpace> const& input);
};

/// Returns the factor that turns a sum of `present` elements (1 to 3) into their mean; a multiplication is cheaper than
/// a division.
template <class T>
[[nodiscard]] KOKKOS_INLINE_FUNCTION constexpr T share_of(int present) {
  constexpr T third = T(1) / T(3);
  if (present > 2) return third;
  return present > 1 ? T(0.5) : T(1);
}

/// Returns the mean of `present` elements (1 to 3); the other elements must be 0. The sum may overflow; the mean does
/// not. There is no branch, so that compilers can vectorise over neighbours; a scale of 1 changes nothing.
template <class A>
[[nodiscard]] KOKKOS_INLINE_FUNCTION A mean_of(A first, A second, A third, int present) {
  bool const in_range = collective::is_in_range(first + second + third);
  A const scale = in_range ? A(1) : A(0.25);
  A const back = in_range ? A(1) : A(4);
  return (first * scale + second * scale + third * scale) * share_of<A>(present) * back;
}

/// The operator of an element and the next two, for variants whose lanes or threads share elements
/// (thread/forward_stencil.hpp).
template <class T>
struct ForwardMean {
  static constexpr int reach = 2;
  [[nodiscard]] KOKKOS_FUNCTION T operator()(T const* window, int present) const {
    using A = Arithmetic<T>;
    A const second = present > 1 ? A(window[1]) : A(0);
    A const third = present > 2 ? A(window[2]) : A(0);
    return mean_of(A(window[0]), second, third, present);
  }
};

}  // namespace tessera::moving_average
