/// \file
/// The serial oracle of segmented_sum: a loop over the elements of a part, with every sum in twice double precision. A
/// segment that lies in several parts gets their sums in order. Integers wrap, and must be equal.
///
/// If all elements of a segment lie on one grid on which the dtype holds the sum of their magnitudes, every partial sum
/// is exact in any order (verify/grid.hpp): results must be equal, scale 0.
///
/// Error bound otherwise, as in axis_sum: the elements are added in some tree of additions. With k the longest chain of
/// additions and u the unit roundoff, the error is at most ((1 + u)^k - 1) * sum |in| (Higham, Accuracy and Stability
/// of Numerical Algorithms, 4.2). The scale is sum |in|; the variant reports k.

#include <algorithm>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "problem.hpp"

#include <tessera/core/host_threads.hpp>
#include <tessera/table/references.hpp>
#include <tessera/verify/moved_keys.hpp>
#include <tessera/verify/sum_oracle.hpp>

namespace tessera::segmented_sum {

// Not in an anonymous namespace: lambdas capture them, and g++ warns of that in units of joined files.

// What a part of the elements adds to a segment that begins before it or ends behind it.
template <class T>
struct OpenSum {
  std::size_t row;
  verify::SumOracle<T> sum;
};

template <class T>
struct PartSums {
  std::vector<OpenSum<T>> open;  // at most two
  double grid = std::numeric_limits<double>::infinity();
  bool all_exact = true;
};

template <class T>
std::vector<ExpectedField> SegmentedSum::reference(Input<T, Kokkos::HostSpace> const& input) {
  std::size_t const rows = input.offsets.extent(0) - 1;
  auto const offset = [&](std::size_t r) { return static_cast<std::size_t>(input.offsets(r)); };
  constexpr bool is_integer = std::is_integral_v<T>;
  ExpectedField out = zero_field("out", {is_integer ? 0 : rows}, true);
  std::vector<T> integers(is_integer ? rows : 0);
  auto const store = [&](PartSums<T>& of_part, std::size_t row, verify::SumOracle<T> const& sum) {
    if constexpr (is_integer) {
      integers[row] = sum.integer();
    } else {
      bool const exact = sum.is_exact();
      out.value[row] = sum.value();
      out.scale[row] = exact ? 0 : sum.scale();
      of_part.grid = std::min(of_part.grid, sum.spacing());
      of_part.all_exact = of_part.all_exact && exact;
    }
  };
  std::vector<PartSums<T>> parts(blocks_in(input.in.extent(0), part_elements()));
  for_blocks(input.in.extent(0), part_elements(), [&](std::size_t part, std::size_t begin, std::size_t end) {
    // The segment of the part's first element: the last one that begins there or before. Empty ones stay 0.
    std::int64_t const* const first = input.offsets.data();
    auto row =
        static_cast<std::size_t>(std::upper_bound(first, first + rows, static_cast<std::int64_t>(begin)) - first);
    for (row -= std::min<std::size_t>(row, 1); row < rows && offset(row) < end; ++row) {
      std::size_t const from = std::max(begin, offset(row));
      std::size_t const to = std::min(end, offset(row + 1));
      if (from >= to) continue;
      verify::SumOracle<T> sum;
      for (std::size_t i = from; i < to; ++i) sum.add(input.in(i));
      if (offset(row) >= begin && offset(row + 1) <= end) {
        store(parts[part], row, sum);
      } else {
        parts[part].open.push_back({row, sum});
      }
    }
  });

  PartSums<T> joined;
  std::vector<OpenSum<T>> open;
  for (PartSums<T> const& part : parts) {
    joined.grid = std::min(joined.grid, part.grid);
    joined.all_exact = joined.all_exact && part.all_exact;
    for (OpenSum<T> const& one : part.open) {
      if (open.empty() || open.back().row != one.row) {
        open.push_back(one);
      } else {
        open.back().sum.merge(one.sum);
      }
    }
  }
  for (OpenSum<T> const& one : open) store(joined, one.row, one.sum);
  out.grid = joined.grid;
  if (joined.all_exact) out.scale.clear();
  if constexpr (is_integer) out = verify::moved("out", std::move(integers));
  std::size_t longest = 0;
  for (std::size_t r = 0; r < rows; ++r)
    longest = std::max(longest, offset(r + 1) - std::min(offset(r), offset(r + 1)));
  out.terms = static_cast<double>(longest);
  return list_of(std::move(out));
}

}  // namespace tessera::segmented_sum

template struct tessera::References<tessera::segmented_sum::SegmentedSum>;
