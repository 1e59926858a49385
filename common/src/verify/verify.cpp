#include <tessera/verify/verify.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include <tessera/core/host_pool.hpp>
#include <tessera/core/host_threads.hpp>
#include <tessera/core/with_dtype.hpp>
#include <tessera/verify/compact.hpp>

namespace tessera {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// The bound for independent roundings of mean 0 (see the header).
double random_growth_of(double steps, double unit) {
  return std::expm1(8 * std::sqrt(steps) * unit + steps * unit * unit / (1 - unit));
}

/// Returns half the distance between `value` and the next number of the floating-point type T. `value` must not be NaN.
/// Reads the exponent's bits, because std::ilogb would take longer than everything else here.
template <class T>
double half_ulp(double value) {
  // For double, half the smallest denormal is not a number: it would be rounded to 0 (some compilers reject it).
  double smallest = 0;
  if constexpr (!std::is_same_v<T, double>) smallest = 0.5 * static_cast<double>(std::numeric_limits<T>::denorm_min());
  constexpr double largest =
      std::bit_cast<double>(std::uint64_t{std::numeric_limits<T>::max_exponent - 1 + 1023} << 52);
  // The power of two at or below |value|; beyond T's range ulps grow no further.
  double const power = std::bit_cast<double>(std::bit_cast<std::uint64_t>(value) & 0x7ff0'0000'0000'0000U);
  return std::max(std::min(power, largest) * unit_roundoff(dtype_of<T>), smallest);
}

/// The parts of an element's bound that do not depend on its scale and value.
struct Tolerance {
  double growth = 0;     ///< relative to the scale: expm1(steps * u)
  double of_means = 0;   ///< relative to the value, and to the scale if that is less
  double underflow = 0;  ///< absolute: steps * denorm_min, and the absolute error of reduced precision
  double flushed = 0;    ///< the same for an exact row whose atomics flush denormals
  double half_ulps = 1;  ///< of the expected value
  bool rounded_sums = false;
};

struct Error {
  double size;  ///< 0 if correct; NaN or infinity if no number describes the error
  double bound;
};

/// Compares one element; see the header for the rules. Inline, because a call would write the sums of the loop around
/// it to memory for each element.
template <class T>
[[gnu::always_inline]] inline Error error_of(double expected, double scale, double offset, double actual,
                                             Tolerance const& tolerance) {
  if constexpr (std::is_integral_v<T>) {
    // An int32 is exact in a double, and so is a count of elements in memory. From 2^53 on a double lacks the last bits
    // of an integer: such a field must be ExpectedField::moved.
    return {std::abs(expected) < 0x1p53 ? std::abs(actual - expected) : infinity, offset};
  } else {
    if (std::isnan(expected)) return {std::isnan(actual) ? 0 : infinity, 0};
    if ((scale == 0 || tolerance.growth == 0) && offset == 0) {
      auto const rounded = static_cast<double>(static_cast<T>(expected));
      // A sum that atomics may have flushed has denormals among its terms. If it is exact, it is below 2^p times the
      // smallest normal number.
      constexpr double smallest = static_cast<double>(std::numeric_limits<T>::min()) / unit_roundoff(dtype_of<T>);
      bool const may_be_flushed = tolerance.flushed > 0 && std::abs(expected) <= smallest;
      return {actual == rounded ? 0 : std::abs(actual - rounded), may_be_flushed ? tolerance.flushed : 0};
    }

    double const bound = tolerance.growth * scale + tolerance.of_means * std::min(std::abs(expected), scale) + offset +
                         tolerance.underflow;
    if (std::isinf(actual)) {  // correct for an infinity, and for a value that may overflow
      // Magnitudes from `overflow` on round to infinity in T. For double this limit is not a double: only a bound that
      // has itself overflowed reaches it.
      double overflow = infinity;
      if constexpr (!std::is_same_v<T, double>) {
        constexpr auto largest = static_cast<double>(std::numeric_limits<T>::max());
        overflow = largest + half_ulp<T>(largest);
      }
      bool const may_overflow = std::abs(expected) + bound >= overflow;
      return {may_overflow && std::signbit(expected) == std::signbit(actual) ? 0 : infinity, bound};
    }
    // A float sum is rounded at its actual value, which may be in the next binade.
    double const rounded_at = ShortFloat<T> ? std::abs(expected) + bound : expected;
    return {std::abs(actual - expected), bound + tolerance.half_ulps * half_ulp<T>(rounded_at)};
  }
}

/// Adds the verdict on the elements that follow. Verdicts are merged in the order of the elements.
void merge(Verdict& all, Verdict const& later) {
  if (all.wrong == 0) {
    all.first_wrong = later.first_wrong;
    all.expected = later.expected;
    all.actual = later.actual;
  }
  all.wrong += later.wrong;
  if (later.worst > all.worst) {
    all.worst = later.worst;
    all.worst_index = later.worst_index;
  }
  all.seen.merge(later.seen);
}

/// Elements that are compared together.
constexpr std::size_t compared_together = 64;

/// Elements that are compared together, as numbers of one type whatever the dtypes are: each loop is compiled once per
/// format of results. No loop over all of them has a branch, so that compilers make vectors.
using Numbers = std::array<double, compared_together>;
struct ElementsTogether {
  std::size_t count;
  Numbers value;
  Numbers scale;
  Numbers offset;
  Numbers found;
};

/// Converts `count` elements from `begin` on to double.
void load(DType dtype, void const* elements, std::size_t begin, std::size_t count, Numbers& to) {
  with_dtype(dtype, [&]<class T>() {
    auto const* const from = static_cast<T const*>(elements) + begin;
    for (std::size_t k = 0; k < count; ++k) to[k] = static_cast<double>(from[k]);
  });
}

/// The elements of a reference.
struct Expected {
  DType dtype;                    ///< of `values`
  void const* values;             ///< null: those of `compact`
  double const* scale;            ///< null: exact everywhere
  double const* offset;           ///< null: no offset
  CompactElement const* compact;  ///< not null: has the bounds in place of `scale` and `offset`
  bool exact;                     ///< no scale of `compact` counts

  void load_together(std::size_t begin, ElementsTogether& to) const {
    std::size_t const count = to.count;
    if (compact != nullptr) {
      for (std::size_t k = 0; k < count; ++k) {
        WholeElement const element = expanded(compact[begin + k]);
        to.value[k] = element.value;
        to.scale[k] = element.scale;
        to.offset[k] = element.offset;
      }
      if (exact) to.scale.fill(0);
    } else {
      auto const copy = [&](double const* from, Numbers& numbers) {
        if (from == nullptr) {
          numbers.fill(0);
        } else {
          std::copy_n(from + begin, count, numbers.begin());
        }
      };
      copy(scale, to.scale);
      copy(offset, to.offset);
    }
    if (values != nullptr) load(dtype, values, begin, count, to.value);
  }
};

/// Compares all elements at once. Returns false, with the verdict unchanged, if one of them is not finite, unchecked or
/// wrong, or if it sets a new worst error or least bound: these are compared one by one.
template <class T>
bool pass_together(ElementsTogether const& elements, Tolerance const& tolerance, Verdict& verdict) {
  if constexpr (!std::is_same_v<T, float> && !std::is_same_v<T, double>) {
    return false;
  } else {
    if (elements.count < compared_together || tolerance.flushed > 0) return false;
    using detail::chosen, detail::mask_if;
    constexpr std::size_t lanes = 8;
    Coverage& seen = verdict.seen;
    double const worst = verdict.worst;
    double const least_bound = seen.least_bound;
    Numbers bounds;  // NOLINT(cppcoreguidelines-pro-type-member-init): set below
    std::uint64_t const never_grows = mask_if(tolerance.growth == 0);
    std::uint64_t all_plain = ~std::uint64_t{0};
    for (std::size_t k = 0; k < compared_together; ++k) {
      double const wanted = elements.value[k];
      double const scale = elements.scale[k];
      double const offset = elements.offset[k];
      double const found = elements.found[k];
      double const magnitude = std::abs(wanted);
      std::uint64_t const exact = (mask_if(scale == 0) | never_grows) & mask_if(offset == 0);
      double const error = std::abs(found - chosen(exact, static_cast<double>(static_cast<T>(wanted)), wanted));
      double const less = chosen(mask_if(magnitude < scale), magnitude, scale);
      double const limit = tolerance.growth * scale + tolerance.of_means * less + offset + tolerance.underflow +
                           tolerance.half_ulps * half_ulp<T>(wanted);
      double const bound = chosen(exact, 0, limit);
      bounds[k] = bound;
      all_plain &= mask_if(magnitude < infinity) & mask_if(std::abs(found) < infinity) & mask_if(scale < infinity) &
                   mask_if(offset < infinity) & mask_if(error <= bound) & mask_if(error <= worst * bound) &
                   (mask_if(bound > 0) | mask_if(least_bound == 0)) & mask_if(bound >= least_bound * magnitude);
    }
    if (all_plain == 0) return false;
    std::array<double, lanes> squares{};
    std::array<double, lanes> term_squares{};
    std::array<double, lanes> largest{};
    std::array<double, lanes> largest_bound{};
    for (std::size_t k = 0; k < compared_together; k += lanes) {
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        double const magnitude = std::abs(elements.value[k + lane]);
        double const of_terms = std::max(magnitude, elements.scale[k + lane]);
        squares[lane] += magnitude * magnitude;
        term_squares[lane] += of_terms * of_terms;
        largest[lane] = std::max(largest[lane], magnitude);
        largest_bound[lane] = std::max(largest_bound[lane], bounds[k + lane]);
      }
    }
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      seen.squares += squares[lane];
      seen.term_squares += term_squares[lane];
      seen.largest = std::max(seen.largest, largest[lane]);
      seen.largest_bound = std::max(seen.largest_bound, largest_bound[lane]);
    }
    seen.finite += compared_together;
    return true;
  }
}

