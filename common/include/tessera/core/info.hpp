#pragma once
/// \file
/// Descriptions of mini-apps, variants and parameters: plain data for --help, --list and the reports. No Kokkos.

#include <array>
#include <charconv>
#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <tessera/core/types.hpp>

namespace tessera {

/// Where in Kokkos' hierarchy a variant is written.
enum class Level : std::uint8_t { range, team, lane, device, library, ranks };
inline constexpr std::array<Level, 6> all_levels{Level::range,  Level::team,    Level::lane,
                                                 Level::device, Level::library, Level::ranks};

[[nodiscard]] constexpr std::string_view name_of(Level level) {
  switch (level) {
    case Level::range: return "range";
    case Level::team: return "team";
    case Level::lane: return "lane";
    case Level::device: return "device";
    case Level::library: return "library";
    case Level::ranks: return "ranks";
  }
  return "unknown";
}

/// The unit that does a row's operations; its peak is their roof. All but multiply_add are matrix units (tensor cores)
/// for factors of that type, with sums in float (collective/lane/matrix_unit.hpp).
enum class Unit : std::uint8_t { multiply_add, tf32, half, bfloat16 };
inline constexpr std::array matrix_units{Unit::tf32, Unit::half, Unit::bfloat16};

[[nodiscard]] constexpr std::string_view name_of(Unit unit) {
  switch (unit) {
    case Unit::multiply_add: return "multiply_add";
    case Unit::tf32: return "tf32";
    case Unit::half: return "half";
    case Unit::bfloat16: return "bfloat16";
  }
  return "unknown";
}

/// How several ranks share a field.
enum class Split : std::uint8_t {
  rows,   ///< each rank has a block of its first dimension (ranks::block_of)
  whole,  ///< each rank has all of it
  grid,   ///< a matrix: each rank of a grid has a block of rows by a block of columns (ranks::Grid)
};

/// Kinds of generated data. A Problem says which of these it has; the first is a run's default.
enum class DataKind : std::uint8_t {
  exact,        ///< on a grid, so small and sparse that the dtype holds every sum that a variant may form
  random,       ///< uniform: sums are rounded, and checked against a bound
  adversarial,  ///< zeros of both signs, denormals, magnitudes from 2^-40 to 2^40, cancellation; integers that wrap
};

inline constexpr std::array data_kinds{DataKind::exact, DataKind::random, DataKind::adversarial};

[[nodiscard]] constexpr std::string_view name_of(DataKind kind) {
  switch (kind) {
    case DataKind::exact: return "exact";
    case DataKind::random: return "random";
    case DataKind::adversarial: return "adversarial";
  }
  return "unknown";
}

/// A variant's description of itself.
struct VariantInfo {
  std::string_view name;                    ///< --variant name, file name and struct name (in snake_case) agree
  Level level = Level::range;               ///< lowest level of the hierarchy that the code names
  std::string_view summary;                 ///< one line for --list
  bool deterministic = true;                ///< same bits on every run with the same options; checked on every run
  std::string_view ordered_by = "atomics";  ///< for --list: what orders operations where it is not deterministic
  Unit unit = Unit::multiply_add;           ///< what does its operations
  bool lesson = false;    ///< one file of at most 60 code lines that shows its own loop; checked in CI
  int unit_products = 1;  ///< products of the unit for one of the result: the roof is the unit's peak divided by it
};

/// A mini-app's description of itself.
struct AppInfo {
  std::string_view name;        ///< "prefix_sum"
  std::string_view summary;     ///< one line: the formula
  bool measures_roofs = false;  ///< its rows are roofs themselves, and may be compared with those of another device
};

/// The shortest text that reads back as the same number: "1000", "0.5", "1e+39".
template <std::floating_point Real>
[[nodiscard]] std::string shortest_text(Real value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

/// The value of a scalar parameter: an attribute of /input or an option of the same name.
using ParameterValue = std::variant<bool, std::int64_t, double, std::string>;
using ParameterMap = std::map<std::string, ParameterValue, std::less<>>;

/// One scalar parameter of a mini-app. The alternative held by `default_value` is its type.
struct ParameterSpec {
  std::string name;  ///< attribute name, and `--name` on the command line (a bool is a flag)
  std::string help;  ///< one line, with unit
  ParameterValue default_value;
  std::vector<std::string> choices;  ///< for strings: the allowed values
  double minimum = -std::numeric_limits<double>::infinity();
  double maximum = std::numeric_limits<double>::infinity();
  bool must_be_finite = true;
  /// Whether a real number is used in the type that sums are made in, float for a dtype of 16 bits, and not in the dtype.
  bool in_arithmetic = false;
  bool shapes_generated =
      false;  ///< whether it shapes generated input: then it is a mistake beside --input, and no attribute of a file
  /// Whether it only tunes variants, and changes neither input nor result: an integer whose option takes lists and
  /// ranges, as --size does. A run has a case for each value, and makes input and reference once.
  bool sweep = false;
  /// Whether it says how ranks share the work, and means nothing on one rank.
  bool of_ranks = false;
};

/// One input or output field, before there is data.
struct FieldSpec {
  std::string name;
  int rank = 1;
  DType dtype = DType::float32;
  bool vector_as_row = false;  ///< whether a file may hold this matrix (rank 2) as a vector [n], read as [1, n]
};

/// The least work that an input requires, whatever the variant.
struct Work {
  double bytes = 0;  ///< each input read once, each output written once
  double flops = 0;
};

/// What a model of the machine predicts for a row, reported beside its measurement.
struct Prediction {
  double bytes = 0;   ///< that memory moves, in whole sectors or cache lines, if caches keep nothing in between
  double passes = 1;  ///< that a warp needs for one instruction: by ways of a bank conflict, or by branches taken
};

}  // namespace tessera
