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

namespace tessera::sort {

struct Parameters {
  bool descending = false;
  std::int64_t begin_bit = 0;
  std::int64_t end_bit = 0;
  bool with_values = false;
  KeyDistribution distribution = KeyDistribution::uniform;
  std::int64_t words = 3;
  std::int64_t tile = 0;
  std::int64_t team = 0;

  [[nodiscard]] static MemberSpecs<Parameters> specs() {
    ParameterSpec values{.name = "values", .help = "generated values: none, or each key's index, as wide as a key"};
    values.shapes_generated = true;
    return {
        {&Parameters::descending, {.name = "descending", .help = "the largest key first; NaN stays last"}},
        {&Parameters::begin_bit, number_parameter("begin-bit", "the lowest bit of a key's word that counts", 0, 63)},
        {&Parameters::end_bit,
         number_parameter("end-bit", "one above the highest bit that counts; 0: the key's width", 0, 64)},
        {&Parameters::with_values, values, {{"none", false}, {"index", true}}},
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

/// The type of the values of keys of type T: an integer of the same width.
template <class T>
using ValueOf = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;

struct Sort {
  using Parameters = sort::Parameters;
  static constexpr AppInfo info{.name = "sort",
                                .summary = "keys in ascending or descending order, values with their keys; stable",
                                .traffic = {.pattern = Traffic::Pattern::all_to_all, .launches = 13}};

  static constexpr std::array data{DataKind::random, DataKind::adversarial};
  static constexpr bool more_integers = true;
  static constexpr int moved_copies = 2;

  /// keys [n]; values [n] or [0].
  template <class T, class Memory>
  struct Input {
    Array<T const*, Memory> keys;
    Array<ValueOf<T> const*, Memory> values;
    Parameters parameters;

    static constexpr std::array<std::string_view, 2> names{"keys", "values"};
    static auto fields(auto& self) { return std::tie(self.keys, self.values); }
  };

  /// The same fields, sorted.
  template <class T, class Memory>
  struct Output {
    Array<T*, Memory> keys;
    Array<ValueOf<T>*, Memory> values;

    static constexpr std::array<std::string_view, 2> names{"keys", "values"};
    static auto fields(auto& self) { return std::tie(self.keys, self.values); }
  };

  [[nodiscard]] static std::vector<Shape> input_shapes(std::size_t size, Parameters const& parameters) {
    return {{size}, {parameters.with_values ? size : 0}};
  }

  /// Throws UserError if there are neither no values nor one value per key.
  [[nodiscard]] static std::vector<Shape> output_shapes(std::vector<Shape> const& input, Parameters const&) {
    if (input[1] != Shape{0} && input[1] != input[0]) {
      throw UserError("keys have shape " + to_string(input[0]) + ", values " + to_string(input[1]) +
                      " (each key has one value, or none has); give as many values as keys, or [0]");
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
                    " keys (a key has bits 0 to " + std::to_string(width) +
                    "); choose 0 <= --begin-bit < --end-bit <= " + std::to_string(width));
  }

  /// Key: see KeyDistribution; adversarial keys include NaN, infinities, zeros of both signs, and denormals. Value: the
  /// key's index.
  template <class T>
  [[nodiscard]] static auto element(Draw const& draw, Parameters const& parameters) {
    using Element = std::conditional_t<std::is_integral_v<T>, T, double>;
    if (draw.field == 1) return static_cast<Element>(static_cast<ValueOf<T>>(draw.index));  // modulo 2^32 in 32 bits
    return static_cast<Element>(generated_key<T>(draw, parameters.distribution, parameters.words));
  }

  /// Each key and value is read once and written once.
  [[nodiscard]] static Work work(std::vector<Shape> const& input, Parameters const&, DType dtype) {
    auto const n = static_cast<double>(count_of(input[0]) + count_of(input[1]));
    return {.bytes = 2 * n * static_cast<double>(size_of(dtype)), .flops = 0};
  }

  /// Keys are moved, not computed.
  [[nodiscard]] static double rounding_steps(std::vector<Shape> const&, Parameters const&) { return 0; }

  /// Several ranks share keys and values in blocks.
  [[nodiscard]] static std::vector<Split> input_split(Parameters const&) { return {Split::rows, Split::rows}; }
  [[nodiscard]] static std::vector<Split> output_split(Parameters const&) { return {Split::rows, Split::rows}; }

  template <class T>
  [[nodiscard]] static std::vector<ExpectedField> reference(Input<T, Kokkos::HostSpace> const& input);
};

/// Throws Skip if the order of equal keys shows: with values, or by some bits. For variants that are not stable.
template <class T, class Input>
void require_keys_only(Input const& input) {
  if (input.values.extent(0) > 0) throw Skip("keys with values (it is not stable)");
  if (input.parameters.template by_some_bits<T>()) throw Skip("a sort by some bits (it is not stable)");
}

}  // namespace tessera::sort