/// Compares elements begin .. end - 1. T: the format of the result; one type serves all integers.
template <class T>
Verdict compare(Expected const& expected, HostField const& actual, Tolerance const& tolerance, std::size_t begin,
                std::size_t end) {
  Verdict verdict;
  Coverage& seen = verdict.seen;
  seen.count = end - begin;
  ElementsTogether elements;  // NOLINT(cppcoreguidelines-pro-type-member-init): set by each turn
  for (; begin < end; begin += elements.count) {
    elements.count = std::min(end - begin, compared_together);
    expected.load_together(begin, elements);
    load(actual.dtype, actual.data.get(), begin, elements.count, elements.found);
    if (pass_together<T>(elements, tolerance, verdict)) continue;
    for (std::size_t k = 0; k < elements.count; ++k) {
      double const wanted = elements.value[k];
      double const scale = elements.scale[k];
      double const offset = elements.offset[k];
      if (scale == infinity || offset == infinity) {
        ++seen.unchecked;
        continue;
      }
      double const found = elements.found[k];
      Error const error = error_of<T>(wanted, scale, offset, found, tolerance);
      if (!(error.size <= error.bound)) {  // so that NaN fails
        if (verdict.wrong == 0) {
          verdict.first_wrong = begin + k;
          verdict.expected = wanted;
          verdict.actual = found;
        }
        ++verdict.wrong;
      }
      // Divides only for a new worst error, because divisions are slow.
      if (verdict.worst < infinity && !(error.size <= verdict.worst * error.bound)) {
        double const ratio = error.size / error.bound;
        verdict.worst = std::isnan(ratio) ? infinity : ratio;
        verdict.worst_index = begin + k;
      }
      double const magnitude = std::abs(wanted);
      if (magnitude < infinity) {
        seen.squares += magnitude * magnitude;
        double const of_terms = std::max(magnitude, scale);
        seen.term_squares += of_terms * of_terms;
        seen.largest = std::max(seen.largest, magnitude);
        ++seen.finite;
        double least = error.bound;  // a smaller error is not detected
        if constexpr (ShortFloat<T>) {
          if (least == 0 && tolerance.rounded_sums) least = half_ulp<T>(wanted);
        }
        seen.largest_bound = std::max(seen.largest_bound, least);
        if (least == 0) seen.least_bound = 0;
        if (least < seen.least_bound * magnitude) seen.least_bound = least / magnitude;
      }
    }
  }
  return verdict;
}

