#pragma once
/// \file
/// segmented_sum: sums of segments, out[r] = in[offsets[r]] + ... + in[offsets[r + 1] - 1].

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include <tessera/collective/accumulator.hpp>
#include <tessera/core/balanced.hpp>
#include <tessera/core/info.hpp>
#include <tessera/core/offsets.hpp>
#include <tessera/core/parameters.hpp>
#include <tessera/core/random.hpp>
#include <tessera/core/single_array.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>

namespace tessera {
class FieldSource;
}

namespace tessera::segmented_sum {

struct Parameters {
  std::int64_t rows = 0;
  Lengths lengths = Lengths::uniform;
  std::int64_t team = 0;

  [[nodiscard]] static MemberSpecs<Parameters> specs() {
    return {{&Parameters::rows, segments_parameter()},
            {&Parameters::lengths, lengths_parameter(), lengths_names()},
            {&Parameters::team, team_parameter()}};
  }
};

struct SegmentedSum {
  static constexpr AppInfo info{.name = "segmented_sum",
                                .summary = "out[r] = sum of in[offsets[r]] to in[offsets[r+1] - 1]"};
  using Parameters = segmented_sum::Parameters;

  static constexpr std::array data = data_kinds;
  static constexpr bool more_integers = true;

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
    return {{size}, {segments_of(size, parameters.rows) + 1}};
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
  [[nodiscard]] static auto element(Draw const& draw, Parameters const& parameters) {
    using Integer = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
    using Element = std::conditional_t<std::is_integral_v<T>, Integer, double>;
    if (draw.field == 1) return static_cast<Element>(offsets_of(*draw.shapes, parameters, draw.seed).at(draw.index));
    if (draw.data != DataKind::exact) return static_cast<Element>(drawn<T>(draw));
    // The same term in both halves of 64 bits, so that a sum of 32 bits is wrong.
    constexpr auto both_halves = static_cast<Element>(std::is_integral_v<T> && sizeof(T) == 8 ? 0x100000001 : 1);
    return static_cast<Element>(exact_term<T>(draw, 0, draw.index)) * both_halves;
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
