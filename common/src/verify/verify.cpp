#include <tessera/verify/verify.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

namespace tessera {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Half the distance between `value` and the next number of the floating-point type T, from the exponent's bits:
/// std::ilogb would take longer than everything else here. `value` is not NaN.
template <class T>
double half_ulp(double value) {
  // For double half the smallest denormal is no number: it would be rounded to 0 (which some compilers refuse to do).
  double smallest = 0;
  if constexpr (std::is_same_v<T, float>) smallest = 0.5 * static_cast<double>(std::numeric_limits<T>::denorm_min());
  constexpr double largest =
      std::bit_cast<double>(std::uint64_t{std::numeric_limits<T>::max_exponent - 1 + 1023} << 52);
  // The power of two at or below |value|; beyond T's range ulps grow no further.
  double const power = std::bit_cast<double>(std::bit_cast<std::uint64_t>(value) & 0x7ff0'0000'0000'0000U);
  return std::max(std::min(power, largest) * unit_roundoff(dtype_of<T>), smallest);
}

/// What an element's bound is made of, besides its scale and value.
struct Tolerance {
  double growth = 0;     ///< relative to the scale: expm1(steps * u)
  double underflow = 0;  ///< absolute: steps * denorm_min
  double half_ulps = 1;  ///< of the expected value
};

struct Error {
  double size;  ///< 0 when right, NaN or infinity when no number says how wrong
  double bound;
};

/// Compares one element; see the header for the rules.
template <class T>
Error error_of(double expected, double scale, double offset, double actual, Tolerance const& tolerance) {
  if constexpr (std::is_integral_v<T>) {
    // An int32 is exact in a double, and so is a count that fits into a memory: below 2^53.
    return {std::abs(actual - expected), 0};
  } else {
    if (std::isnan(expected)) return {std::isnan(actual) ? 0 : infinity, 0};
    if ((scale == 0 || tolerance.growth == 0) && offset == 0) {
      auto const rounded = static_cast<double>(static_cast<T>(expected));
      return {actual == rounded ? 0 : std::abs(actual - rounded), 0};
    }

    double const bound = tolerance.growth * scale + offset + tolerance.underflow;
    if (std::isinf(actual)) {  // right for an infinity, and for what may overflow
      // From here on a number of T rounds to infinity. For double that is no double itself: only a sum that already
      // overflowed reaches it.
      double overflow = infinity;
      if constexpr (std::is_same_v<T, float>) {
        constexpr auto largest = static_cast<double>(std::numeric_limits<T>::max());
        overflow = largest + half_ulp<T>(largest);
      }
      bool const may_overflow = std::abs(expected) + bound >= overflow;
      return {may_overflow && std::signbit(expected) == std::signbit(actual) ? 0 : infinity, bound};
    }
    return {std::abs(actual - expected), bound + tolerance.half_ulps * half_ulp<T>(expected)};
  }
}

/// The loop. `scale` may be null: exact everywhere; `offset` may be null: none.
template <class T, class Value>
void compare(Value const* expected, double const* scale, double const* offset, T const* actual,
             Tolerance const& tolerance, Verdict& verdict) {
  for (std::size_t i = 0; i < verdict.count; ++i) {
    double const element_scale = scale == nullptr ? 0 : scale[i];
    double const element_offset = offset == nullptr ? 0 : offset[i];
    if (element_scale == infinity || element_offset == infinity) {
      ++verdict.unchecked;
      continue;
    }
    auto const wanted = static_cast<double>(expected[i]);
    auto const found = static_cast<double>(actual[i]);
    Error const error = error_of<T>(wanted, element_scale, element_offset, found, tolerance);
    if (!(error.size <= error.bound)) {  // so that NaN fails
      if (verdict.wrong == 0) {
        verdict.first_wrong = i;
        verdict.expected = wanted;
        verdict.actual = found;
      }
      ++verdict.wrong;
    }
    // The division only where there is a new worst.
    if (verdict.worst < infinity && !(error.size <= verdict.worst * error.bound)) {
      double const ratio = error.size / error.bound;
      verdict.worst = std::isnan(ratio) ? infinity : ratio;
      verdict.worst_index = i;
    }
  }
}

std::string format(double value, int digits) {
  char buffer[40];
  std::snprintf(buffer, sizeof buffer, "%.*g", digits, value);
  return buffer;
}

/// "[17]", and for rank > 1 also the index along each dimension: "[17] = [2, 5]".
std::string format_index(std::size_t index, Shape const& shape) {
  std::string flat = to_string(Shape{index});
  if (shape.size() < 2) return flat;
  Shape position(shape.size());
  for (std::size_t d = shape.size(); d-- > 0; index /= shape[d]) position[d] = index % shape[d];
  return flat + " = " + to_string(position);
}

std::string describe(Verdict const& verdict, HostField const& actual, std::string const& source) {
  int digits = 10;  // every int32
  if (actual.dtype == DType::float32) digits = std::numeric_limits<float>::max_digits10;
  if (actual.dtype == DType::int64) digits = 19;
  if (actual.dtype == DType::float64) digits = std::numeric_limits<double>::max_digits10;
  return actual.name + ": " + std::to_string(verdict.wrong) + " of " + std::to_string(verdict.count) +
         " elements are wrong; first at " + format_index(verdict.first_wrong, actual.shape) + ": " + source + " " +
         format(verdict.expected, digits) + ", got " + format(verdict.actual, digits) + "; worst error " +
         format(verdict.worst, 3) + " times its bound at " + format_index(verdict.worst_index, actual.shape);
}

/// Why the two cannot be compared at all, or nothing.
std::string mismatch(std::string const& name, Shape const& shape, HostField const& actual) {
  if (actual.name != name) return "expected a field " + name + ", got " + actual.name;
  if (actual.shape != shape) {
    return name + ": expected shape " + to_string(shape) + ", got " + to_string(actual.shape);
  }
  if (actual.data == nullptr && actual.count() > 0) return name + ": there is no data";
  return {};
}

template <class T, class Value>
Verdict compare_fields(Value const* expected, ExpectedField const& reference, HostField const& actual,
                       double rounding_steps, double half_ulps, std::string const& source, std::size_t written) {
  Verdict verdict;
  verdict.count = std::min(actual.count(), written);
  Tolerance tolerance{.half_ulps = half_ulps};
  if constexpr (std::is_floating_point_v<T>) {
    tolerance.growth = std::expm1(rounding_steps * unit_roundoff(dtype_of<T>));
    tolerance.underflow = rounding_steps * static_cast<double>(std::numeric_limits<T>::denorm_min());
  }
  compare(expected, reference.scale.empty() ? nullptr : reference.scale.data(),
          reference.offset.empty() ? nullptr : reference.offset.data(), static_cast<T const*>(actual.data.get()),
          tolerance, verdict);
  verdict.passed = verdict.wrong == 0;
  if (!verdict.passed) verdict.message = describe(verdict, actual, source);
  return verdict;
}

/// Elements from `written` on that no longer hold what they held before the row ran, as a failed verdict; else
/// `verdict`. Bits: a NaN of the row's own making is no poison.
template <class T>
Verdict with_rest_untouched(Verdict verdict, HostField const& actual, std::size_t written) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  auto const* const data = static_cast<T const*>(actual.data.get());
  auto const poison = std::bit_cast<Bits>(poison_value<T>);
  std::size_t touched = 0;
  std::size_t first = 0;
  for (std::size_t i = written; i < actual.count(); ++i) {
    if (std::bit_cast<Bits>(data[i]) == poison) continue;
    if (touched++ == 0) first = i;
  }
  if (touched == 0 || !verdict.passed) return verdict;
  verdict.passed = false;
  verdict.wrong = touched;
  verdict.first_wrong = first;
  verdict.actual = static_cast<double>(data[first]);
  verdict.message = actual.name + ": " + std::to_string(touched) + " elements were written after the first " +
                    std::to_string(written) + ", which are all that this row is to write; first at " +
                    format_index(first, actual.shape) + ": " + format(verdict.actual, 9);
  return verdict;
}

Verdict failed(std::string message) {
  Verdict verdict;
  verdict.message = std::move(message);
  return verdict;
}

/// True if the reference says something of so many elements, or nothing at all (exact, no offset).
bool has_bounds_for(ExpectedField const& reference, std::size_t count) {
  return (reference.scale.empty() || reference.scale.size() == count) &&
         (reference.offset.empty() || reference.offset.size() == count);
}

std::string sizes_of_bounds(ExpectedField const& reference) {
  return std::to_string(reference.scale.size()) + " scales and " + std::to_string(reference.offset.size()) + " offsets";
}

/// Calls `function` with a value of the dtype's C++ type.
template <class Function>
Verdict with_type(DType dtype, Function const& function) {
  switch (dtype) {
    case DType::float32: return function(float{});
    case DType::float64: return function(double{});
    case DType::int32: return function(std::int32_t{});
    case DType::int64: return function(std::int64_t{});
  }
  return failed("unknown dtype");
}

}  // namespace