/// If squares exceed the range, the largest element is used instead of the root mean square.
double root_of(Coverage const& seen) { return seen.squares < infinity ? std::sqrt(seen.squares) : seen.largest; }

std::string two_digits(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.1e", value);
  return buffer;
}

/// Elements that one thread compares at a time: some hundred microseconds of work.
constexpr std::size_t compared_at_once = std::size_t{1} << 18;

/// compare() of `count` elements on all cores, with the result of a serial loop.
Verdict compare_all(Expected const& expected, HostField const& actual, Tolerance const& tolerance, std::size_t count) {
  auto const compare_part = with_dtype(
      actual.dtype, []<class T>() { return &compare<std::conditional_t<std::is_integral_v<T>, std::int32_t, T>>; });
  std::vector<Verdict> parts(blocks_in(count, compared_at_once));
  for_blocks(count, compared_at_once, [&](std::size_t block, std::size_t begin, std::size_t end) {
    parts[block] = compare_part(expected, actual, tolerance, begin, end);
  });
  Verdict all;
  for (Verdict const& part : parts) merge(all, part);
  all.passed = all.wrong == 0;
  all.seen.blind = all.seen.unchecked > 0 && all.seen.unchecked == all.seen.count;
  return all;
}

std::string format(double value, int digits) {
  char buffer[40];
  std::snprintf(buffer, sizeof buffer, "%.*g", digits, value);
  return buffer;
}

