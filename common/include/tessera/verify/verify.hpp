#pragma once
/// \file
/// Compares a variant's output with the reference, element by element, against the bound that error analysis gives.
///
/// With u = unit_roundoff(arithmetic_of(dtype)), an element with reference value v, scale s and offset o passes when
///
///     !(|actual - v| <= expm1(steps * u) * s + o + steps * denorm_min + ulp(v) / 2)   is false.
///
/// - expm1(steps * u) * s: the product of `steps` roundings, (1 + u)^steps - 1, times the magnitudes that enter (N.
///   Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 3.1).
/// - o: the part of the error that no order of operations changes.
/// - steps * denorm_min: what results below the normal range lose instead, at most denorm_min a step.
/// - ulp(v) / 2: v is wider than the dtype and may lie between two of its numbers.
///
/// Results in half and bfloat16 are sums in float that are rounded once, when they are stored: u and denorm_min are float's, and
/// the last term is that one rounding, in ulps of the dtype and at the largest magnitude that the bound allows. With the dtype's
/// own u a chain of 256 steps would be off by as much as the result is, and a check that nothing can fail.
///
/// For random data (`statistical`) the bound takes the smaller of `steps * u` and
///
///     8 sqrt(steps) u + steps u^2 / (1 - u),
///
/// which is smaller from 64 steps on. Roundings of random data are as good as independent and of mean 0. Their product
/// then leaves 1 by more than that with a probability below 2 exp(-32) = 2.6e-14 (N. Higham, T. Mary, A new approach to
/// probabilistic rounding error analysis, SIAM J. Sci. Comput. 41, 2019, theorem 2.4 with lambda = 8). Data that
/// somebody gave may be anything, also constant: they keep the bound that always holds.
///
/// Of sums over terms that are computed first, each with an error, and have independent signs (gradients summed over rows, whose signs
/// are drawn with the gradient's) a reference may say more for random data. Let term r be off by at most g C_r. Its error is turned
/// round where its sign is: every rounding that is made is symmetric, to nearest, and cutting off alike. So the errors' signs are
/// independent of each other, and 8 g sqrt(sum C_r^2) holds by Hoeffding's inequality as above: of an error stated as relative
/// (ReducedPrecision). Of roundings that are independent themselves it is g sqrt(sum C_r^2), by the same inequality over all of them. With
/// S = sqrt(sum C_r^2), `random_spread`, and `random_scale` = S + what the sum itself may lose, the bound is
///
///     growth random_scale + (growth of random data - growth, if more + 7 relative) random_spread.
///
/// A row whose arithmetic is not the dtype's (factors of fewer bits, sums that are cut off) states what that costs at most
/// (ReducedPrecision): relative to s, which is added to the first term, also for random data; and absolute. Where the reference
/// has proved that nothing is rounded, results must be equal, unless the row says that it rounds these data.
///
/// A row that rounds the factors of its products to bfloat16 (`ReducedPrecision::bfloat16_factors`) is compared by the field's bounds for that:
/// `bfloat16_offset` in the place of o, and `bfloat16_scale`, if there is one, in that of s. A field without fails such a row.
///
/// A row that adds by atomics which flush denormals loses the smallest normal number a step instead of denorm_min
/// (`flushes_denormals`), also where it is exact but so small that its sums may be denormal; nothing else grows. If the field's
/// terms lie on a grid of normal numbers (`ExpectedField::grid`), no sum is denormal, and nothing is allowed.
///
/// - Exact comparison (integers; or no offset, and scale empty or 0 or no rounding_steps): `actual` must equal v
///   rounded to the dtype, once; +0 equals -0. Where a sum of several terms is rounded so (`ExpectedField::rounded_sums`), what is
///   less than half an ulp cannot be seen: the verdict's sensitivity says so.
/// - NaN needs NaN, an infinity needs the same infinity.
/// - Where v is so large that rounding may overflow within the bound, infinity is right as well as a finite value
///   within the bound.
/// - A scale or offset of infinity says that nothing is known: the element is counted as unchecked, whatever it holds.
///   Elements that must be NaN or an infinity are checked.

#include <cstddef>
#include <limits>
#include <string>

#include <tessera/core/types.hpp>

namespace tessera {

/// What the bounds of a row depend on, besides the reference: its chain of roundings.
struct Chain {
  // Not explicit: a number of steps is a chain.
  Chain(double steps, bool of_random_data = false, bool by_flushing_atomics = false,
        ReducedPrecision reduced_precision = {})
      : rounding_steps(steps),
        statistical(of_random_data),
        flushes_denormals(by_flushing_atomics),
        reduced(reduced_precision) {}