Verdict verify(ExpectedField const& expected, HostField const& actual, double rounding_steps, std::size_t written) {
  std::string const difference = mismatch(expected.name, expected.shape, actual);
  if (!difference.empty()) return failed(difference);
  if (expected.value.size() != actual.count() || !has_bounds_for(expected, actual.count())) {
    return failed(expected.name + ": the reference holds " + std::to_string(expected.value.size()) + " values, " +
                  sizes_of_bounds(expected) + " for shape " + to_string(expected.shape));
  }
  return with_type(actual.dtype, [&]<class T>(T) {
    return with_rest_untouched<T>(
        compare_fields<T>(expected.value.data(), expected, actual, rounding_steps, 1, "expected", written), actual,
        written);
  });
}

Verdict verify_against_file(HostField const& file_expected, ExpectedField const& scale, HostField const& actual,
                            double rounding_steps, std::size_t written) {
  std::string const difference = mismatch(file_expected.name, file_expected.shape, actual);
  if (!difference.empty()) return failed("/expected: " + difference);
  if (file_expected.dtype != actual.dtype) {
    return failed("/expected: " + file_expected.name + " is " + std::string(name_of(file_expected.dtype)) + ", got " +
                  std::string(name_of(actual.dtype)));
  }
  if (file_expected.data == nullptr && file_expected.count() > 0) {
    return failed("/expected: " + file_expected.name + ": there is no data");
  }
  if (!has_bounds_for(scale, actual.count())) {
    return failed(scale.name + ": the reference holds " + sizes_of_bounds(scale) + " for shape " +
                  to_string(actual.shape));
  }
  return with_type(actual.dtype, [&]<class T>(T) {
    return compare_fields<T>(static_cast<T const*>(file_expected.data.get()), scale, actual, rounding_steps, 2,
                             "expected (from the file)", written);
  });
}

bool same_bits(HostField const& a, HostField const& b) {
  if (a.dtype != b.dtype || a.shape != b.shape) return false;
  if (a.bytes() == 0) return true;
  return a.data != nullptr && b.data != nullptr && std::memcmp(a.data.get(), b.data.get(), a.bytes()) == 0;
}

}  // namespace tessera
