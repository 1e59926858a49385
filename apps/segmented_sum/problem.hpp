#pragma once
/// \file
/// segmented_sum: sums of segments, out[r] = in[offsets[r]] + ... + in[offsets[r + 1] - 1].

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <tessera/collective/accumulator.hpp>
#include <tessera/core/balanced.hpp>
#include <tessera/core/info.hpp>
#include <tessera/core/parameters.hpp>
#include <tessera/core/random.hpp>
#include <tessera/core/single_array.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>

namespace tessera {
class FieldSource;
}

namespace tessera::segmented_sum {

/// Lengths of generated segments.
enum class Lengths : std::uint8_t {
  uniform,    ///< 0 to twice the mean; one in 16 is empty, and the next one longer
  geometric,  ///< as of the gaps between random places: many short ones
  power_law,  ///< segment number k of the longest is about k^(-7/8) of the longest; one in four is empty
};

struct Parameters {
  std::int64_t rows = 0;
  Lengths lengths = Lengths::uniform;
  std::int64_t team = 0;

  [[nodiscard]] static MemberSpecs<Parameters> specs() {
    return {{&Parameters::rows, extent_parameter("rows", "segments of the generated input; 0: one per 32 elements")},
            {&Parameters::lengths,
             {.name = "lengths",
              .help = "lengths of the generated segments: uniform (0 to twice the mean), geometric, or power_law (one "
                      "is huge)",
              .shapes_generated = true},
             {{"uniform", Lengths::uniform}, {"geometric", Lengths::geometric}, {"power_law", Lengths::power_law}}},
            {&Parameters::team, team_parameter()}};
  }
};

/// Generated offsets: offset r is a function of r alone, so that any rank or thread can generate its part.
struct Offsets {
  static constexpr std::uint64_t block = 16;  ///< segments that share their places (geometric)

  Lengths lengths;
  std::uint64_t seed;
  std::uint64_t n;     ///< elements
  std::uint64_t rows;  ///< segments

  /// Returns offset r of 0 .. rows. Offsets never fall; the first is 0, the last n.
  [[nodiscard]] std::uint64_t at(std::uint64_t r) const {
    if (r == 0) return 0;
    if (r >= rows) return n;
    switch (lengths) {
      case Lengths::geometric: return geometric(r);
      case Lengths::power_law: return power_law(r % 4 == 2 ? r - 1 : r);
      case Lengths::uniform: break;
    }
    std::uint64_t const place = r % 16 == 9 ? r - 1 : r;
    return share(static_cast<double>(place) + uniform(place));
  }

  /// Returns a bound for the length of the longest segment.
  [[nodiscard]] std::uint64_t longest() const {
    if (rows == 0) return n;
    std::uint64_t const mean = n / rows + 1;
    switch (lengths) {
      case Lengths::geometric: return std::min(n, block * mean);
      case Lengths::power_law: return std::min(n, 2 * (zipf(1) + 1));
      case Lengths::uniform: break;
    }
    return std::min(n, 3 * mean);
  }

 private:
  [[nodiscard]] double uniform(std::uint64_t r) const {
    return static_cast<double>(random_bits(seed, 1, r) >> 11) * 0x1p-53;
  }

  /// Returns the element at which `row` of all rows have passed.
  [[nodiscard]] std::uint64_t share(double row) const {
    return std::min(n, static_cast<std::uint64_t>(static_cast<double>(n) * (row / static_cast<double>(rows))));
  }

  // The segments of a block lie between random places in its range, in order.
  [[nodiscard]] std::uint64_t geometric(std::uint64_t r) const {
    std::uint64_t const first = r / block * block;
    std::uint64_t const end = std::min(rows, first + block);
    std::uint64_t const from = share(static_cast<double>(first));
    if (r == first) return from;
    std::uint64_t const to = end == rows ? n : share(static_cast<double>(end));
    std::array<double, block> places{};
    for (std::uint64_t i = first + 1; i < end; ++i) places[i - first - 1] = uniform(i);
    std::sort(places.begin(), places.begin() + (end - first - 1));
    return from + static_cast<std::uint64_t>(static_cast<double>(to - from) * places[r - first - 1]);
  }

