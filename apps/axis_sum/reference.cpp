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

namespace tessera::axis_sum {

namespace {

// What the oracle knows of a sum.
struct Sum {
  verify::ExactSum value;
  double magnitude = 0;
  std::uint32_t wrapped = 0;

  void merge(Sum const& other) {
    value.merge(other.value);
    magnitude += other.magnitude;
    wrapped += other.wrapped;
  }
};

// Of all rows or columns, and the grid of the elements.
struct Sums {
  std::vector<Sum> of;
  verify::Grid grid;
};

template <class T>
Sums sums_of(AxisSum::Input<T, Kokkos::HostSpace> const& input) {
  std::size_t const rows = input.a.extent(0);
  std::size_t const cols = input.a.extent(1);
  bool const along_rows = input.parameters.axis == 1;
  Sums sums{std::vector<Sum>(along_rows ? rows : cols), {}};
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < cols; ++c) {
      Sum& sum = sums.of[along_rows ? r : c];
      if constexpr (std::is_integral_v<T>) {
        sum.wrapped += static_cast<std::uint32_t>(input.a(r, c));
      } else {
        auto const a = static_cast<double>(input.a(r, c));
        sum.value.add(a);
        sums.grid.add(a);
        if (std::isfinite(a)) sum.magnitude += std::abs(a);
      }
    }
  }
  return sums;
}

template <class T>
std::vector<ExpectedField> expected(Sums const& sums) {
  std::size_t const n = sums.of.size();
  ExpectedField out{.name = "out", .shape = {n}, .value = std::vector<double>(n), .scale = std::vector<double>(n)};
  double most = 0;
  for (std::size_t i = 0; i < n; ++i) {
    Sum const& sum = sums.of[i];
    if constexpr (std::is_integral_v<T>) {
      out.value[i] = static_cast<double>(static_cast<std::int32_t>(sum.wrapped));
    } else {
      most = std::max(most, sum.magnitude);
      bool const may_overflow = !(sum.magnitude <= static_cast<double>(std::numeric_limits<Arithmetic<T>>::max()));
      out.value[i] = sum.value.value();
      out.scale[i] = may_overflow ? std::numeric_limits<double>::infinity() : sum.magnitude;
    }
  }
  if (!std::is_integral_v<T> && sums.grid.holds<Arithmetic<T>>(most)) {
    out.scale.clear();
    out.rounded_sums =
        ShortFloat<T> && std::ranges::any_of(out.value, [&](double sum) { return !sums.grid.holds<T>(std::abs(sum)); });
  }
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
  Sums own = sums_of(input);
  if (input.parameters.axis == 1) return expected<T>(own);
  Sums all{std::vector<Sum>(own.of.size()), {}};
  for (std::vector<Sum> const& of_rank : part.ranks.all_gather(own.of)) {
    for (std::size_t i = 0; i < all.of.size(); ++i) all.of[i].merge(of_rank[i]);
  }
  for (verify::Grid const& grid : part.ranks.all_gather(own.grid)) all.grid.merge(grid);
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
