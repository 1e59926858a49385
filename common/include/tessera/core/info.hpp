#pragma once
/// \file
/// Descriptions of mini-apps, variants and parameters: plain data for --help, --list and the reports. No Kokkos.

#include <array>
#include <charconv>
#include <concepts>
#include <cstddef>
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

/// The level of Kokkos' hierarchy at which a variant is written.
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

/// The unit that executes a row's operations; its peak is the roof of the operations. All units except multiply_add are
/// matrix units (tensor cores) for factors of the named type, with float accumulation
/// (collective/lane/matrix_unit.hpp).
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

/// How the ranks share a field.
enum class Split : std::uint8_t {
  rows,   ///< each rank has a block of the first dimension (ranks::block_of)
  whole,  ///< each rank has the whole field
  grid,   ///< a matrix: each rank of a grid has a block of rows and of columns (ranks::Grid)
};

/// Kinds of generated data. A Problem lists the kinds that it supports; the first one is the default.
enum class DataKind : std::uint8_t {
  exact,        ///< on a grid, small and sparse: the dtype represents every sum that a variant may form
  random,       ///< uniform: sums are rounded, and compared within an error bound
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
  std::string_view name;       ///< --variant name, file name and struct name (in snake_case) agree
  Level level = Level::range;  ///< lowest level of the hierarchy that the code names
  std::string_view summary;    ///< one line for --list
  bool deterministic = true;   ///< same bits on every run with the same options; checked on every run
  /// for --list: what determines the order of operations if it is not deterministic
  std::string_view ordered_by = "atomics";
  Unit unit = Unit::multiply_add;  ///< the unit that executes its operations
  /// One file of at most 60 lines of code with a loop of its own; checked in CI.
  bool lesson = false;
  int unit_products = 1;  ///< products of the unit per product of the result: the roof is the unit's peak divided by it
};

/// The data that a mini-app's variant `distributed` exchanges between ranks. study/model.hpp predicts the time from it.
struct Traffic {
  enum class Pattern : std::uint8_t {
    unknown,      ///< nothing is predicted
    nothing,      ///< rows are independent
    totals,       ///< one number per rank, to all ranks
    merged,       ///< one number per rank, merged by the first, to all ranks
    halo,         ///< rows of the next rank, as many as Problem::reach
    segments,     ///< the parts of segments that lie on a neighbour
    sums,         ///< sums over the ranks: outputs that every rank has whole, vectors as one array
    queries,      ///< queries to the owners of keys, partial results back
    panels,       ///< panels of two factors, over a grid
    all_to_all,   ///< a block to each other rank
    sample_sort,  ///< samples of sorted blocks to all ranks in some rounds, then a block to each other rank
    runs,         ///< the ends of a rank's runs to all ranks, then a result per run to the ranks that own the places
    shift,        ///< two runs per rank, each to one or two ranks
    table_rows,   ///< with `--table rows`: indices to the owners of a table's rows, rows back; else nothing
  };
  Pattern pattern = Pattern::unknown;
  int launches = 1;            ///< of kernels, per rank on a GPU
  std::size_t field = 0;       ///< the input field whose rows the ranks share
  std::size_t word_bytes = 0;  ///< of a total, or of an element of the sums; 0: as the dtype
  int times = 1;               ///< how often the sums of a matrix are made
};

/// A mini-app's description of itself.
struct AppInfo {
  std::string_view name;        ///< "prefix_sum"
  std::string_view summary;     ///< one line: the formula
  bool measures_roofs = false;  ///< its rows are roofs, and may be compared with rows of another device
  Traffic traffic = {};         ///< of its variant `distributed`
  std::string_view rate = {};   ///< what --size counts, if tables should show how many are done per second: "points"
};

/// Returns the shortest text that reads back as the same number: "1000", "0.5", "1e+39".
template <std::floating_point Real>
[[nodiscard]] std::string shortest_text(Real value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

/// Value of a scalar parameter: an attribute of /input, or an option with the same name.
using ParameterValue = std::variant<bool, std::int64_t, double, std::string>;
using ParameterMap = std::map<std::string, ParameterValue, std::less<>>;

/// Who gives a parameter of generated input. A file states all of them as attributes.
enum class GivenBy : std::uint8_t {
  option,  ///< its own option, or its default
  size,    ///< --size: for a Problem without input fields, the number of its elements
  seed,    ///< --seed: for a Problem whose result depends on it
  dtype,   ///< --dtype: for a Problem without input fields, whose files have no dataset to show it
};

/// A scalar parameter of a mini-app. The alternative that `default_value` holds is the parameter's type.
struct ParameterSpec {
  std::string name;  ///< attribute name, and `--name` on the command line (a bool is a flag)
  std::string help;  ///< one line, with unit
  ParameterValue default_value = {};
  std::vector<std::string> choices = {};  ///< for strings: the allowed values
  double minimum = -std::numeric_limits<double>::infinity();
  double maximum = std::numeric_limits<double>::infinity();
  bool must_be_finite = true;
  /// Whether a real number is used in the arithmetic type (float for a 16-bit dtype) instead of the dtype.
  bool in_arithmetic = false;
  bool shapes_generated =
      false;  ///< whether it shapes generated input: not allowed with --input, and not an attribute of a file
  /// Whether it only tunes variants, and changes neither input nor result. It is then an integer whose option takes
  /// lists and ranges, as --size does. A run has one case per value, and makes input and reference once.
  bool sweep = false;
  /// Whether it describes how the ranks share the work. It has no effect on one rank.
  bool of_ranks = false;
  /// Other than `option`: it has no option of its own, and a file must state it.
  GivenBy given_by = GivenBy::option;
};

/// An input or output field before its data exist.
struct FieldSpec {
  std::string name;
  int rank = 1;
  DType dtype = DType::float32;
  bool vector_as_row = false;  ///< whether a file may hold this matrix (rank 2) as a vector [n], read as [1, n]
  bool optional = false;       ///< whether a file may leave this vector out, which is then [0]
};

/// The least work that an input requires, independent of the variant.
struct Work {
  double bytes = 0;  ///< each input read once, each output written once
  double flops = 0;
};

/// The prediction of a machine model for a row, reported beside the measurement.
struct Prediction {
  double bytes = 0;   ///< moved by memory, in whole sectors or cache lines, if caches keep nothing in between
  double passes = 1;  ///< that a warp needs per instruction: the ways of a bank conflict, or the branches taken
  /// Parts of the row that may overlap, each measured alone in the same run: longest_seconds <= time <= sum_seconds.
  double longest_seconds = std::numeric_limits<double>::quiet_NaN();
  double sum_seconds = std::numeric_limits<double>::quiet_NaN();
};

}  // namespace tessera