/// Returns "[17]", and for rank > 1 also the index in each dimension: "[17] = [2, 5]".
std::string format_index(std::size_t index, Shape const& shape) {
  std::string flat = to_string(Shape{index});
  if (shape.size() < 2) return flat;
  Shape position(shape.size());
  for (std::size_t d = shape.size(); d-- > 0; index /= shape[d]) position[d] = index % shape[d];
  return flat + " = " + to_string(position);
}

std::string describe(Verdict const& verdict, HostField const& actual, std::string const& source) {
  int digits = 10;  // every int32
  // The reference's values have more digits than a 16-bit dtype.
  if (unit_roundoff(arithmetic_of(actual.dtype)) == 0x1p-24) digits = std::numeric_limits<float>::max_digits10;
  if (actual.dtype == DType::int64 || actual.dtype == DType::uint64) digits = 19;
  if (actual.dtype == DType::float64) digits = std::numeric_limits<double>::max_digits10;
  return actual.name + ": " + std::to_string(verdict.wrong) + " of " + std::to_string(verdict.seen.count) +
         " elements are wrong; first at " + format_index(verdict.first_wrong, actual.shape) + ": " + source + " " +
         format(verdict.expected, digits) + ", got " + format(verdict.actual, digits) + "; worst error " +
         format(verdict.worst, 3) + " times its bound at " + format_index(verdict.worst_index, actual.shape);
}

/// Returns why the two cannot be compared, or nothing.
std::string mismatch(std::string const& name, Shape const& shape, HostField const& actual) {
  if (actual.name != name) return "expected a field " + name + ", got " + actual.name;
  if (actual.shape != shape) {
    return name + ": expected shape " + to_string(shape) + ", got " + to_string(actual.shape);
  }
  if (actual.data == nullptr && actual.count() > 0) return name + ": there is no data";
  return {};
}

/// The reference's bounds of errors.
struct Bounds {
  std::vector<double> const& scale;
  std::vector<double> const& offset;
  std::vector<double> const& spread;
};
Bounds bounds_for(Chain const& chain, ExpectedField const& reference) {
  static std::vector<double> const none;
  if (chain.reduced.bfloat16_factors) {
    return {reference.bfloat16_scale.empty() ? reference.scale : reference.bfloat16_scale, reference.bfloat16_offset,
            none};
  }
  if (chain.statistical && !reference.random_scale.empty()) {
    return {reference.random_scale, reference.offset, reference.random_spread};
  }
  return {reference.scale, reference.offset, none};
}

/// Returns the offsets plus the contribution of the spread: see the header.
std::vector<double> with_spread(Bounds const& bounds, double factor) {
  std::vector<double> offset = bounds.offset;
  offset.resize(bounds.spread.size());
  for (std::size_t i = 0; i < offset.size(); ++i) offset[i] += factor * bounds.spread[i];
  return offset;
}

