/// \file
/// The serial oracle of divide_by_mean: the sum of a row in twice double precision, quotients in long double.
///
/// Error bound. With u the unit roundoff, s the longest chain of roundings and g = (1 + u)^s - 1, the relative error of
/// a row's mean is at most d = g C + m / |mean|, with C = (sum |a|) / |sum a| and the smallest number m, which matters
/// below the normal range (Higham, Accuracy and Stability of Numerical Algorithms, 3.1 and 4.2). The quotient is then
/// wrong by at most |out| (g (1 + C) + m / |mean|) / (1 - d). Nothing is known if d is 1/2 or more: a row is unchecked
/// if its elements cancel.
///
/// If all sums are exact in any order (verify/grid.hpp), only the two divisions round, and the number of columns if the
/// dtype does not represent it: the scale is 0, the offset 2 or 3 units of |out|. An exact mean of 0 gives infinities
/// and NaN. A mean is within the dtype's range, so variants must compute it even if the sum is not.
///
/// There are no rows of integers, because a quotient is not an integer; the reference accepts them because every dtype
/// of a build needs a reference.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "problem.hpp"

#include <tessera/core/host_threads.hpp>
#include <tessera/table/references.hpp>
#include <tessera/verify/exact_sum.hpp>
#include <tessera/verify/grid.hpp>
#include <tessera/verify/wide.hpp>

namespace tessera::divide_by_mean {

template <class T>
std::vector<ExpectedField> DivideByMean::reference(Input<T, Kokkos::HostSpace> const& input) {
  using A = Arithmetic<T>;
  constexpr double unit = unit_roundoff(dtype_of<A>);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr auto smallest = static_cast<double>(std::numeric_limits<A>::denorm_min());
  constexpr auto smallest_normal = static_cast<double>(std::numeric_limits<A>::min());
  std::size_t const rows = input.a.extent(0);
  std::size_t const cols = input.a.extent(1);
  double const growth = std::expm1(rounding_steps({{rows, cols}}, input.parameters) * unit);
  double const exact_steps = static_cast<std::size_t>(static_cast<long double>(static_cast<A>(cols))) == cols ? 2 : 3;

  ExpectedField out = zero_field("out", {rows, cols}, true);
  out.offset.resize(rows * cols);
  auto const one_row = [&](std::size_t r) {
    verify::ExactSum sum;
    verify::Grid grid;
    double magnitude = 0;
    for (std::size_t c = 0; c < cols; ++c) {
      auto const element = static_cast<double>(input.a(r, c));
      sum.add(element);
      grid.add(element);
      magnitude += std::abs(element);
    }
    double const total = sum.value();
    bool const exact_sum = grid.template holds<A>(magnitude);
    long double mean = total;
    if (std::isfinite(total) && std::isfinite(magnitude)) {
      sum.add(-total);  // leaves what the sum in double has lost
      mean = (mean + sum.value()) / static_cast<long double>(cols);
      magnitude /= static_cast<double>(cols);
    } else {  // beyond the range of double, or not finite
      std::tie(mean, magnitude) = verify::means_of_huge(&input.a(r, 0), cols);
    }
    auto const size = static_cast<double>(std::abs(mean));
    bool const finite = std::isfinite(size);
    bool const zero = mean == 0;  // not `size`: a double may not hold the mean of denormals
    bool const exact = exact_sum && (zero || size >= 2 * smallest_normal);
    double const cancelled = magnitude / size;
    double const wrong = growth * cancelled + smallest / size;
    for (std::size_t c = 0; c < cols; ++c) {
      std::size_t const i = r * cols + c;
      out.value[i] = static_cast<double>(static_cast<long double>(input.a(r, c)) / mean);
      double const quotient = std::abs(out.value[i]);
      if (!finite || (exact && zero)) continue;  // NaN, infinities and zeros, whatever is rounded
      if (exact) {
        out.offset[i] = quotient * (exact_steps * unit / (1 - exact_steps * unit));
      } else if (!(wrong < 0.5)) {
        out.scale[i] = infinity;
      } else {
        out.scale[i] = quotient * ((1 + cancelled) / (1 - wrong));
        out.offset[i] = quotient * (smallest / size / (1 - wrong));
      }
    }
  };
  // Rows are independent: some rows are a serial loop, and several of these loops run in parallel.
  for_blocks(rows, blocks_in(1 << 16, std::max<std::size_t>(1, cols)),
             [&](std::size_t, std::size_t begin, std::size_t end) {
               for (std::size_t r = begin; r < end; ++r) one_row(r);
             });
  return list_of(std::move(out));
}

}  // namespace tessera::divide_by_mean

template struct tessera::References<tessera::divide_by_mean::DivideByMean>;
