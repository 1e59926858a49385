#pragma once
/// \file
/// sort_segments: the keys of each segment in order, values moved with their keys. Stable. Segment r has the keys
/// offsets[r] to offsets[r + 1] - 1.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include <tessera/collective/key_order.hpp>
#include <tessera/core/info.hpp>
#include <tessera/core/keys.hpp>
#include <tessera/core/offsets.hpp>
#include <tessera/core/parameters.hpp>
#include <tessera/core/random.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>

namespace tessera {
class FieldSource;
}

namespace tessera::sort_segments {

struct Parameters {
  std::int64_t rows = 0;
  Lengths lengths = Lengths::uniform;
  bool descending = false;
  bool with_values = false;
  KeyDistribution distribution = KeyDistribution::uniform;
  std::int64_t words = 3;
  std::int64_t team = 0;

  [[nodiscard]] static MemberSpecs<Parameters> specs() {
    ParameterSpec values{.name = "values", .help = "generated values: none, or each key's index modulo 2^31"};
    values.shapes_generated = true;
    return {{&Parameters::rows, segments_parameter()},
            {&Parameters::lengths, lengths_parameter(), lengths_names()},
            {&Parameters::descending, {.name = "descending", .help = "the largest key first; NaN stays last"}},
            {&Parameters::with_values, values, {{"none", false}, {"index", true}}},
            {&Parameters::distribution, distribution_parameter(), distribution_names()},
            {&Parameters::words, words_parameter()},
            {&Parameters::team, team_parameter()}};
  }
};

struct SortSegments {
  using Parameters = sort_segments::Parameters;
  static constexpr AppInfo info{.name = "sort_segments",
                                .summary = "the keys of each segment in order, values with their keys; stable"};

  static constexpr std::array data{DataKind::random, DataKind::adversarial};
  static constexpr bool more_integers = true;
  static constexpr int moved_copies = 2;

  /// keys [n]; values [n] or [0]; offsets [rows + 1], 64 bits for every dtype: from 0 to n, never falling.
  template <class T, class Memory>
  struct Input {
    Array<T const*, Memory> keys;
    Array<std::int32_t const*, Memory> values;
    Array<std::int64_t const*, Memory> offsets;
    Parameters parameters;

    static constexpr std::array<std::string_view, 3> names{"keys", "values", "offsets"};
    static auto fields(auto& self) { return std::tie(self.keys, self.values, self.offsets); }
  };

  /// Keys and values, each segment sorted.
  template <class T, class Memory>
  struct Output {
    Array<T*, Memory> keys;
    Array<std::int32_t*, Memory> values;

    static constexpr std::array<std::string_view, 2> names{"keys", "values"};
    static auto fields(auto& self) { return std::tie(self.keys, self.values); }
  };

  [[nodiscard]] static std::vector<Shape> input_shapes(std::size_t size, Parameters const& parameters) {
    return {{size}, {parameters.with_values ? size : 0}, {segments_of(size, parameters.rows) + 1}};
  }

  /// Throws UserError if there are neither no values nor one value per key, or if there is no offset.
  [[nodiscard]] static std::vector<Shape> output_shapes(std::vector<Shape> const& input, Parameters const&) {
    if (input[1] != Shape{0} && input[1] != input[0]) {
      throw UserError("keys have shape " + to_string(input[0]) + ", values " + to_string(input[1]) +
                      " (each key has one value, or none has); give as many values as keys, or [0]");
    }
    if (input[2][0] == 0) {
      throw UserError("offsets has shape " + to_string(input[2]) +
                      " (s segments have s + 1 offsets, from 0 to the number of keys); add them");
    }
    return {input[0], input[1]};
  }

  /// Throws UserError if the offsets of a file do not begin with 0, fall, or do not end with the number of keys.
  static void check_source(DType dtype, FieldSource const& source);

  /// Throws UserError if no bit would be left in a key of many words.
  static void check(Parameters const& parameters, DType) { check_words(parameters.words); }

  /// Key: see KeyDistribution and generated_key. Value: the key's index.
  template <class T>
  [[nodiscard]] static auto element(Draw const& draw, Parameters const& parameters) {
    using Integer = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
    using Element = std::conditional_t<std::is_integral_v<T>, Integer, double>;
    if (draw.field == 2) {
      Offsets const offsets{parameters.lengths, draw.seed, (*draw.shapes)[0][0], (*draw.shapes)[2][0] - 1};
      return static_cast<Element>(offsets.at(draw.index));
    }
    if (draw.field == 1) return static_cast<Element>(draw.index % (std::size_t{1} << 31));
    return static_cast<Element>(generated_key<T>(draw, parameters.distribution, parameters.words));
  }

  /// Each key and value is read once and written once; the offsets are read once.
  [[nodiscard]] static Work work(std::vector<Shape> const& input, Parameters const&, DType dtype) {
    auto const keys = static_cast<double>(input[0][0]);
    auto const values = static_cast<double>(input[1][0]);
    return {.bytes = 2 * (keys * static_cast<double>(size_of(dtype)) + values * sizeof(std::int32_t)) +
                     static_cast<double>(input[2][0]) * sizeof(std::int64_t),
            .flops = 0};
  }

  /// Keys are moved, not computed.
  [[nodiscard]] static double rounding_steps(std::vector<Shape> const&, Parameters const&) { return 0; }

  template <class T>
  [[nodiscard]] static std::vector<ExpectedField> reference(Input<T, Kokkos::HostSpace> const& input);
};

}  // namespace tessera::sort_segments
