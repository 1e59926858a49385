/// \file
/// The serial oracle of axis_sum: one loop over the elements, every sum in twice double precision.
///
/// Where all elements lie on one grid, and the sum of magnitudes of each row or column within the dtype's precision of
/// it, every partial sum is exact in any order (verify/grid.hpp): results must be equal, and there is no scale.
///
/// Error bound otherwise. The elements of a row or column are added in some tree of additions: with k the longest chain of them
/// and u the unit roundoff, the error is at most ((1 + u)^k - 1) * sum |a| (Higham, Accuracy and Stability of Numerical
/// Algorithms, 4.2). So the scale is that sum; k is the variant's. Nothing is lost to underflow: a sum of two numbers
/// that comes out below the normal range is exact. Where the sum of magnitudes exceeds the dtype's range, a partial sum
/// may overflow in one order and not in another: nothing can be asked (scale infinity). The products with ones that a
/// library makes are exact, and NaN and infinities go through them unchanged.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "problem.hpp"

#include <tessera/verify/exact_sum.hpp>
#include <tessera/verify/grid.hpp>

namespace tessera::axis_sum {

template <class T>
std::vector<ExpectedField> AxisSum::reference(Input<T, Kokkos::HostSpace> const& input) {
  std::size_t const rows = input.a.extent(0);
  std::size_t const cols = input.a.extent(1);
  bool const along_rows = input.parameters.axis == 1;
  std::size_t const n = along_rows ? rows : cols;
  ExpectedField out{.name = "out", .shape = {n}, .value = std::vector<double>(n), .scale = std::vector<double>(n)};
  if constexpr (std::is_integral_v<T>) {
    std::vector<std::uint32_t> sum(n);
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t c = 0; c < cols; ++c) sum[along_rows ? r : c] += static_cast<std::uint32_t>(input.a(r, c));
    }
    for (std::size_t i = 0; i < n; ++i) out.value[i] = static_cast<double>(static_cast<std::int32_t>(sum[i]));
  } else {
    std::vector<verify::ExactSum> sum(n);
    verify::Grid grid;
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t c = 0; c < cols; ++c) {
        std::size_t const i = along_rows ? r : c;
        auto const a = static_cast<double>(input.a(r, c));
        sum[i].add(a);
        grid.add(a);
        if (std::isfinite(a)) out.scale[i] += std::abs(a);
      }
    }
    double const most = n == 0 ? 0 : *std::max_element(out.scale.begin(), out.scale.end());
    bool const exact = grid.holds<T>(most);
    for (std::size_t i = 0; i < n; ++i) {
      out.value[i] = sum[i].value();
      bool const may_overflow = !(out.scale[i] <= static_cast<double>(std::numeric_limits<T>::max()));
      if (may_overflow) out.scale[i] = std::numeric_limits<double>::infinity();
    }
    if (exact) out.scale.clear();
  }
  return list_of(std::move(out));
}

template std::vector<ExpectedField> AxisSum::reference(Input<float, Kokkos::HostSpace> const&);
template std::vector<ExpectedField> AxisSum::reference(Input<double, Kokkos::HostSpace> const&);
template std::vector<ExpectedField> AxisSum::reference(Input<std::int32_t, Kokkos::HostSpace> const&);

}  // namespace tessera::axis_sum
