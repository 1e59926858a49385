#pragma once
/// \file
/// partition: values less than the pivot (left elements) first, then all others (right elements), both in their order
/// (or the right elements in the reverse order); in the whole array or by segments. With --bins, the whole array in up
/// to 256 bins of one width.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <tessera/core/array_problem.hpp>
#include <tessera/core/info.hpp>
#include <tessera/core/parameters.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>
#include <tessera/ranks/part.hpp>

namespace tessera::partition {

struct Parameters {
  double pivot = 0;
  bool reversed = false;
  std::int64_t bins = 2;
  double width = 0.0078125;
  std::size_t segment = 0;
  std::int64_t tile = 0;
  std::int64_t team = 0;

  [[nodiscard]] static MemberSpecs<Parameters> specs() {
    return {
        // Infinities and NaN are valid: nothing is less than -inf or NaN, and only +inf and NaN are not less than +inf.
        {&Parameters::pivot,
         {.name = "pivot", .help = "elements less than it go left, all others right", .must_be_finite = false}},
        {&Parameters::reversed,
         {.name = "right", .help = "the order of the right elements; reversed: as cub::DevicePartition leaves them"},
         {{"kept", false}, {"reversed", true}}},
        {&Parameters::bins,
         number_parameter("bins", "bins; the first is left of the pivot, the next --width wide, the last has the rest",
                          2, 256)},
        {&Parameters::width, {.name = "width", .help = "width of the bins between the first and the last; above 0"}},
        {&Parameters::segment, segment_parameter()},
        {&Parameters::tile, tile_parameter()},
        {&Parameters::team, team_parameter()}};
  }

  /// Throws UserError if bins are asked for that no variant makes.
  void check() const {
    if (!(width > 0)) {
      throw UserError("--width " + std::to_string(width) + " (bins would be empty); give a width above 0");
    }
    if (bins == 2 || (segment == 0 && !reversed)) return;
    throw UserError("--bins " + std::to_string(bins) +
                    " with --segment or --right reversed (bins are of the whole array, in order); leave these out");
  }

  /// Returns the number of counts of n elements: one per segment, or one per bound between two bins.
  [[nodiscard]] std::size_t counts(std::size_t n) const {
    return bins == 2 ? segments(n) : static_cast<std::size_t>(bins) - 1;
  }

  /// Returns the number of segments of n elements; without --segment it is 1, even if the array is empty.
  [[nodiscard]] std::size_t segments(std::size_t n) const {
    return segment == 0 ? 1 : n / segment + (n % segment != 0 ? 1 : 0);
  }
};

/// Throws Skip if there are several segments, for variants without segments.
inline void require_one_segment(Parameters const& parameters, std::size_t n) {
  if (parameters.segments(n) <= 1) return;
  throw Skip("segments of " + std::to_string(parameters.segment) + " (the whole array is partitioned at once)");
}

/// Throws Skip if there are more than two bins, for variants that have a left and a right side.
inline void require_two_sides(Parameters const& parameters) {
  if (parameters.bins != 2) throw Skip(std::to_string(parameters.bins) + " bins (it has a left and a right side)");
}

/// Throws Skip for --right reversed, for variants that keep the right elements in order.
inline void require_kept_order(Parameters const& parameters) {
  if (parameters.reversed) throw Skip("--right reversed (it keeps the right elements in order)");
}

struct Partition : ArrayProblem<Parameters> {
  static constexpr AppInfo info{.name = "partition",
                                .summary = "elements less than the pivot first, then the others, orders kept",
                                .traffic = {.pattern = Traffic::Pattern::shift, .launches = 3}};

  static constexpr std::array data = data_kinds;
  static constexpr int reference_doubles = 1;

  /// values [n]; left_count [segments]: the number of elements of each segment that are less than the pivot. With more
  /// than two bins, left_count [bins - 1]: the number of elements in bins 0 to b, which is where bin b + 1 begins.
  template <class T, class Memory>
  struct Output {
    Array<T*, Memory> values;
    Array<std::int64_t*, Memory> left_count;

    static constexpr std::array<std::string_view, 2> names{"values", "left_count"};
    static auto fields(auto& self) { return std::tie(self.values, self.left_count); }
  };

  [[nodiscard]] static std::vector<Shape> output_shapes(std::vector<Shape> const& input, Parameters const& parameters) {
    return {input[0], {parameters.counts(count_of(input[0]))}};
  }

  /// One comparison per element.
  [[nodiscard]] static Work work(std::vector<Shape> const& input, Parameters const& parameters, DType dtype) {
    auto const n = static_cast<double>(count_of(input[0]));
    auto const counts = static_cast<double>(parameters.counts(count_of(input[0])));
    return {.bytes = 2 * n * static_cast<double>(size_of(dtype)) + 8 * counts, .flops = n};
  }

  /// Values are moved, not computed.
  [[nodiscard]] static double rounding_steps(std::vector<Shape> const&, Parameters const&) { return 0; }

  /// Several ranks share the input in blocks; all ranks have the counts.
  [[nodiscard]] static std::vector<Split> input_split(Parameters const&) { return {Split::rows}; }
  [[nodiscard]] static std::vector<Split> output_split(Parameters const&) { return {Split::rows, Split::whole}; }

  template <class T>
  [[nodiscard]] static std::vector<ExpectedField> reference_of_part(Input<T, Kokkos::HostSpace> const& input,
                                                                    ranks::Part const& part);

  template <class T>
  [[nodiscard]] static std::vector<ExpectedField> reference(Input<T, Kokkos::HostSpace> const& input);
};

}  // namespace tessera::partition