/// The smallest normal number of a floating-point dtype, and the smallest number.
std::pair<double, double> least_numbers_of(DType dtype) {
  if (dtype == DType::float64) return {std::numeric_limits<double>::min(), std::numeric_limits<double>::denorm_min()};
  return {std::numeric_limits<float>::min(), std::numeric_limits<float>::denorm_min()};
}

/// Compares with the values in `expected`, of `dtype`, which may be null if the reference is compact: its own values.
Verdict compare_fields(DType dtype, void const* expected, ExpectedField const& reference, HostField const& actual,
                       Chain const& chain, double half_ulps, std::string const& source, std::size_t written) {
  std::size_t const count = std::min(actual.count(), written);
  Tolerance tolerance{.half_ulps = half_ulps, .rounded_sums = reference.rounded_sums};
  Bounds const bounds = bounds_for(chain, reference);
  std::vector<double> spread;
  DType const arithmetic = arithmetic_of(actual.dtype);
  if (double const unit = unit_roundoff(arithmetic); unit > 0) {
    double const growth = growth_of(chain.rounding_steps, unit, chain.statistical);
    if (!bounds.spread.empty()) {
      double const independent = random_growth_of(chain.rounding_steps, unit);
      spread = with_spread(bounds, std::max(independent - growth, 0.0) + 7 * chain.reduced.relative);
    } else if (chain.statistical) {
      double const chained = chain.rounding_steps * unit;
      tolerance.of_means =
          std::min(chained * (1. / 16 + chained / 4), growth_of(chain.rounding_steps, unit, false) - growth);
    }
    tolerance.growth = growth + chain.reduced.relative + growth * chain.reduced.relative;
    auto const [min, denorm_min] = least_numbers_of(arithmetic);
    bool const flushes = chain.flushes_denormals && reference.grid < min;
    tolerance.underflow = chain.rounding_steps * (flushes ? min : denorm_min);
    if (flushes) tolerance.flushed = tolerance.underflow;
    tolerance.underflow += chain.reduced.absolute;
  }
  std::vector<double> const& offset = spread.empty() ? bounds.offset : spread;
  if (reference.compact != nullptr) tolerance.half_ulps *= compact_half_ulps;
  bool const has_bounds = reference.compact != nullptr || !bounds.scale.empty();
  bool const is_equal = !has_bounds || (reference.exact && !chain.reduced.rounds_data);
  Verdict verdict = compare_all({.dtype = dtype,
                                 .values = expected,
                                 .scale = is_equal ? nullptr : bounds.scale.data(),
                                 .offset = offset.empty() ? nullptr : offset.data(),
                                 .compact = reference.compact.get(),
                                 .exact = is_equal},
                                actual, tolerance, count);
  if (!verdict.passed) verdict.message = describe(verdict, actual, source);
  return verdict;
}

/// Counts the elements from `begin` on that do not contain poison, and returns the first of them, too. Compares bits,
/// because a NaN that the row computed is not poison.
template <class Word>
std::pair<std::size_t, std::size_t> touched_in(Word const* elements, Word poison, std::size_t from, std::size_t count) {
  std::atomic<std::size_t> touched = 0;
  std::atomic<std::size_t> first = count;
  for_blocks(count - from, compared_at_once, [&](std::size_t, std::size_t begin, std::size_t end) {
    for (std::size_t i = from + begin; i < from + end; ++i) {
      if (elements[i] == poison) continue;
      ++touched;
      for (std::size_t known = first; i < known && !first.compare_exchange_weak(known, i);) {
      }
    }
  });
  return {touched, first};
}

/// Returns a failed verdict if an element at or after `written` does not contain poison; otherwise `verdict`.
Verdict with_rest_untouched(Verdict verdict, HostField const& actual, std::size_t written) {
  if (!verdict.passed || written >= actual.count()) return verdict;
  void const* const data = actual.data.get();
  auto const [touched, first] = with_dtype(actual.dtype, [&]<class T>() {
    using Word = WordOf<T>;
    return touched_in(static_cast<Word const*>(data), std::bit_cast<Word>(poison_value<T>), written, actual.count());
  });
  if (touched == 0) return verdict;
  verdict.passed = false;
  verdict.wrong = touched;
  verdict.first_wrong = first;
  verdict.actual = detail::element_of(actual.dtype, data, first);
  verdict.message = actual.name + ": " + std::to_string(touched) + " elements were written after the first " +
                    std::to_string(written) + ", which are all that this row should write; first at " +
                    format_index(first, actual.shape) + ": " + format(verdict.actual, 9);
  return verdict;
}

