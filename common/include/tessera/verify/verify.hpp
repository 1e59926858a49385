#pragma once
/// \file
/// Compares a variant's output with the reference, element by element, against the bound from error analysis.
///
/// With u = unit_roundoff(arithmetic_of(dtype)), an element with reference value v, scale s and offset o passes if
///
///     |actual - v| <= expm1(steps * u) * s + o + steps * denorm_min + ulp(v) / 2.
///
/// - expm1(steps * u) * s: the product of `steps` roundings, (1 + u)^steps - 1, times the magnitudes that enter (N.
///   Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 3.1).
/// - o: the part of the error that is the same in any order of operations.
/// - steps * denorm_min: the loss of results below the normal range, at most denorm_min per step.
/// - ulp(v) / 2: v is wider than the dtype and may lie between two of its numbers.
///
/// Results in half and bfloat16 are sums in float that are rounded once, when they are stored: u and denorm_min belong
/// to float, and the last term is that one rounding, in ulps of the dtype at the largest magnitude that the bound
/// allows. With the dtype's own u the bound of a chain of 256 steps would be as large as the result, and the check
/// could not fail.
///
/// For random data (`statistical`) the bound uses the smaller of `steps * u` and
///
///     8 sqrt(steps) u + steps u^2 / (1 - u),
///
/// which is smaller from 64 steps on. Roundings of random data are practically independent. If their mean is 0, their
/// product differs from 1 by more than this with a probability below 2 exp(-32) = 2.6e-14 (N. Higham, T. Mary, A new
/// approach to probabilistic rounding error analysis, SIAM J. Sci. Comput. 41, 2019, theorem 2.4 with lambda = 8).
///
/// In a long sum of one sign the mean is not 0: a term below half an ulp of the sum is lost. If the terms are
/// exponentials of uniform numbers from -L to 0, those lost at a sum of i terms are the part (i u / L - exp(-L)) / (1 -
/// exp(-L)) of the next term on average. Over the chain that is less than steps u (1/16 + steps u / 4) for every L
/// (computed for steps u up to 1). The bound grows by this part of the value, so that sums that cancel gain nothing.
/// Data from files may have any distribution, also be constant: they keep the bound that always holds.
///
/// For random data, a reference may state a tighter bound for sums of terms that are each computed first, with an
/// error, and have independent signs (gradients summed over rows: the sign of a term is the random sign of the
/// gradient). Let the error of term r be at most g C_r. The error changes its sign with the term, because rounding to
/// nearest and truncation are both symmetric. So the errors have independent signs, and Hoeffding's inequality as above
/// gives the bound 8 g sqrt(sum C_r^2) for an error stated as relative (ReducedPrecision). For roundings that are
/// themselves independent, the same inequality over all of them gives g sqrt(sum C_r^2). With S = sqrt(sum C_r^2),
/// `random_spread` = S, and `random_scale` = S + the error of the sum itself, the bound is
///
///     growth random_scale + (max(growth of random data - growth, 0) + 7 relative) random_spread.
///
/// A row whose arithmetic differs from the dtype's arithmetic (factors with fewer bits, truncated sums) states the
/// largest error of this arithmetic (ReducedPrecision): a relative error, which is multiplied by s and added to the
/// first term, also for random data; and an absolute error. If the reference has proved that nothing is rounded,
/// results must be equal, unless the row states that it rounds these data.
///
/// A row that rounds the factors of its products to bfloat16 (`ReducedPrecision::bfloat16_factors`) is compared by the
/// field's bounds for it: `bfloat16_offset` replaces o, and `bfloat16_scale`, if there is one, replaces s. If the field
/// has no such bounds, the row fails.
///
/// A row that adds by atomics that flush denormals loses the smallest normal number per step instead of denorm_min
/// (`flushes_denormals`). This also applies if the row is exact but so small that its sums may be denormal; nothing
/// else grows. If the field's terms lie on a grid of normal numbers (`ExpectedField::grid`), no sum is denormal, and
/// nothing is added.
///
/// - An integer may differ by o, and by nothing else: sums of values that were rounded to integers.
/// - Exact comparison (integers without an offset; or no offset, and scale empty or 0 or no rounding_steps): `actual`
///   must equal v rounded to the dtype once; +0 equals -0. If a sum of several terms is rounded this way
///   (`ExpectedField::rounded_sums`), an error below half an ulp cannot be detected: the verdict's sensitivity accounts
///   for it.
/// - NaN requires NaN, an infinity requires the same infinity.
/// - If v is so large that rounding within the bound may overflow, an infinity is correct, and so is a finite value
///   within the bound.
/// - A scale or offset of infinity means that nothing is known: the element is counted as unchecked, with any value.
///   Elements that must be NaN or an infinity are checked.

#include <cstddef>
#include <limits>
#include <string>

#include <tessera/core/types.hpp>