  double rounding_steps;     ///< the longest chain of roundings that leads to an element
  bool statistical;          ///< the data are random
  bool flushes_denormals;    ///< sums by atomics that do
  ReducedPrecision reduced;  ///< what is no chain of independent roundings
};

/// What ((1 + u)^steps - 1) is at most, see above.
[[nodiscard]] double growth_of(double steps, double unit, bool statistical);

/// What a comparison could see of a field, or of a rank's part of it.
struct Coverage {
  std::size_t count = 0;      ///< elements compared, with the unchecked ones
  std::size_t unchecked = 0;  ///< elements that the reference says nothing about
  bool blind = false;         ///< all elements, of the field or of some rank's part, are unchecked
  double largest_bound = 0;
  double least_bound = std::numeric_limits<double>::infinity();  ///< over the value it belongs to
  std::size_t finite = 0;                                        ///< checked elements whose expected value is finite
  double squares = 0;                                            ///< of their values
  double term_squares = 0;                                       ///< of the magnitudes of their terms
  double largest = 0;                                            ///< of their values

  /// Adds that of further elements.
  void merge(Coverage const& other);
  /// Largest bound over the root mean square of the expected values: 0 if all must be exact.
  [[nodiscard]] double sensitivity() const;
  /// The same over that of the terms' magnitudes, where these are larger: for sums that cancel.
  [[nodiscard]] double of_terms() const;
  /// Smallest bound over the value it belongs to, of all elements: 0 if one must be exact.
  [[nodiscard]] double sharpest() const { return finite == 0 ? 0 : least_bound; }
};

/// Elements of the smallest tile that any variant works on, and may lose.
inline constexpr std::size_t smallest_tile = 256;

/// Why a comparison could not have seen one lost tile, or nothing if it could. `terms` are those of the longest sum.
/// - Unchecked elements: as many as a tile has, wherever they are, since a tile may have any shape. A field of fewer than two
///   tiles may be dealt out to two workers: there half of it counts as a tile. The part of a rank does, too.
/// - A tile of t of a sum's n equal terms is t / n of the sum. With random signs it is more: sqrt(t / n) of the sum's
///   magnitude.
/// - A sum of no more terms than a tile loses all of them. There the bound is compared with the terms, since the sum may
///   have cancelled.
[[nodiscard]] std::string weakness_of(Coverage const& seen, ExpectedField const& expected, double terms);

struct Verdict {
  bool passed = false;
  Coverage seen;
  std::size_t wrong = 0;  ///< elements outside their bound
  std::size_t first_wrong = 0;
  double expected = 0;  ///< at first_wrong
  double actual = 0;    ///< at first_wrong
  double worst = 0;     ///< largest error in units of its bound: 0 if all are exact, infinity where the bound is 0
  std::size_t worst_index = 0;
  std::string message;  ///< empty when passed, else one line
};

/// For a row that writes a field to its end.
inline constexpr std::size_t all_elements = std::numeric_limits<std::size_t>::max();

/// Compares `actual` with the reference. A name, shape or size that differs is a failed verdict with a message. A row
/// may write only the first `written` elements of a field: these are compared, and the others must still hold
/// `poison_value`.
[[nodiscard]] Verdict verify(ExpectedField const& expected, HostField const& actual, Chain const& chain,
                             std::size_t written = all_elements);

/// Compares `actual` with values from a file, which were rounded to the dtype when they were stored: the bound grows by
/// one more half ulp. Only the bounds of `scale` are used. `written` as above; what follows is not looked at.
[[nodiscard]] Verdict verify_against_file(HostField const& file_expected, ExpectedField const& scale,
                                          HostField const& actual, Chain const& chain,
                                          std::size_t written = all_elements);

/// Frees memory that the comparison with results of `dtype` does not need. No verdict changes.
/// - A scale that is 0 everywhere is dropped.
/// - The values of a large field become floats, where each is a float, or is rounded to one before it is compared.
void make_narrow(ExpectedField& expected, DType dtype);

/// True if dtype, shape and every bit agree (so -0 differs from +0 and NaN equals the same NaN). Names may differ.
[[nodiscard]] bool same_bits(HostField const& a, HostField const& b);

}  // namespace tessera
