#pragma once
/// \file
/// The plain types that every layer shares: dtypes, shapes, host arrays, errors. No Kokkos here, so that the driver,
/// the reports and their tests compile in seconds.

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tessera/core/half.hpp>

namespace tessera {

/// Element types of fields. The names are those of the command line and of the reports.
enum class DType : std::uint8_t { float32, float64, int32, int64, float16, bfloat16 };

/// The dtypes that a run may have. int64 is only for counts, which an output may have beside fields of the run's dtype.
inline constexpr std::array run_dtypes{DType::float32, DType::float64, DType::int32, DType::float16, DType::bfloat16};

/// The dtypes in which operations are made: each has a peak of its own.
inline constexpr std::array arithmetic_dtypes{DType::float32, DType::float64, DType::int32};

/// "float", "double", "int32", "int64", "half" or "bfloat16".
[[nodiscard]] constexpr std::string_view name_of(DType dtype) {
  switch (dtype) {
    case DType::float32: return "float";
    case DType::float64: return "double";
    case DType::int32: return "int32";
    case DType::int64: return "int64";
    case DType::float16: return "half";
    case DType::bfloat16: return "bfloat16";
  }
  return "unknown";
}

/// Bytes of one element.
[[nodiscard]] constexpr std::size_t size_of(DType dtype) {
  if (dtype == DType::float16 || dtype == DType::bfloat16) return 2;
  return dtype == DType::float64 || dtype == DType::int64 ? 8 : 4;
}

/// The dtype of that name, if a run may have it; else nothing.
[[nodiscard]] constexpr std::optional<DType> dtype_from_name(std::string_view name) {
  for (DType const dtype : run_dtypes) {
    if (name == name_of(dtype)) return dtype;
  }
  return std::nullopt;
}

template <class T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::float32;
};
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::float64;
};
template <>
struct DTypeOf<std::int32_t> {
  static constexpr DType value = DType::int32;
};
template <>
struct DTypeOf<std::int64_t> {
  static constexpr DType value = DType::int64;
};
template <>
struct DTypeOf<Half> {
  static constexpr DType value = DType::float16;
};
template <>
struct DTypeOf<BFloat16> {
  static constexpr DType value = DType::bfloat16;
};
template <class T>
inline constexpr DType dtype_of = DTypeOf<T>::value;

/// The dtype in which operations and sums are made: float for floats of 16 bits (core/half.hpp), else the dtype itself.
[[nodiscard]] constexpr DType arithmetic_of(DType dtype) { return size_of(dtype) == 2 ? DType::float32 : dtype; }

/// What an output element holds before a row writes it: NaN, or the most negative integer.
template <class T>
inline constexpr T poison_value =
    std::numeric_limits<T>::has_quiet_NaN ? std::numeric_limits<T>::quiet_NaN() : std::numeric_limits<T>::lowest();

/// Half the distance from 1 to the next number of the dtype (the relative error of one rounding); 0 for integers.
[[nodiscard]] constexpr double unit_roundoff(DType dtype) {
  switch (dtype) {
    case DType::float32: return 0x1p-24;
    case DType::float64: return 0x1p-53;
    case DType::float16: return 0x1p-11;
    case DType::bfloat16: return 0x1p-8;
    case DType::int32:
    case DType::int64: return 0.0;
  }
  return 0.0;
}

/// Extents, slowest first (C order). Empty for a scalar.
using Shape = std::vector<std::size_t>;

/// Number of elements of a shape; 1 for a scalar.
[[nodiscard]] constexpr std::size_t count_of(Shape const& shape) {
  std::size_t count = 1;
  for (std::size_t const extent : shape) count *= extent;
  return count;
}