/// Returns an element with all its digits.
std::string exact_text(DType dtype, void const* elements, std::size_t i) {
  return with_dtype(dtype, [&]<class T>() {
    T const value = static_cast<T const*>(elements)[i];
    if constexpr (std::is_integral_v<T>) {
      return std::to_string(value);
    } else {
      return format(static_cast<double>(value), std::numeric_limits<T>::max_digits10);
    }
  });
}

/// A part of a field that is only moved.
struct MovedPart {
  std::size_t wrong = 0;
  std::size_t first = 0;
  std::int64_t signs = 0;  ///< of results that are zero, without those that should have one
};
template <class T>
MovedPart compare_moved_part(T const* expected, T const* actual, std::size_t begin, std::size_t end) {
  MovedPart part;
  for (std::size_t i = begin; i < end; ++i) {
    if constexpr (Floating<T>) {
      auto const wanted = static_cast<double>(expected[i]);
      auto const found = static_cast<double>(actual[i]);
      if (wanted == found) {
        if (found == 0) part.signs += (std::signbit(found) ? 1 : 0) - (std::signbit(wanted) ? 1 : 0);
        continue;
      }
      if (std::isnan(wanted) && std::isnan(found)) continue;
    } else if (expected[i] == actual[i]) {
      continue;
    }
    if (part.wrong++ == 0) part.first = i;
  }
  return part;
}

/// Compares the elements of a field that are only moved (ExpectedField::moved), as numbers of their dtype: a double
/// cannot hold every integer of 64 bits. `has_all_zeros`: whether there must be as many zeros of each sign.
Verdict compare_moved(void const* expected, bool has_all_zeros, HostField const& actual, std::string const& source,
                      std::size_t written) {
  std::size_t const count = std::min(actual.count(), written);
  std::vector<MovedPart> parts(blocks_in(count, compared_at_once));
  for_blocks(count, compared_at_once, [&](std::size_t index, std::size_t begin, std::size_t end) {
    parts[index] = with_dtype(actual.dtype, [&]<class T>() {
      return compare_moved_part(static_cast<T const*>(expected), static_cast<T const*>(actual.data.get()), begin, end);
    });
  });
  Verdict verdict;
  verdict.seen.count = count;
  verdict.seen.finite = count;
  verdict.seen.least_bound = 0;
  std::int64_t signs = 0;
  for (MovedPart const& part : parts) {
    if (verdict.wrong == 0) verdict.first_wrong = part.first;
    verdict.wrong += part.wrong;
    if (has_all_zeros) signs += part.signs;
  }
  verdict.passed = verdict.wrong == 0 && signs == 0;
  if (verdict.passed) return verdict;
  verdict.worst = infinity;
  verdict.worst_index = verdict.first_wrong;
  if (verdict.wrong > 0) {
    verdict.expected = detail::element_of(actual.dtype, expected, verdict.first_wrong);
    verdict.actual = detail::element_of(actual.dtype, actual.data.get(), verdict.first_wrong);
    verdict.message = actual.name + ": " + std::to_string(verdict.wrong) + " of " + std::to_string(count) +
                      " elements are wrong; first at " + format_index(verdict.first_wrong, actual.shape) + ": " +
                      source + " " + exact_text(actual.dtype, expected, verdict.first_wrong) + ", got " +
                      exact_text(actual.dtype, actual.data.get(), verdict.first_wrong);
  } else {
    verdict.wrong = static_cast<std::size_t>(std::abs(signs));
    verdict.message = actual.name + ": " + std::to_string(verdict.wrong) +
                      " zeros are wrong: " + (signs > 0 ? "too many are -0" : "too few are -0");
  }
  return verdict;
}

Verdict failed(std::string message) {
  Verdict verdict;
  verdict.message = std::move(message);
  return verdict;
}

