/// \file
/// The serial oracle of axis_sum: one loop over the elements, every sum in twice double precision.
///
/// Where all elements of a row or column lie on one grid, and their sum of magnitudes within the dtype's precision of it,
/// every partial sum is exact in any order (verify/grid.hpp): the result must be equal, scale 0.
///
/// Error bound otherwise. The elements of a row or column are added in some tree of additions: with k the longest chain of them
/// and u the unit roundoff, the error is at most ((1 + u)^k - 1) * sum |a| (Higham, Accuracy and Stability of Numerical
/// Algorithms, 4.2). So the scale is that sum; k is the variant's. Nothing is lost to underflow: a sum of two numbers
/// that comes out below the normal range is exact. Where terms of both signs exceed the dtype's range, a partial
/// sum may overflow in one order and not in another: nothing can be asked (scale infinity, verify/wide.hpp). The products with ones that a
/// library makes are exact, and NaN and infinities go through them unchanged. Of half and bfloat16 all that is float's, and a sum
/// is rounded to the dtype once, when it is stored.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "problem.hpp"

#include <tessera/verify/exact_sum.hpp>
#include <tessera/verify/grid.hpp>
#include <tessera/verify/wide.hpp>

namespace tessera::axis_sum {

namespace {

// What the oracle knows of a sum.
struct Sum {
  verify::ExactSum value;
  double magnitude = 0;
  verify::Grid grid;
  std::uint32_t wrapped = 0;

  void merge(Sum const& other) {
    value.merge(other.value);
    magnitude += other.magnitude;
    grid.merge(other.grid);
    wrapped += other.wrapped;
  }
};

template <class T>
std::vector<Sum> sums_of(AxisSum::Input<T, Kokkos::HostSpace> const& input) {
  std::size_t const rows = input.a.extent(0);
  std::size_t const cols = input.a.extent(1);
  bool const along_rows = input.parameters.axis == 1;
  std::vector<Sum> sums(along_rows ? rows : cols);
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < cols; ++c) {
      Sum& sum = sums[along_rows ? r : c];
      if constexpr (std::is_integral_v<T>) {
        sum.wrapped += static_cast<std::uint32_t>(input.a(r, c));
      } else {
        auto const a = static_cast<double>(input.a(r, c));
        sum.value.add(a);
        sum.grid.add(a);
        if (std::isfinite(a)) sum.magnitude += std::abs(a);
      }
    }
  }
  return sums;
}

template <class T>
std::vector<ExpectedField> expected(std::vector<Sum> const& sums) {
  std::size_t const n = sums.size();
  ExpectedField out{.name = "out",
                    .shape = {n},
                    .value = std::vector<double>(n),
                    .scale = std::vector<double>(n),
                    .grid = std::numeric_limits<double>::infinity()};
  bool all_exact = true;
  for (std::size_t i = 0; i < n; ++i) {
    Sum const& sum = sums[i];
    if constexpr (std::is_integral_v<T>) {
      out.value[i] = static_cast<double>(static_cast<std::int32_t>(sum.wrapped));
    } else {
      double const value = sum.value.value();
      bool const exact = sum.grid.template holds<Arithmetic<T>>(sum.magnitude);
      out.value[i] = value;
      out.scale[i] = exact ? 0 : verify::scale_of_sum<Arithmetic<T>>(value, sum.magnitude);
      out.grid = std::min(out.grid, sum.grid.spacing());
      all_exact = all_exact && exact;
      if (ShortFloat<T> && exact && !sum.grid.template holds<T>(std::abs(value))) out.rounded_sums = true;
    }
  }
  if (all_exact) out.scale.clear();
  return list_of(std::move(out));
}

}  // namespace

template <class T>
std::vector<ExpectedField> AxisSum::reference(Input<T, Kokkos::HostSpace> const& input) {
  return expected<T>(sums_of(input));
}

// Sums of rows are this rank's alone; those of columns the sums of all ranks'.
template <class T>
std::vector<ExpectedField> AxisSum::reference_of_part(Input<T, Kokkos::HostSpace> const& input,
                                                      std::vector<ranks::Block> const&, ranks::Part const& part) {
  std::vector<Sum> const own = sums_of(input);
  if (input.parameters.axis == 1) return expected<T>(own);
  std::vector<Sum> all(own.size());
  for (std::vector<Sum> const& of_rank : part.ranks.all_gather(own)) {
    for (std::size_t i = 0; i < all.size(); ++i) all[i].merge(of_rank[i]);
  }
  return expected<T>(all);
}

template std::vector<ExpectedField> AxisSum::reference(Input<float, Kokkos::HostSpace> const&);
template std::vector<ExpectedField> AxisSum::reference(Input<double, Kokkos::HostSpace> const&);
template std::vector<ExpectedField> AxisSum::reference(Input<std::int32_t, Kokkos::HostSpace> const&);
template std::vector<ExpectedField> AxisSum::reference(Input<Half, Kokkos::HostSpace> const&);
template std::vector<ExpectedField> AxisSum::reference(Input<BFloat16, Kokkos::HostSpace> const&);
template std::vector<ExpectedField> AxisSum::reference_of_part(Input<float, Kokkos::HostSpace> const&,
                                                               std::vector<ranks::Block> const&, ranks::Part const&);
template std::vector<ExpectedField> AxisSum::reference_of_part(Input<double, Kokkos::HostSpace> const&,
                                                               std::vector<ranks::Block> const&, ranks::Part const&);
template std::vector<ExpectedField> AxisSum::reference_of_part(Input<std::int32_t, Kokkos::HostSpace> const&,
                                                               std::vector<ranks::Block> const&, ranks::Part const&);
template std::vector<ExpectedField> AxisSum::reference_of_part(Input<Half, Kokkos::HostSpace> const&,
                                                               std::vector<ranks::Block> const&, ranks::Part const&);
template std::vector<ExpectedField> AxisSum::reference_of_part(Input<BFloat16, Kokkos::HostSpace> const&,
                                                               std::vector<ranks::Block> const&, ranks::Part const&);

}  // namespace tessera::axis_sum
