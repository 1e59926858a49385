#pragma once
/// \file
/// sort: keys in ascending or descending order, values moved with their keys. Stable: equal keys keep their order.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include <tessera/collective/key_order.hpp>
#include <tessera/core/info.hpp>
#include <tessera/core/keys.hpp>
#include <tessera/core/parameters.hpp>
#include <tessera/core/random.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>
#include <tessera/ranks/part.hpp>

namespace tessera::sort {

enum class Values : std::uint8_t { none, index, other };

struct Parameters {
  bool descending = false;
  std::int64_t begin_bit = 0;
  std::int64_t end_bit = 0;
  Values values = Values::none;
  KeyDistribution distribution = KeyDistribution::uniform;
  std::int64_t words = 3;
  std::int64_t tile = 0;
  std::int64_t team = 0;

  [[nodiscard]] static MemberSpecs<Parameters> specs() {
    ParameterSpec values{.name = "values",
                         .help = "generated values: none, or each key's index, as wide as a key or of the other width"};
    values.shapes_generated = true;
    return {
        {&Parameters::descending, {.name = "descending", .help = "the largest key first; NaN stays last"}},
        {&Parameters::begin_bit, number_parameter("begin-bit", "the lowest bit of a key's word that counts", 0, 63)},
        {&Parameters::end_bit,
         number_parameter("end-bit", "one above the highest bit that counts; 0: the key's width", 0, 64)},
        {&Parameters::values, values, {{"none", Values::none}, {"index", Values::index}, {"other", Values::other}}},
        {&Parameters::distribution, distribution_parameter(), distribution_names()},
        {&Parameters::words, words_parameter()},
        {&Parameters::tile, tile_parameter()},
        {&Parameters::team, team_parameter()}};
  }

  /// Returns one above the highest bit that counts.
  [[nodiscard]] int last_bit(int width) const { return end_bit == 0 ? width : static_cast<int>(end_bit); }

  /// Returns the order of the keys.
  template <class T>
  [[nodiscard]] collective::KeyOrder<T> order() const {
    return collective::KeyOrder<T>(descending, static_cast<int>(begin_bit), last_bit(collective::key_bits<T>));
  }
  /// Returns whether some bits do not count. Equal keys may then differ, and their order shows.
  template <class T>
  [[nodiscard]] bool by_some_bits() const {
    return begin_bit != 0 || last_bit(collective::key_bits<T>) != collective::key_bits<T>;
  }
};

/// The types of the values of keys of type T: an integer of the same width, or of the other one.
template <class T>
using ValueOf = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;
template <class T>
using OtherValueOf = std::conditional_t<sizeof(T) == 8, std::int32_t, std::int64_t>;

struct Sort {
  using Parameters = sort::Parameters;
  static constexpr AppInfo info{.name = "sort",
                                .summary = "keys in ascending or descending order, values with their keys; stable",
                                .traffic = {.pattern = Traffic::Pattern::sample_sort, .launches = 13}};

  static constexpr std::array data{DataKind::random, DataKind::adversarial};
  static constexpr bool more_integers = true;
  static constexpr int moved_copies = 2;

  /// keys [n]; values and other_values [n] or [0], not both [n].
  template <class T, class Memory>
  struct Input {
    Array<T const*, Memory> keys;
    Array<ValueOf<T> const*, Memory> values;
    Array<OtherValueOf<T> const*, Memory> other_values;
    Parameters parameters;

    static constexpr std::array<std::string_view, 3> names{"keys", "values", "other_values"};
    static constexpr std::size_t required = 1;
    static auto fields(auto& self) { return std::tie(self.keys, self.values, self.other_values); }

    [[nodiscard]] bool has_values() const { return values.extent(0) + other_values.extent(0) > 0; }
  };

  /// The same fields, sorted.
  template <class T, class Memory>
  struct Output {
    Array<T*, Memory> keys;
    Array<ValueOf<T>*, Memory> values;
    Array<OtherValueOf<T>*, Memory> other_values;

    static constexpr std::array<std::string_view, 3> names{"keys", "values", "other_values"};
    static auto fields(auto& self) { return std::tie(self.keys, self.values, self.other_values); }
  };

