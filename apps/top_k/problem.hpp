#pragma once
/// \file
/// top_k: the k largest elements of each row with their indices, the largest first; of equal ones the lowest index.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include <tessera/core/generated_keys.hpp>
#include <tessera/core/info.hpp>
#include <tessera/core/matrix_shape.hpp>
#include <tessera/core/parameters.hpp>
#include <tessera/core/random.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>

namespace tessera::top_k {

/// The distribution of generated elements; with `--data adversarial` it is ignored.
enum class Distribution : std::uint8_t {
  ties,      ///< 1 of 64 is one number, 1 of 64 is just below it, about 8 per row are above it, all others below
  uniform,   ///< all integers, or numbers in [-1, 1), equally likely
  rising,    ///< from the lowest to the highest
  falling,   ///< from the highest to the lowest
  constant,  ///< all equal
};

struct Parameters {
  std::int64_t k = -1;
  std::int64_t rows = 1;
  Distribution distribution = Distribution::ties;
  std::int64_t team = 0;

  [[nodiscard]] static MemberSpecs<Parameters> specs() {
    return {{&Parameters::k,
             number_parameter("k", "elements per row, up to its length; -1: 16, or all if a row has fewer", -1)},
            {&Parameters::rows, rows_parameter()},
            {&Parameters::distribution,
             {.name = "distribution",
              .help = "of generated elements: ties (many are the k-th), uniform, rising, falling or constant",
              .shapes_generated = true},
             {{"ties", Distribution::ties},
              {"uniform", Distribution::uniform},
              {"rising", Distribution::rising},
              {"falling", Distribution::falling},
              {"constant", Distribution::constant}}},
            {&Parameters::team, team_parameter()}};
  }
};

struct TopK {
  using Parameters = top_k::Parameters;
  static constexpr AppInfo info{.name = "top_k", .summary = "the k largest elements of each row and their indices"};

  static constexpr std::array data{DataKind::random, DataKind::adversarial};
  static constexpr bool more_integers = true;
  static constexpr int moved_copies = 2;

  /// in [rows, n]; a vector [n] in a file is one row.
  template <class T, class Memory>
  struct Input {
    Array<T const**, Memory> in;
    Parameters parameters;

    static constexpr bool vector_as_row = true;
    static constexpr std::array<std::string_view, 1> names{"in"};
    static auto fields(auto& self) { return std::tie(self.in); }
  };

  /// values [rows, k]; indices [rows, k], in the row.
  template <class T, class Memory>
  struct Output {
    Array<T**, Memory> values;
    Array<std::int64_t**, Memory> indices;

    static constexpr bool vector_as_row = true;
    static constexpr std::array<std::string_view, 2> names{"values", "indices"};
    static auto fields(auto& self) { return std::tie(self.values, self.indices); }
  };

  [[nodiscard]] static std::vector<Shape> input_shapes(std::size_t size, Parameters const& parameters) {
    return {matrix_shape(size, parameters.rows)};
  }

  /// Throws UserError if a row has fewer than k elements.
  [[nodiscard]] static std::vector<Shape> output_shapes(std::vector<Shape> const& input, Parameters const& parameters) {
    std::size_t const n = input[0][1];
    if (parameters.k > 0 && static_cast<std::size_t>(parameters.k) > n) {
      throw UserError("k = " + std::to_string(parameters.k) + " of rows of " + std::to_string(n) +
                      " elements (there are not as many); choose k up to " + std::to_string(n));
    }
    std::size_t const k = parameters.k < 0 ? std::min<std::size_t>(n, 16) : static_cast<std::size_t>(parameters.k);
    return {{input[0][0], k}, {input[0][0], k}};
  }

  /// See Distribution; adversarial elements include NaN, infinities, zeros of both signs, and denormals.
  template <class T>
  [[nodiscard]] static auto element(Draw const& draw, Parameters const& parameters) {
    using Element = std::conditional_t<std::is_integral_v<T>, T, double>;
    if (draw.data == DataKind::adversarial) return static_cast<Element>(adversarial_key<T>(draw));
    return static_cast<Element>(key_of_word<T>(word(draw, parameters)));
  }

  /// Each element is read once, each result is written once.
  [[nodiscard]] static Work work(std::vector<Shape> const& input, Parameters const& parameters, DType dtype) {
    auto const results = static_cast<double>(count_of(output_shapes(input, parameters)[0]));
    auto const size = static_cast<double>(size_of(dtype));
    return {.bytes = static_cast<double>(count_of(input[0])) * size + results * (size + 8), .flops = 0};
  }

  /// Elements are moved, not computed.
  [[nodiscard]] static double rounding_steps(std::vector<Shape> const&, Parameters const&) { return 0; }

  template <class T>
  [[nodiscard]] static std::vector<ExpectedField> reference(Input<T, Kokkos::HostSpace> const& input);

 private:
  [[nodiscard]] static std::uint64_t word(Draw const& draw, Parameters const& parameters) {
    std::uint64_t const bits = random_bits(draw.seed, 0, draw.index);
    std::uint64_t const n = (*draw.shapes)[0][1];
    std::uint64_t const step = std::numeric_limits<std::uint64_t>::max() / n;
    // All digits matter: those above the tie share their highest one, and those just below it share its highest ones.
    constexpr std::uint64_t above = 0xF0ULL << 56;
    std::uint64_t const tie = 0xE0ULL << 56 | (random_bits(draw.seed, 1, 0) >> 8);
    switch (parameters.distribution) {
      case Distribution::ties:
        if (random_bits(draw.seed, 1, draw.index) % n < 8) return above | (bits >> 8);
        if (draw.index % 64 == 63) return tie;
        return draw.index % 64 == 31 ? tie - (bits >> 16) : bits / 8 * 7;
      case Distribution::uniform: return bits;
      case Distribution::rising: return draw.index % n * step;
      case Distribution::falling: return (n - 1 - draw.index % n) * step;
      case Distribution::constant: return random_bits(draw.seed, 1, 0);
    }
    return bits;
  }
};

/// Returns k, of a valid input.
[[nodiscard]] inline std::size_t k_of(auto const& input) {
  return TopK::output_shapes({{input.in.extent(0), input.in.extent(1)}}, input.parameters)[0][1];
}

}  // namespace tessera::top_k
