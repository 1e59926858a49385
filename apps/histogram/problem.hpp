#pragma once
/// \file
/// histogram: how many elements lie in each of `bins` equal bins over [lo, hi), and how many lie outside.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include <tessera/core/array_problem.hpp>
#include <tessera/core/info.hpp>
#include <tessera/core/parameters.hpp>
#include <tessera/core/random.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>
#include <tessera/kernels/histogram_bins.hpp>
#include <tessera/ranks/part.hpp>

namespace tessera::histogram {

/// Distribution of generated elements. With `uniform` and `zipf` one element in 64 lies outside [lo, hi).
enum class Distribution : std::uint8_t {
  uniform,   ///< all values equally likely
  zipf,      ///< value number r of 2^16 has a probability of about 1 / r
  constant,  ///< one value
};

struct Parameters {
  std::int64_t bins = 256;
  double lo = 0;
  double hi = 1 << 20;
  Distribution distribution = Distribution::uniform;
  std::int64_t tile = 0;
  std::int64_t team = 0;

  [[nodiscard]] static MemberSpecs<Parameters> specs() {
    return {
        {&Parameters::bins, number_parameter("bins", "number of equal bins of [lo, hi)", 1, 1 << 20)},
        {&Parameters::lo, {.name = "lo", .help = "lower end of the first bin; a whole number for int32"}},
        {&Parameters::hi,
         {.name = "hi", .help = "upper end of the last bin, exclusive; above lo; a whole number for int32"}},
        {&Parameters::distribution,
         {.name = "distribution",
          .help = "distribution of the generated elements: uniform, zipf (a few values are frequent) or constant (one "
                  "value)",
          .shapes_generated = true},
         {{"uniform", Distribution::uniform}, {"zipf", Distribution::zipf}, {"constant", Distribution::constant}}},
        {&Parameters::tile,
         tile_parameter("elements that a team counts before it adds to the result; 0: the variant's choice")},
        {&Parameters::team, team_parameter()}};
  }

  /// Throws UserError unless lo < hi, both finite.
  void check() const;

  /// Returns the rule that assigns elements to bins; it is the specification.
  template <class T>
  [[nodiscard]] kernels::EqualBins<T> rule() const {
    return {lo, hi, bins};
  }
};

/// Returns one of 2^16 values, scattered over [0, 1), with the probabilities of zipf_rank.
[[nodiscard]] inline double zipf_value(std::uint64_t bits, std::uint64_t seed) {
  return static_cast<double>(random_bits(seed, 1, zipf_rank(bits, 65536)) >> 11) * 0x1p-53;
}

struct Histogram : ArrayProblem<Parameters> {
  static constexpr AppInfo info{.name = "histogram",
                                .summary = "counts[b] = elements in bin b of [lo, hi), outside = elements in none",
                                .traffic = {.pattern = Traffic::Pattern::sums, .launches = 3, .word_bytes = 8}};

  static constexpr std::array data = data_kinds;
  static constexpr int reference_doubles = 1;

  /// Throws UserError if the dtype cannot represent the bins: int32 needs edges at whole numbers, and float cannot hold
  /// every double.
  static void check(Parameters const& parameters, DType dtype);

  /// counts [bins] and outside [], 64 bits for every dtype: one bin may get 2^31 elements or more.
  template <class T, class Memory>
  struct Output {
    Array<std::int64_t*, Memory> counts;
    Array<std::int64_t, Memory> outside;

    static constexpr std::array<std::string_view, 2> names{"counts", "outside"};
    static auto fields(auto& self) { return std::tie(self.counts, self.outside); }
  };

  [[nodiscard]] static std::vector<Shape> output_shapes(std::vector<Shape> const&, Parameters const& parameters) {
    return {{static_cast<std::size_t>(parameters.bins)}, {}};
  }

  template <class T>
  [[nodiscard]] static T element(Draw const& draw, Parameters const& parameters) {
    std::uint64_t const bits = random_bits(draw.seed, draw.field, draw.index);
    double const uniform = static_cast<double>(bits >> 11) * 0x1p-53;
    double const width = parameters.hi - parameters.lo;
    bool const outside = bits % 64 == 0 && parameters.distribution != Distribution::constant;
    double value = 0;
    if (outside) {
      value = (bits >> 6) % 2 == 0 ? parameters.lo - (1 - uniform) * width : parameters.hi + uniform * width;
    } else {
      switch (parameters.distribution) {
        case Distribution::uniform: value = parameters.lo + uniform * width; break;
        case Distribution::zipf: value = parameters.lo + zipf_value(bits, draw.seed) * width; break;
        case Distribution::constant: value = parameters.lo + 0.4 * width; break;
      }
    }
    if (draw.data == DataKind::adversarial && bits % 4 != 0) {
      // An edge of a bin, or a number next to it.
      double const edge = std::floor(uniform * static_cast<double>(parameters.bins + 1));
      value = parameters.lo + edge * (width / static_cast<double>(parameters.bins));
      auto const step = static_cast<int>((bits >> 2) % 3) - 1;
      if constexpr (std::is_floating_point_v<T>) {
        auto const near = static_cast<T>(value);
        T const towards = step < 0 ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
        return step == 0 ? near : std::nextafter(near, towards);
      } else {
        value += step;
      }
    }
    if constexpr (std::is_integral_v<T>) value = std::floor(value);
    return static_cast<T>(std::clamp(value, static_cast<double>(std::numeric_limits<T>::lowest()),
                                     static_cast<double>(std::numeric_limits<T>::max())));
  }

  /// Elements are read once, counts are written once; a subtraction and a multiplication per element.
  [[nodiscard]] static Work work(std::vector<Shape> const& input, Parameters const& parameters, DType dtype) {
    double const n = static_cast<double>(count_of(input[0]));
    return {.bytes = n * static_cast<double>(size_of(dtype)) + (static_cast<double>(parameters.bins) + 1) * 8,
            .flops = 2 * n};
  }

  /// Counts are exact.
  [[nodiscard]] static double rounding_steps(std::vector<Shape> const&, Parameters const&) { return 0; }

  /// How several ranks share the input.
  [[nodiscard]] static std::vector<Split> input_split(Parameters const&) { return {Split::rows}; }
  [[nodiscard]] static std::vector<Split> output_split(Parameters const&) { return {Split::whole, Split::whole}; }

  template <class T>
  [[nodiscard]] static std::vector<ExpectedField> reference(Input<T, Kokkos::HostSpace> const& input);

  template <class T>
  [[nodiscard]] static std::vector<ExpectedField> reference_of_part(Input<T, Kokkos::HostSpace> const& input,
                                                                    ranks::Part const& part);
};

}  // namespace tessera::histogram
