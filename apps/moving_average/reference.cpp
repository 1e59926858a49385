/// \file
/// The serial oracle of moving_average: sum and mean of up to three elements, in twice double precision.
///
/// Error bound. A variant adds up to three elements one after the other and multiplies by 1, 1/2 or 1/3 rounded to the
/// dtype. in[i] has the longest chain: two additions, the rounding of 1/3 and the product. With u the unit roundoff the
/// error is at most ((1 + u)^4 - 1) * (|in[i]| + ...) / present (Higham, Accuracy and Stability of Numerical
/// Algorithms, 3.1). The scale is the mean of magnitudes. A single element is its own mean, which is exact. A mean is
/// within the dtype's range, and variants must compute it even if the sum is not.
///
/// If the sum is exact in any order (verify/grid.hpp), only the factor 1/3 and the product are rounded. The scale is
/// then 0, and an offset allows 2 u + u^2 of the mean; there is no offset for one or two elements, whose factor is
/// exact.
///
/// half and bfloat16 are computed in float, and the mean is rounded to the dtype once, when it is stored.
///
/// There are no rows of integers, because their mean is not an integer; the reference accepts them because every dtype
/// of a build needs a reference.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "problem.hpp"

#include <tessera/core/host_threads.hpp>
#include <tessera/table/references.hpp>
#include <tessera/verify/exact_sum.hpp>
#include <tessera/verify/grid.hpp>
#include <tessera/verify/wide.hpp>

namespace tessera::moving_average {

template <class T>
std::vector<ExpectedField> MovingAverage::reference(Input<T, Kokkos::HostSpace> const& input) {
  std::size_t const n = input.in.extent(0);
  std::size_t const segment = input.parameters.segment;
  std::size_t const first = input.parameters.first;
  using A = Arithmetic<T>;
  constexpr double unit = unit_roundoff(dtype_of<A>);
  double const safe_from_underflow = 2 * static_cast<double>(std::numeric_limits<A>::min());
  ExpectedField out = zero_field("out", {n});
  out.offset.resize(n);
  std::atomic<bool> all_exact = true;
  auto const one = [&](std::size_t i) {
    // A segment may be so long that its end would overflow.
    std::size_t const to_end = segment == 0 ? n - i : std::min(n - i, segment - (first + i) % segment);
    std::size_t const present = std::min<std::size_t>(3, to_end);
    verify::ExactSum sum;
    verify::Grid grid;
    double magnitude = 0;
    for (std::size_t j = i; j < i + present; ++j) {
      auto const value = static_cast<double>(input.in(j));
      sum.add(value);
      grid.add(value);
      if (std::isfinite(value)) magnitude += std::abs(value);
    }
    auto const count = static_cast<double>(present);
    double mean = sum.value() / count;
    if (std::isfinite(mean)) {  // adds the remainder of the division and of the sum's rounding
      sum.add_product(-count, mean);
      mean += sum.value() / count;
    }
    double of_magnitudes = magnitude / count;
    if (!std::isfinite(magnitude)) {  // beyond double's range
      std::tie(mean, of_magnitudes) = verify::means_of_huge(&input.in(i), present);
    }
    out.value[i] = mean;
    if (present == 1) return;
    if (Floating<T> && grid.holds<A>(magnitude) && (mean == 0 || std::abs(mean) >= safe_from_underflow)) {
      out.offset[i] = present == 3 ? (2 + unit) * unit * std::abs(mean) : 0;
      return;
    }
    all_exact = false;
    if (out.scale.empty()) return;
    out.scale[i] = of_magnitudes;
  };
  // Parts of the result are independent: each is a serial loop, and several run in parallel. The second sweep makes the
  // scales, if they are needed.
  auto const sweep = [&] {
    for_blocks(n, 1 << 16, [&](std::size_t, std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) one(i);
    });
  };
  sweep();
  if (!all_exact) {
    out.scale.resize(n);
    sweep();
  }
  return list_of(std::move(out));
}

}  // namespace tessera::moving_average

template struct tessera::References<tessera::moving_average::MovingAverage>;