/// True if the reference has bounds for `count` elements, or no bounds at all (exact, no offset).
bool has_bounds_for(ExpectedField const& reference, std::size_t count, Chain const& chain) {
  if (reference.compact != nullptr) return !chain.reduced.bfloat16_factors;
  auto const [scale, offset, spread] = bounds_for(chain, reference);
  // Missing bounds for bfloat16 do not mean exact.
  return (scale.empty() || scale.size() == count) && (spread.empty() || spread.size() == scale.size()) &&
         ((offset.empty() && !chain.reduced.bfloat16_factors) || offset.size() == count);
}

std::string sizes_of_bounds(ExpectedField const& reference, Chain const& chain) {
  auto const [scale, offset, spread] = bounds_for(chain, reference);
  return std::to_string(scale.size()) + " scales and " + std::to_string(offset.size()) + " offsets" +
         (chain.reduced.bfloat16_factors ? " for factors of bfloat16" : "");
}

}  // namespace

void Coverage::merge(Coverage const& other) {
  count += other.count;
  unchecked += other.unchecked;
  blind = blind || other.blind;
  largest_bound = std::max(largest_bound, other.largest_bound);
  least_bound = std::min(least_bound, other.least_bound);
  finite += other.finite;
  squares += other.squares;
  term_squares += other.term_squares;
  largest = std::max(largest, other.largest);
  false_alarms = std::max(false_alarms, other.false_alarms);
}

// If all values are 0 and a bound is not, the quotient is infinite, as it should be.
double Coverage::sensitivity() const {
  return largest_bound > 0 ? largest_bound / root_of(*this) * std::sqrt(static_cast<double>(finite)) : 0;
}

double Coverage::of_terms() const {
  double const root = std::max(root_of(*this), std::sqrt(term_squares));
  return largest_bound > 0 ? largest_bound / root * std::sqrt(static_cast<double>(finite)) : 0;
}

std::string weakness_of(Coverage const& seen, ExpectedField const& expected, double terms) {
  std::size_t const tile = std::min(smallest_tile, (seen.count + 1) / 2);
  if (seen.unchecked > 0 && (seen.blind || seen.unchecked >= tile)) {
    return expected.name + ": " + std::to_string(seen.unchecked) + " of " + std::to_string(seen.count) +
           " elements were not checked, which could hide a lost tile (sums may leave the dtype's range in some order)";
  }
  if (expected.terms > 0) terms = expected.terms;
  auto const lost = static_cast<double>(smallest_tile);
  double const wide = terms <= lost ? seen.of_terms() : seen.sensitivity();
  double const noticed = expected.each_sees_all ? std::min(wide, seen.sharpest()) : wide;
  double const of_tile = std::min(1.0, lost / std::max(1.0, terms));
  if (noticed <= of_tile) return {};
  return expected.name + " was checked only to a relative error of " + two_digits(noticed) + ", but a lost tile of " +
         std::to_string(smallest_tile) + " of " + std::to_string(static_cast<long long>(terms)) +
         " terms changes it by " + two_digits(of_tile) + " (bounds grow with the roundings)";
}

double growth_of(double steps, double unit, bool statistical) {
  double const any = std::expm1(steps * unit);
  return statistical ? std::min(any, random_growth_of(steps, unit)) : any;
}

Verdict verify(ExpectedField const& expected, HostField const& actual, Chain const& chain, std::size_t written) {
  std::string const difference = mismatch(expected.name, expected.shape, actual);
  if (!difference.empty()) return failed(difference);
  if (expected.moved.data != nullptr) {
    if (expected.moved.dtype != actual.dtype || expected.moved.shape != actual.shape) {
      return failed(expected.name + ": the reference holds another dtype or shape than the result");
    }
    return with_rest_untouched(
        compare_moved(expected.moved.data.get(), expected.has_all_zeros, actual, "expected", written), actual, written);
  }
  bool const compact = expected.compact != nullptr;
  bool const narrow = expected.narrow != nullptr;
  if ((!narrow && !compact && expected.value.size() != actual.count()) ||
      !has_bounds_for(expected, actual.count(), chain)) {
    return failed(expected.name + ": the reference holds " + std::to_string(expected.value.size()) + " values, " +
                  sizes_of_bounds(expected, chain) + " for shape " + to_string(expected.shape));
  }
  DType const dtype = narrow ? DType::float32 : DType::float64;
  void const* const values = compact  ? nullptr
                             : narrow ? static_cast<void const*>(expected.narrow.get())
                                      : expected.value.data();
  Verdict verdict = with_rest_untouched(compare_fields(dtype, values, expected, actual, chain, 1, "expected", written),
                                        actual, written);
  if (!verdict.passed || !expected.statistic) return verdict;
  if (Statistic const found = expected.statistic(actual); !found.fault.empty()) {
    verdict.passed = false;
    verdict.message = expected.name + ": " + found.fault;
  }
  return verdict;
}