namespace tessera {

/// The parameters of a row's bounds that do not come from the reference: its chain of roundings.
struct Chain {
  // Not explicit: a number of steps converts to a chain.
  Chain(double steps, bool of_random_data = false, bool by_flushing_atomics = false,
        ReducedPrecision reduced_precision = {})
      : rounding_steps(steps),
        statistical(of_random_data),
        flushes_denormals(by_flushing_atomics),
        reduced(reduced_precision) {}

  double rounding_steps;     ///< the longest chain of roundings that leads to an element
  bool statistical;          ///< the data are random
  bool flushes_denormals;    ///< sums by atomics that flush denormals
  ReducedPrecision reduced;  ///< errors that are not a chain of independent roundings
};

/// Returns the bound of (1 + u)^steps - 1, see above.
[[nodiscard]] double growth_of(double steps, double unit, bool statistical);

/// The coverage of a comparison: what it could detect in a field, or in a rank's part of a field.
struct Coverage {
  std::size_t count = 0;      ///< elements compared, including unchecked elements
  std::size_t unchecked = 0;  ///< elements that the reference says nothing about
  bool blind = false;         ///< all elements of the field, or of some rank's part, are unchecked
  double largest_bound = 0;
  double least_bound = std::numeric_limits<double>::infinity();  ///< relative to the element's value
  std::size_t finite = 0;                                        ///< checked elements whose expected value is finite
  double squares = 0;                                            ///< sum of the squares of their values
  double term_squares = 0;                                       ///< sum of the squares of their terms' magnitudes
  double largest = 0;                                            ///< largest of their values
  double false_alarms = 0;  ///< not 0: the elements were not compared, but judged by a Statistic

  /// Adds the coverage of further elements.
  void merge(Coverage const& other);
  /// Returns the largest bound divided by the root mean square of the expected values; 0 if all elements must be exact.
  [[nodiscard]] double sensitivity() const;
  /// Returns the same divided by the root mean square of the terms' magnitudes, if these are larger: for sums that
  /// cancel.
  [[nodiscard]] double of_terms() const;
  /// Returns the smallest ratio of a bound to its element's value, over all elements; 0 if one element must be exact.
  [[nodiscard]] double sharpest() const { return finite == 0 ? 0 : least_bound; }
};

/// Elements of the smallest tile that any variant works on, and may lose.
inline constexpr std::size_t smallest_tile = 256;

/// Returns why a comparison could not have detected one lost tile, or nothing if it could. `terms` is the number of
/// terms in the longest sum.
/// - Unchecked elements: as many as a tile has, at any positions, because a tile may have any shape. A field of fewer
///   than two tiles may be divided between two workers; half of the field then counts as a tile. The same holds if a
///   rank's whole part is unchecked.
/// - A tile of t of a sum's n equal terms is t / n of the sum. With random signs it is more: sqrt(t / n) of the sum's
///   magnitude.
/// - A sum of at most as many terms as a tile loses all of them. The bound is then compared with the terms, because the
///   sum may have cancelled.
[[nodiscard]] std::string weakness_of(Coverage const& seen, ExpectedField const& expected, double terms);

struct Verdict {
  bool passed = false;
  Coverage seen;
  std::size_t wrong = 0;  ///< elements outside their bound
  std::size_t first_wrong = 0;
  double expected = 0;  ///< expected value at first_wrong
  double actual = 0;    ///< actual value at first_wrong
  double worst = 0;     ///< largest error divided by its bound: 0 if all are exact, infinity if the bound is 0
  std::size_t worst_index = 0;
  std::string message;  ///< empty if passed, otherwise one line
};

/// For a row that writes the whole field.
inline constexpr std::size_t all_elements = std::numeric_limits<std::size_t>::max();

/// Compares `actual` with the reference. A different name, shape or size gives a failed verdict with a message. A row
/// may write only the first `written` elements of a field: these are compared, and the others must still contain
/// `poison_value`. If all are right, the reference's Statistic judges the field, if it has one.
[[nodiscard]] Verdict verify(ExpectedField const& expected, HostField const& actual, Chain const& chain,
                             std::size_t written = all_elements);

/// Judges the values of a row that no reference knows, by ExpectedField::of_own_values. A field without elements
/// passes.
[[nodiscard]] Verdict verify_own_values(ExpectedField const& expected, HostField const& actual);

/// Compares `actual` with values from a file, which were rounded to the dtype when they were stored: the bound grows by
/// half an ulp. Only the bounds in `scale` are used. Only the first `written` elements are compared; the others are not
/// checked.
[[nodiscard]] Verdict verify_against_file(HostField const& file_expected, ExpectedField const& scale,
                                          HostField const& actual, Chain const& chain,
                                          std::size_t written = all_elements);

/// Frees memory that the comparison with results of `dtype` does not need. No verdict changes.
/// - Drops a scale that is 0 everywhere.
/// - Converts the values of a large field to floats, if each is a float or is rounded to one before it is compared.
void make_narrow(ExpectedField& expected, DType dtype);

/// True if dtype, shape and every bit agree (-0 differs from +0, and a NaN equals the same NaN). Names may differ.
[[nodiscard]] bool same_bits(HostField const& a, HostField const& b);

}  // namespace tessera
