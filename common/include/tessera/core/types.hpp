#pragma once
/// \file
/// The plain types that all layers share: dtypes, shapes, host arrays, errors. No Kokkos, so that the driver, the
/// reports and their tests compile in seconds.

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <tessera/core/half.hpp>

namespace tessera {

/// Element types of fields. name_of() returns their names on the command line and in reports.
enum class DType : std::uint8_t { float32, float64, int32, int64, float16, bfloat16, uint32, uint64 };

/// The dtypes that a run may have. Mini-apps state whether they have 16-bit floats, and the integers of more_integers.
/// Fields of other dtypes are int64 (counts) or int32 (indices).
inline constexpr std::array run_dtypes{DType::float32, DType::float64, DType::int32,   DType::int64,
                                       DType::uint32,  DType::uint64,  DType::float16, DType::bfloat16};

/// The integers besides int32. A build with int32 has them, too, in the mini-apps that state it.
inline constexpr std::array more_integers{DType::int64, DType::uint32, DType::uint64};

[[nodiscard]] constexpr bool is_more_integer(DType dtype) {
  return dtype == DType::int64 || dtype == DType::uint32 || dtype == DType::uint64;
}

/// The dtypes of operations: each has its own peak.
inline constexpr std::array arithmetic_dtypes{DType::float32, DType::float64, DType::int32};

/// Returns "float", "double", "int32", "int64", "half", "bfloat16", "uint32" or "uint64".
[[nodiscard]] constexpr std::string_view name_of(DType dtype) {
  switch (dtype) {
    case DType::float32: return "float";
    case DType::float64: return "double";
    case DType::int32: return "int32";
    case DType::int64: return "int64";
    case DType::float16: return "half";
    case DType::bfloat16: return "bfloat16";
    case DType::uint32: return "uint32";
    case DType::uint64: return "uint64";
  }
  return "unknown";
}

/// Returns the bytes of one element.
[[nodiscard]] constexpr std::size_t size_of(DType dtype) {
  if (dtype == DType::float16 || dtype == DType::bfloat16) return 2;
  return dtype == DType::float64 || dtype == DType::int64 || dtype == DType::uint64 ? 8 : 4;
}

/// Returns the dtype with that name, or nothing if a run may not have it.
[[nodiscard]] constexpr std::optional<DType> dtype_from_name(std::string_view name) {
  for (DType const dtype : run_dtypes) {
    if (name == name_of(dtype)) return dtype;
  }
  return std::nullopt;
}

/// The dtype of elements of type T. Other types do not compile.
template <class T>
inline constexpr DType dtype_of = T::has_no_dtype;
template <>
inline constexpr DType dtype_of<float> = DType::float32;
template <>
inline constexpr DType dtype_of<double> = DType::float64;
template <>
inline constexpr DType dtype_of<std::int32_t> = DType::int32;
template <>
inline constexpr DType dtype_of<std::int64_t> = DType::int64;
template <>
inline constexpr DType dtype_of<Half> = DType::float16;
template <>
inline constexpr DType dtype_of<BFloat16> = DType::bfloat16;
template <>
inline constexpr DType dtype_of<std::uint32_t> = DType::uint32;
template <>
inline constexpr DType dtype_of<std::uint64_t> = DType::uint64;

/// Returns the dtype of operations and sums: float for 16-bit floats (core/half.hpp), otherwise the dtype itself. All
/// integers have the peak of int32.
[[nodiscard]] constexpr DType arithmetic_of(DType dtype) {
  if (is_more_integer(dtype)) return DType::int32;
  return size_of(dtype) == 2 ? DType::float32 : dtype;
}

/// The value of an output element before a row writes it: NaN, the most negative integer, or the largest unsigned one.
template <class T>
inline constexpr T poison_value = std::numeric_limits<T>::has_quiet_NaN ? std::numeric_limits<T>::quiet_NaN()
                                  : std::is_unsigned_v<T>               ? std::numeric_limits<T>::max()
                                                                        : std::numeric_limits<T>::lowest();

/// Returns half the distance from 1 to the next number of the dtype (the relative error of one rounding); 0 for
/// integers.
[[nodiscard]] constexpr double unit_roundoff(DType dtype) {
  switch (dtype) {
    case DType::float32: return 0x1p-24;
    case DType::float64: return 0x1p-53;
    case DType::float16: return 0x1p-11;
    case DType::bfloat16: return 0x1p-8;
    case DType::int32:
    case DType::int64:
    case DType::uint32:
    case DType::uint64: return 0.0;
  }
  return 0.0;
}

/// Extents, slowest dimension first (C order). Empty for a scalar.
using Shape = std::vector<std::size_t>;

/// Returns the number of elements of a shape; 1 for a scalar.
[[nodiscard]] constexpr std::size_t count_of(Shape const& shape) {
  std::size_t count = 1;
  for (std::size_t const extent : shape) count *= extent;
  return count;
}

/// Returns the same number in double: extents are checked only afterwards, and their product may exceed 2^64.
[[nodiscard]] constexpr double wide_count_of(Shape const& shape) {
  double count = 1;
  for (std::size_t const extent : shape) count *= static_cast<double>(extent);
  return count;
}

/// Returns "[4, 6]": the shape as NumPy writes it, but with brackets.
[[nodiscard]] inline std::string to_string(Shape const& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

/// A named array in host memory, in C order: read from and written to files, and verified. `data` shares ownership of
/// the allocation.
struct HostField {
  std::string name;
  DType dtype = DType::float32;
  Shape shape;
  std::shared_ptr<void const> data;

  [[nodiscard]] std::size_t count() const { return count_of(shape); }
  [[nodiscard]] std::size_t bytes() const { return count() * size_of(dtype); }
};

/// Value, scale and offset of an element of a float reference (verify/compact.hpp).
struct CompactElement {
  float value;
  std::uint32_t bounds;
};

/// A verdict on a field as a whole, for properties that no element has: the statistics of random numbers.
struct Statistic {
  std::string fault = {};   ///< why the field is wrong; empty if it was not rejected
  double false_alarms = 0;  ///< at most the probability that a right field is rejected
};

/// The reference of one output field: for each element the value in a wide type and the scale of its error.
///
/// The allowed error of element i is `steps * unit_roundoff * scale[i] + offset[i]` (plus the smallest denormal per
/// step). `steps` is the variant's longest chain of roundings. The unit roundoff belongs to the dtype of sums. For half
/// and bfloat16 this is float, and the result is rounded to the dtype once more.
/// - A `scale` above 0 is the sum of the magnitudes that enter the element.
/// - A `scale` of 0 requires equality with the value rounded to the dtype. It is used for a single operation, and if
///   the reference has proved that no variant rounds more than once (see verify/grid.hpp). An empty `scale` requires
///   equality everywhere.
/// - A `scale` of infinity means that a part of the result may overflow in some order of operations. The element is
///   then counted as unchecked, and a row is weak if a lost tile could hide among the unchecked elements.
/// - `offset` is the error that every variant may make in any order of operations, such as the error of an exponential
///   with a rounded argument. It is in the element's unit and not negative; empty if there is none.
/// - `bfloat16_offset` replaces `offset` for a variant that rounds the factors of its products to bfloat16
///   (ReducedPrecision::bfloat16_factors): an error of 2^-8 per factor, carried through everything that follows the
///   products. If it is empty, such a variant fails. `bfloat16_scale`, if not empty, replaces `scale`.
/// - `random_scale`, if not empty, replaces `scale` for random data, and `random_spread` adds a second term. Used for
///   sums of terms whose signs are drawn independently, if each term is computed before it is added (see
///   verify/verify.hpp).
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
  /// The values after make_narrow() (verify/verify.hpp), in place of `value`.
  std::shared_ptr<float const[]> narrow = {};
  /// Values, scales and offsets of a large field of floats, in place of `value`, `scale` and `offset`. The other bounds
  /// are then empty.
  std::shared_ptr<CompactElement const[]> compact = {};
  /// Elements that rows only move, as the dtype has them, in place of `value`; there are no bounds. Results must be the
  /// same numbers, with NaN in the place of NaN. Both zeros are the same number, but there must be as many of each.
  HostField moved = {};
  /// With `moved`: false in a sample. A row that is not stable may have put some of its zeros outside of it.
  bool has_all_zeros = true;
  /// Number of terms in an element's longest sum; 0: the Problem's terms().
  double terms = 0;
  /// With a scale of 0: whether the values are exact sums that may have more bits than the dtype. Only for 16-bit
  /// floats, because sums in other dtypes are computed in the dtype itself.
  bool rounded_sums = false;
  /// Whether every element depends on all terms of the sums: one closely checked element is then enough.
  bool each_sees_all = false;
  /// Whether a row that computes in the dtype rounds nothing and must be equal. `scale` is then for rows that round the
  /// data.
  bool exact = false;
  /// A power of two that divides all terms: no nonzero partial sum is nearer to 0. 0: unknown; infinity: all terms are
  /// 0, or there are none. If it is at least the smallest normal number, no partial sum can be flushed to 0.
  double grid = 0;
  /// Judges the whole field besides the comparison of its elements.
  std::function<Statistic(HostField const&)> statistic = {};
  /// Returns the field that a row's result is compared with instead, for a field that the row computes from its other
  /// fields. Values in a file are compared by the bounds above.
  std::function<ExpectedField(std::vector<HostField> const& result)> of_result = {};
  /// Judges the field instead, for a row with values of its own (WrittenField::own_values).
  std::function<Statistic(HostField const&)> of_own_values = {};
};

/// The bounds of an ExpectedField in the order of its members: each has a number for every element, or is empty.
inline constexpr std::array expected_bounds{&ExpectedField::scale,          &ExpectedField::offset,
                                            &ExpectedField::bfloat16_scale, &ExpectedField::bfloat16_offset,
                                            &ExpectedField::random_scale,   &ExpectedField::random_spread};

/// The error of a row's results if its arithmetic differs from the dtype's arithmetic (see verify/verify.hpp).
struct ReducedPrecision {
  double relative = 0;            ///< relative to the scale
  double absolute = 0;            ///< in addition, for data that are too small for the arithmetic's number format
  bool rounds_data = false;       ///< whether the arithmetic's number format does not represent some of the data
  bool bfloat16_factors = false;  ///< whether the field's own bounds for bfloat16 factors apply (ExpectedField)
};

/// Returns a field of zeros, with scales of 0 if `has_scales`.
[[nodiscard]] inline ExpectedField zero_field(std::string name, Shape const& shape, bool has_scales = false) {
  return {.name = std::move(name),
          .shape = shape,
          .value = std::vector<double>(count_of(shape)),
          .scale = std::vector<double>(has_scales ? count_of(shape) : 0)};
}

/// Makes a list of fields by moving them; a braced list would copy all values.
template <std::same_as<ExpectedField>... Field>
[[nodiscard]] std::vector<ExpectedField> list_of(Field&&... fields) {
  std::vector<ExpectedField> list;
  list.reserve(sizeof...(fields));
  (list.push_back(std::move(fields)), ...);
  return list;
}

/// An error of the user. It is reported in one message with exit code 2, and nothing runs. The text reads `problem
/// (why); what to do`.
class UserError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Thrown by a Plan's constructor if the variant cannot run this input here; the text says why. Not a failure.
class Skip : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace tessera