  [[nodiscard]] static std::vector<Shape> input_shapes(std::size_t size, Parameters const& parameters) {
    return {{size}, {parameters.values == Values::index ? size : 0}, {parameters.values == Values::other ? size : 0}};
  }

  /// Throws UserError if there are neither no values nor one value per key.
  [[nodiscard]] static std::vector<Shape> output_shapes(std::vector<Shape> const& input, Parameters const&) {
    for (std::size_t i : {1, 2}) {
      if (input[i] == Shape{0} || input[i] == input[0]) continue;
      throw UserError("keys have shape " + to_string(input[0]) + ", " +
                      std::string(Input<float, Kokkos::HostSpace>::names[i]) + " " + to_string(input[i]) +
                      " (each key has one value, or none has); give as many values as keys, or [0]");
    }
    if (input[1] != Shape{0} && input[2] != Shape{0}) {
      throw UserError("values and other_values have shape " + to_string(input[1]) +
                      " (a key has values of one width); leave one of them out");
    }
    return input;
  }

  /// Throws UserError if the bits are not bits of the keys, or if no bit would be left in a key of many words.
  static void check(Parameters const& parameters, DType dtype) {
    check_words(parameters.words);
    int const width = 8 * static_cast<int>(size_of(dtype));
    if (parameters.begin_bit < parameters.last_bit(width) && parameters.last_bit(width) <= width) return;
    throw UserError("bits " + std::to_string(parameters.begin_bit) + " to " +
                    std::to_string(parameters.last_bit(width)) + " of " + std::string(name_of(dtype)) +
                    " keys (a key has bits 0 to " + std::to_string(width - 1) +
                    "); choose 0 <= --begin-bit < --end-bit <= " + std::to_string(width));
  }

  /// Key: see KeyDistribution; adversarial keys include NaN, infinities, zeros of both signs, and denormals. Value: the
  /// key's index.
  template <class T>
  [[nodiscard]] static auto element(Draw const& draw, Parameters const& parameters) {
    using Integer = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
    using Element = std::conditional_t<std::is_integral_v<T>, Integer, double>;
    // Modulo 2^32 in 32 bits.
    if (draw.field == 1) return static_cast<Element>(static_cast<ValueOf<T>>(draw.index));
    if (draw.field == 2) return static_cast<Element>(static_cast<OtherValueOf<T>>(draw.index));
    return static_cast<Element>(generated_key<T>(draw, parameters.distribution, parameters.words));
  }

  /// Each key and value is read once and written once.
  [[nodiscard]] static Work work(std::vector<Shape> const& input, Parameters const&, DType dtype) {
    auto const as_wide = static_cast<double>(count_of(input[0]) + count_of(input[1]));
    auto const others = static_cast<double>(count_of(input[2]));
    auto const width = static_cast<double>(size_of(dtype));
    return {.bytes = 2 * (as_wide * width + others * (12 - width)), .flops = 0};
  }

  /// Keys are moved, not computed.
  [[nodiscard]] static double rounding_steps(std::vector<Shape> const&, Parameters const&) { return 0; }

  /// Several ranks share keys and values in blocks.
  [[nodiscard]] static std::vector<Split> input_split(Parameters const&) { return std::vector<Split>(3, Split::rows); }
  [[nodiscard]] static std::vector<Split> output_split(Parameters const& parameters) { return input_split(parameters); }

  template <class T>
  [[nodiscard]] static std::vector<ExpectedField> reference(Input<T, Kokkos::HostSpace> const& input);

  template <class T>
  [[nodiscard]] static std::vector<ExpectedField> reference_of_part(Input<T, Kokkos::HostSpace> const& input,
                                                                    ranks::Part const& part);
};

/// Throws Skip if the order of equal keys shows: with values, or by some bits. For variants that are not stable.
template <class T, class Input>
void require_keys_only(Input const& input) {
  if (input.has_values()) throw Skip("keys with values (it is not stable)");
  if (input.parameters.template by_some_bits<T>()) throw Skip("a sort by some bits (it is not stable)");
}

}  // namespace tessera::sort
