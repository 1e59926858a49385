/// \file
/// The serial oracle of divide_by_mean: the sum of a row in twice double precision, or in double if a grid proves that
/// it is not rounded (verify/grid.hpp). Quotients of doubles in long double, all others in double: that error is 2^-28
/// of a bound.
///
/// Error bound. With u the unit roundoff, s the longest chain of roundings and g = (1 + u)^s - 1, the relative error of
/// a row's mean is at most d = g C + m / |mean|, with C = (sum |a|) / |sum a| and the smallest number m, which matters
/// below the normal range (Higham, Accuracy and Stability of Numerical Algorithms, 3.1 and 4.2). The quotient is then
/// wrong by at most |out| (g (1 + C) + m / |mean|) / (1 - d). Nothing is known if d is 1/2 or more: a row is unchecked
/// if its elements cancel. The part of m is stated in units of u, in the scale: a row has at least one rounding. If it
/// is u or more, the whole bound is an offset: a scale is multiplied by all roundings.
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
#include <type_traits>
#include <vector>

#include "problem.hpp"

#include <tessera/core/host_threads.hpp>
#include <tessera/table/references.hpp>
#include <tessera/verify/exact_sum.hpp>
#include <tessera/verify/grid.hpp>
#include <tessera/verify/joined.hpp>
#include <tessera/verify/plain_sums.hpp>
#include <tessera/verify/wide.hpp>

namespace tessera::divide_by_mean {

namespace {

// The expected elements of rows of the input.
template <class T>
class RowOracle {
 public:
  explicit RowOracle(DivideByMean::Input<T, Kokkos::HostSpace> const& input)
      : input_(input),
        growth_(std::expm1(DivideByMean::rounding_steps({{input.a.extent(0), input.a.extent(1)}}, input.parameters) *
                           unit)) {
    std::size_t const cols = input.a.extent(1);
    exact_steps_ = static_cast<std::size_t>(static_cast<long double>(static_cast<A>(cols))) == cols ? 2 : 3;
  }

  // Row `i` of the result is row `row_at(i)`. Rows are independent: some rows are a serial loop, and several of these
  // loops run in parallel.
  template <class RowAt>
  [[nodiscard]] ExpectedField answer(std::size_t rows, RowAt const& row_at) const {
    std::size_t const cols = input_.a.extent(1);
    BoundedElements<T> out("out", {rows, cols}, true);
    for_blocks(rows, blocks_in(1 << 16, std::max<std::size_t>(1, cols)),
               [&](std::size_t, std::size_t begin, std::size_t end) {
                 for (std::size_t r = begin; r < end; ++r) answer(row_at(r), out, r);
               });
    return out.take();
  }

 private:
  // Row `r` of the input becomes row `to` of the output.
  void answer(std::size_t r, BoundedElements<T>& out, std::size_t to) const {
    std::size_t const cols = input_.a.extent(1);
    T const* const a = input_.a.data() + r * cols;
    verify::Grid const grid = verify::grid_of(a, cols);
    auto [total, magnitude] = verify::plain_sums(a, cols);
    double lost = 0;  // by the sum in double
    if (!grid.template holds<double>(magnitude)) {
      verify::ExactSum sum;
      magnitude = 0;
      for (std::size_t c = 0; c < cols; ++c) {
        auto const element = static_cast<double>(a[c]);
        sum.add(element);
        magnitude += std::abs(element);
      }
      total = sum.value();
      sum.add(-total);
      lost = sum.value();
    }
    bool const exact_sum = grid.template holds<A>(magnitude);
    Wide mean = total;
    if (std::isfinite(total) && std::isfinite(magnitude)) {
      mean = (mean + static_cast<Wide>(lost)) / static_cast<Wide>(cols);
      magnitude /= static_cast<double>(cols);
    } else {  // beyond the range of double, or not finite
      std::tie(mean, magnitude) = verify::means_of_huge(a, cols);
    }
    auto const size = static_cast<double>(std::abs(mean));
    bool const finite = std::isfinite(size);
    bool const zero = mean == 0;  // not `size`: a double may not hold the mean of denormals
    bool const exact = exact_sum && (zero || size >= 2 * smallest_normal);
    double const cancelled = magnitude / size;
    double const wrong = growth_ * cancelled + smallest / size;
    bool const rounded = finite && !(exact && zero);  // else NaN, infinities and zeros, whatever is rounded
    bool const unknown = rounded && !exact && !(wrong < 0.5);
    double of_offset = 0;
    double of_scale = 0;
    if (rounded && exact) {
      of_offset = exact_steps_ * unit / (1 - exact_steps_ * unit);
    } else if (rounded && !unknown && smallest / size >= unit) {
      of_offset = (growth_ * (1 + cancelled) + smallest / size) / (1 - wrong);
    } else if (rounded && !unknown) {
      of_scale = (1 + cancelled + smallest / size / unit) / (1 - wrong);
    }
    for (std::size_t c = 0; c < cols; ++c) {
      auto const value = static_cast<double>(static_cast<Wide>(a[c]) / mean);
      double const quotient = std::abs(value);
      // A factor of 0 means 0, also of an infinite quotient.
      out.set(to * cols + c, {.value = value,
                              .scale = unknown        ? infinity
                                       : of_scale > 0 ? quotient * of_scale
                                                      : 0,
                              .offset = of_offset > 0 ? quotient * of_offset : 0});
    }
  }

  using A = Arithmetic<T>;
  using Wide = std::conditional_t<std::is_same_v<T, double>, long double, double>;
  static constexpr double unit = unit_roundoff(dtype_of<A>);
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  static constexpr auto smallest = static_cast<double>(std::numeric_limits<A>::denorm_min());
  static constexpr auto smallest_normal = static_cast<double>(std::numeric_limits<A>::min());

  DivideByMean::Input<T, Kokkos::HostSpace> const& input_;
  double growth_;
  double exact_steps_ = 0;
};

}  // namespace

template <class T>
ExpectedField DivideByMean::reference_of_rows(Input<T, Kokkos::HostSpace> const& input,
                                              std::vector<std::size_t> const& rows) {
  return RowOracle<T>(input).answer(rows.size(), [&](std::size_t i) { return rows[i]; });
}

template <class T>
std::vector<ExpectedField> DivideByMean::reference(Input<T, Kokkos::HostSpace> const& input) {
  return list_of(RowOracle<T>(input).answer(input.a.extent(0), [](std::size_t i) { return i; }));
}

}  // namespace tessera::divide_by_mean

template struct tessera::References<tessera::divide_by_mean::DivideByMean>;