  // The number of elements in the k longest segments. Three square roots: every machine rounds them alike.
  [[nodiscard]] std::uint64_t zipf(std::uint64_t k) const {
    double const part = static_cast<double>(k) / static_cast<double>(rows);
    return std::min(n, static_cast<std::uint64_t>(static_cast<double>(n) * std::sqrt(std::sqrt(std::sqrt(part)))));
  }

  // The segments from the longest to the shortest, rotated, so that the longest lies in the middle of the elements.
  [[nodiscard]] std::uint64_t power_law(std::uint64_t r) const {
    std::uint64_t const behind = rows / 128 + 1;  // segments from the longest on, which hold more than half
    std::uint64_t const longest = rows - behind;
    if (r >= longest) return n - zipf(behind) + zipf(r - longest);
    return zipf(behind + r) - zipf(behind);
  }
};

struct SegmentedSum {
  static constexpr AppInfo info{.name = "segmented_sum",
                                .summary = "out[r] = sum of in[offsets[r]] to in[offsets[r+1] - 1]"};
  using Parameters = segmented_sum::Parameters;

  static constexpr std::array data = data_kinds;

  /// in [n]; offsets [rows + 1], 64 bits for every dtype: from 0 to n, never falling.
  template <class T, class Memory>
  struct Input {
    Array<T const*, Memory> in;
    Array<std::int64_t const*, Memory> offsets;
    Parameters parameters;

    static constexpr std::array<std::string_view, 2> names{"in", "offsets"};
    static auto fields(auto& self) { return std::tie(self.in, self.offsets); }
  };

  /// out [rows]; an empty segment is 0.
  template <class T, class Memory>
  using Output = SingleOutput<T*, Memory>;

  [[nodiscard]] static std::vector<Shape> input_shapes(std::size_t size, Parameters const& parameters) {
    auto const given = static_cast<std::size_t>(parameters.rows);
    return {{size}, {(given > 0 ? given : (size + 31) / 32) + 1}};
  }

  /// Throws UserError if there is no offset.
  [[nodiscard]] static std::vector<Shape> output_shapes(std::vector<Shape> const& input, Parameters const&) {
    if (input[1][0] == 0) {
      throw UserError("offsets has shape " + to_string(input[1]) + ", in has shape " + to_string(input[0]) +
                      " (s segments have s + 1 offsets, from 0 to the number of elements); add them");
    }
    return {{input[1][0] - 1}};
  }

  /// Throws UserError if the offsets of a file do not begin with 0, fall, or do not end with the number of elements.
  static void check_source(DType dtype, FieldSource const& source);

  template <class T>
  [[nodiscard]] static double element(Draw const& draw, Parameters const& parameters) {
    if (draw.field == 1) return static_cast<double>(offsets_of(*draw.shapes, parameters, draw.seed).at(draw.index));
    if (draw.data == DataKind::exact) return static_cast<double>(exact_term<T>(draw, 0, draw.index));
    return static_cast<double>(drawn<T>(draw));
  }

  /// Each element is added once.
  [[nodiscard]] static Work work(std::vector<Shape> const& input, Parameters const&, DType dtype) {
    auto const n = static_cast<double>(input[0][0]);
    auto const rows = static_cast<double>(input[1][0]) - 1;
    return {.bytes = (n + rows) * static_cast<double>(size_of(dtype)) + (rows + 1) * sizeof(std::int64_t), .flops = n};
  }

  /// Assumes the worst order of the longest possible segment.
  [[nodiscard]] static double rounding_steps(std::vector<Shape> const& input, Parameters const&) {
    return static_cast<double>(input[0][0]);
  }

  /// Of generated input; the reference knows the longest segment of a file.
  [[nodiscard]] static std::uint64_t terms(std::vector<Shape> const& input, Parameters const& parameters) {
    return offsets_of(input, parameters, 0).longest();
  }

  template <class T>
  [[nodiscard]] static std::vector<ExpectedField> reference(Input<T, Kokkos::HostSpace> const& input);

 private:
  [[nodiscard]] static Offsets offsets_of(std::vector<Shape> const& input, Parameters const& parameters,
                                          std::uint64_t seed) {
    return {parameters.lengths, seed, input[0][0], input[1][0] - 1};
  }
};

using collective::Accumulator;

}  // namespace tessera::segmented_sum