/// "[4, 6]", as NumPy writes a shape, but with brackets.
[[nodiscard]] inline std::string to_string(Shape const& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

/// A named array in host memory, in C order: what is read from and written to files, and what is verified.
/// `data` shares ownership of whatever allocated it.
struct HostField {
  std::string name;
  DType dtype = DType::float32;
  Shape shape;
  std::shared_ptr<void const> data;

  [[nodiscard]] std::size_t count() const { return count_of(shape); }
  [[nodiscard]] std::size_t bytes() const { return count() * size_of(dtype); }
};

/// What the reference gives for one output field: for each element the value in a wide type and the scale of its error.
///
/// The error that a variant may make at element i is `steps * unit_roundoff * scale[i] + offset[i]` (plus the smallest
/// denormal for each step). `steps` is the longest chain of roundings in that variant. The unit roundoff is that of the
/// dtype in which sums are made: for half and bfloat16 that is float, and the result is rounded to the dtype once more.
/// - A `scale` above 0 is the sum of the magnitudes that enter the element.
/// - A `scale` of 0 requires equality with the value rounded to the dtype: for a single operation, and where the
///   reference has proved that no variant rounds more than once (see verify/grid.hpp). An empty `scale` requires it
///   everywhere.
/// - A `scale` of infinity says that a part of the result may overflow in some order of operations. Nothing is known of
///   the element then: it is counted as unchecked, and a row is weak if a lost tile could hide among these elements.
/// - `offset` is the error that every variant may make, whatever the order of its operations (such as that of an
///   exponential with a rounded argument): in the element's unit, not negative; empty if there is none.
/// - `bfloat16_offset` takes the place of `offset` for a variant that rounds the factors of its products to bfloat16
///   (ReducedPrecision::bfloat16_factors): an error of 2^-8 of each, carried through everything that follows the
///   products. If it is empty, such a variant fails. `bfloat16_scale`, if not empty, takes the place of `scale`.
/// - `random_scale`, if not empty, takes the place of `scale` for data that were drawn at random, and `random_spread`
///   adds to it. This is for sums of terms whose signs are drawn independently, and each of which is computed before it
///   is added up (see verify/verify.hpp).
struct ExpectedField {
  std::string name;
  Shape shape;
  std::vector<double> value;
  std::vector<double> scale;
  std::vector<double> offset = {};
  std::vector<double> bfloat16_scale = {};
  std::vector<double> bfloat16_offset = {};
  std::vector<double> random_scale = {};
  std::vector<double> random_spread = {};
  /// What make_narrow() (verify/verify.hpp) puts here in place of `value`.
  std::shared_ptr<float const[]> narrow = {};
  /// How many terms an element's longest sum has; 0: as the Problem says.
  double terms = 0;
  /// With a scale of 0: whether the values are exact sums that may have more bits than the dtype. Only for 16-bit
  /// floats, since other sums are made in the dtype itself.
  bool rounded_sums = false;
  /// Whether every element depends on all terms of the sums, so that one closely checked element is enough.
  bool each_sees_all = false;
  /// Whether a row that computes in the dtype rounds nothing, and must be equal; `scale` is then for rows that round
  /// the data.
  bool exact = false;
  /// A power of two of which all terms are multiples: no partial sum is nearer to 0 than that. 0: not known; infinity:
  /// all terms are 0, or there are none. From the smallest normal number on, no partial sum can be flushed to 0.
  double grid = 0;
};

/// The error of a row's results because its arithmetic is not that of the dtype (see verify/verify.hpp).
struct ReducedPrecision {
  double relative = 0;            ///< relative to the scale
  double absolute = 0;            ///< in addition: for data that are too small for the arithmetic's numbers
  bool rounds_data = false;       ///< whether the arithmetic's numbers do not represent some of the data
  bool bfloat16_factors = false;  ///< whether the field's own bounds for factors of bfloat16 count (ExpectedField)
};

/// Makes a list of fields by moving them: a list in braces would copy every value.
template <std::same_as<ExpectedField>... Field>
[[nodiscard]] std::vector<ExpectedField> list_of(Field&&... fields) {
  std::vector<ExpectedField> list;
  list.reserve(sizeof...(fields));
  (list.push_back(std::move(fields)), ...);
  return list;
}

/// A mistake of the user's: it is reported as one message, with exit code 2, and nothing runs. The text reads `problem
/// (why); what to do`.
class UserError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Thrown by a Plan's constructor: says why this variant cannot run this input here. It is not a failure.
class Skip : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace tessera
