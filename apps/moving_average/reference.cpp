/// \file
/// The serial oracle of moving_average: sum and mean of up to three elements, in twice double precision. If a grid
/// proves that a sum in double is not rounded (verify/grid.hpp), that sum and its quotient are the same numbers.
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
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <mutex>
#include <tuple>
#include <utility>

#include "problem.hpp"

#include <tessera/core/host_threads.hpp>
#include <tessera/table/references.hpp>
#include <tessera/verify/exact_sum.hpp>
#include <tessera/verify/grid.hpp>
#include <tessera/verify/joined.hpp>
#include <tessera/verify/wide.hpp>

namespace tessera::moving_average {

namespace {

// Returns the mean of some elements in twice double precision.
template <class T>
double wide_mean(T const* elements, std::size_t present) {
  verify::ExactSum sum;
  for (std::size_t j = 0; j < present; ++j) sum.add(static_cast<double>(elements[j]));
  auto const count = static_cast<double>(present);
  double mean = sum.value() / count;
  if (std::isfinite(mean)) {  // adds the remainder of the division and of the sum's rounding
    sum.add_product(-count, mean);
    mean += sum.value() / count;
  }
  return mean;
}

template <class T>
double largest_magnitude(T const* elements, std::size_t count) {
  std::uint64_t largest = 0;  // by its bits, which are in the same order
  for (std::size_t j = 0; j < count; ++j) {
    largest = std::max(largest, std::bit_cast<std::uint64_t>(std::abs(static_cast<double>(elements[j]))));
  }
  return std::bit_cast<double>(largest);
}

}  // namespace

template <class T>
std::vector<ExpectedField> MovingAverage::reference(Input<T, Kokkos::HostSpace> const& input) {
  std::size_t const n = input.in.extent(0);
  std::size_t const segment = input.parameters.segment;
  std::size_t const first = input.parameters.first;
  using A = Arithmetic<T>;
  constexpr double unit = unit_roundoff(dtype_of<A>);
  double const safe_from_underflow = 2 * static_cast<double>(std::numeric_limits<A>::min());
  ExpectedField out{.name = "out", .shape = {n}, .value = zeros(n), .scale = {}, .offset = zeros(n)};
  std::once_flag of_scales;  // most exact data need none
  T const* const in = input.in.data();
  auto const one = [&](std::size_t i, std::size_t present) {
    double sum = 0;
    double magnitude = 0;
    verify::Grid grid;
    for (std::size_t j = i; j < i + present; ++j) {
      auto const value = static_cast<double>(in[j]);
      grid.add(value);
      sum += value;
      if (std::isfinite(value)) magnitude += std::abs(value);
    }
    auto const count = static_cast<double>(present);
    double mean = sum / count;
    double of_magnitudes = magnitude / count;
    if (!grid.holds<double>(magnitude)) mean = wide_mean(in + i, present);
    if (!std::isfinite(magnitude)) {  // beyond double's range
      std::tie(mean, of_magnitudes) = verify::means_of_huge(in + i, present);
    }
    out.value[i] = mean;
    if (present == 1) return;
    if (Floating<T> && grid.holds<A>(magnitude) && (mean == 0 || std::abs(mean) >= safe_from_underflow)) {
      out.offset[i] = present == 3 ? (2 + unit) * unit * std::abs(mean) : 0;
      return;
    }
    std::call_once(of_scales, [&] { out.scale = zeros(n); });
    out.scale[i] = of_magnitudes;
  };
  // Three elements each, if a grid proves it for all of them: one() would find the same numbers. Returns false if not.
  auto const plain = [&](std::size_t begin, std::size_t end) {
    if (begin >= end) return true;
    double const largest = largest_magnitude(in + begin, end - begin + 2);
    if (!verify::grid_of(in + begin, end - begin + 2).template holds<A>(4 * largest)) return false;
    std::size_t small = 0;
    for (std::size_t i = begin; i < end; ++i) {
      double const sum =
          0.0 + static_cast<double>(in[i]) + static_cast<double>(in[i + 1]) + static_cast<double>(in[i + 2]);
      double const mean = sum / 3;
      out.value[i] = mean;
      out.offset[i] = (2 + unit) * unit * std::abs(mean);
      small += mean != 0 && std::abs(mean) < safe_from_underflow ? 1 : 0;
    }
    if (small == 0) return true;
    std::fill(out.offset.data() + begin, out.offset.data() + end, 0.0);  // one() writes no zeros
    return false;
  };
  // Parts of the result are independent: each is a serial loop, and several run in parallel.
  for_blocks(n, 1 << 16, [&](std::size_t, std::size_t begin, std::size_t end) {
    if constexpr (Floating<T>) {
      std::size_t const whole = std::min(end, n - std::min<std::size_t>(n, 2));
      if (segment == 0 && plain(begin, whole)) begin = std::max(begin, whole);
    }
    std::size_t place = segment == 0 ? 0 : (first + begin) % segment;  // of element i in its segment
    for (std::size_t i = begin; i < end; ++i) {
      // A segment may be so long that its end would overflow.
      std::size_t const to_end = segment == 0 ? n - i : std::min(n - i, segment - place);
      one(i, std::min<std::size_t>(3, to_end));
      if (++place == segment) place = 0;
    }
  });
  return list_of(std::move(out));
}

}  // namespace tessera::moving_average

template struct tessera::References<tessera::moving_average::MovingAverage>;