Verdict verify_own_values(ExpectedField const& expected, HostField const& actual) {
  std::string const difference = mismatch(expected.name, expected.shape, actual);
  if (!difference.empty()) return failed(difference);
  Verdict verdict;
  if (actual.count() > 0) {
    if (!expected.of_own_values) return failed(expected.name + ": the reference cannot judge values of the row's own");
    Statistic const found = expected.of_own_values(actual);
    if (!found.fault.empty()) return failed(expected.name + ": " + found.fault);
    verdict.seen.false_alarms = found.false_alarms;
  }
  verdict.passed = true;
  verdict.seen.count = actual.count();
  return verdict;
}

Verdict verify_against_file(HostField const& file_expected, ExpectedField const& scale, HostField const& actual,
                            Chain const& chain, std::size_t written) {
  std::string const difference = mismatch(file_expected.name, file_expected.shape, actual);
  if (!difference.empty()) return failed("/expected: " + difference);
  if (file_expected.dtype != actual.dtype) {
    return failed("/expected: " + file_expected.name + " is " + std::string(name_of(file_expected.dtype)) + ", got " +
                  std::string(name_of(actual.dtype)));
  }
  if (file_expected.data == nullptr && file_expected.count() > 0) {
    return failed("/expected: " + file_expected.name + ": there is no data");
  }
  if (scale.moved.data != nullptr) {
    return compare_moved(file_expected.data.get(), scale.has_all_zeros, actual, "expected (from the file)", written);
  }
  if (!has_bounds_for(scale, actual.count(), chain)) {
    return failed(scale.name + ": the reference holds " + sizes_of_bounds(scale, chain) + " for shape " +
                  to_string(actual.shape));
  }
  return compare_fields(actual.dtype, file_expected.data.get(), scale, actual, chain, 2, "expected (from the file)",
                        written);
}

void make_narrow(ExpectedField& expected, DType dtype) {
  std::size_t const count = expected.value.size();
  if (count <= compared_at_once || expected.narrow != nullptr) return;
  std::atomic<bool> exact = true;
  for_blocks(expected.scale.size(), compared_at_once, [&](std::size_t, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end && exact; ++i) {
      if (expected.scale[i] != 0) exact = false;
    }
  });
  if (exact) expected.scale = std::vector<double>();
  bool const rounded = exact && expected.offset.empty() && expected.bfloat16_offset.empty() && dtype == DType::float32;

  std::atomic<bool> lossless = true;
  std::shared_ptr<float[]> const narrow = pooled_array<float>(count);
  float* const floats = narrow.get();
  for_blocks(count, compared_at_once, [&](std::size_t, std::size_t begin, std::size_t end) {
    bool all = true;
    for (std::size_t i = begin; i < end && lossless; ++i) {
      double const value = expected.value[i];
      floats[i] = static_cast<float>(value);
      all = all && (rounded || static_cast<double>(floats[i]) == value || std::isnan(value));
    }
    if (!all) lossless = false;
  });
  if (!lossless) return;
  expected.narrow = narrow;
  expected.value = std::vector<double>();
}

bool same_bits(HostField const& a, HostField const& b) {
  if (a.dtype != b.dtype || a.shape != b.shape) return false;
  if (a.bytes() == 0) return true;
  if (a.data == nullptr || b.data == nullptr) return false;
  return same_bytes(a.data.get(), b.data.get(), a.bytes());
}

}  // namespace tessera
