#pragma once
/// \file
/// monte_carlo: pi, or the price of a call option, as the mean over n points, with its standard error.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <string_view>
#include <tuple>
#include <vector>

#include <tessera/core/info.hpp>
#include <tessera/core/no_input.hpp>
#include <tessera/core/parameters.hpp>
#include <tessera/core/random.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>
#include <tessera/ranks/block.hpp>
#include <tessera/ranks/part.hpp>

namespace tessera::monte_carlo {

enum class Quantity : std::uint8_t { pi, call, coin };
enum class Points : std::uint8_t { random, sobol };
enum class Generator : std::uint8_t { philox, threefry };
enum class Variates : std::uint8_t { plain, antithetic, control };

/// The points are divided into this many replicates of consecutive points. The spread of their means gives the standard
/// error.
inline constexpr std::size_t replicates = 32;

struct Parameters {
  std::uint64_t count = 0;
  std::uint64_t seed = 42;
  DType dtype = DType::float32;
  Quantity quantity = Quantity::pi;
  Points points = Points::random;
  Generator generator = Generator::philox;
  Variates variates = Variates::plain;
  double spot = 100;
  double strike = 100;
  double rate = 0.05;
  double volatility = 0.2;
  double years = 1;
  std::int64_t team = 0;

  [[nodiscard]] static MemberSpecs<Parameters> specs() {
    ParameterSpec count = count_parameter();
    count.maximum = 0x1p37;  // a replicate has at most 2^32 points: the Sobol sequence of 32 bits
    return {{&Parameters::count, count},
            {&Parameters::seed, seed_parameter()},
            {&Parameters::dtype, dtype_parameter(), {{"float", DType::float32}, {"double", DType::float64}}},
            {&Parameters::quantity,
             {.name = "quantity",
              .help = "pi, the price of a European call option, or the mean of a coin: the generator's rate"},
             {{"pi", Quantity::pi}, {"call", Quantity::call}, {"coin", Quantity::coin}}},
            {&Parameters::points,
             {.name = "points", .help = "independent points, or 32 Sobol sequences with random digital shifts"},
             {{"random", Points::random}, {"sobol", Points::sobol}}},
            {&Parameters::generator,
             {.name = "generator", .help = "of random points and shifts: Philox4x32-10 or Threefry4x64-20"},
             {{"philox", Generator::philox}, {"threefry", Generator::threefry}}},
            {&Parameters::variates,
             {.name = "variates", .help = "variance reduction: none, antithetic pairs, or a control variate"},
             {{"plain", Variates::plain}, {"antithetic", Variates::antithetic}, {"control", Variates::control}}},
            {&Parameters::spot, number_parameter("spot", "price of the share today, 0.01 to 1e6", 0.01, 1e6)},
            {&Parameters::strike, number_parameter("strike", "price at which the option buys, 0.01 to 1e6", 0.01, 1e6)},
            {&Parameters::rate, number_parameter("rate", "interest per year, continuous, -1 to 1", -1, 1)},
            {&Parameters::volatility,
             number_parameter("volatility", "standard deviation of the log price per square root of a year, 0.01 to 2",
                              0.01, 2)},
            {&Parameters::years, number_parameter("years", "time until the option expires, 0.001 to 100", 0.001, 100)},
            {&Parameters::team, team_parameter()}};
  }

  /// Volatility over the whole time.
  [[nodiscard]] double deviation() const { return volatility * std::sqrt(years); }
  /// The strike today, relative to the spot.
  [[nodiscard]] double relative_strike() const { return strike / spot * std::exp(-rate * years); }
};

/// Returns the points of a replicate.
[[nodiscard]] constexpr ranks::Block points_of(std::size_t replicate, std::uint64_t count) {
  return ranks::block_of(count, static_cast<int>(replicates), static_cast<int>(replicate));
}

/// Returns the number of binary digits behind the point of the values that are summed, as integers. A sum of one
/// replicate stays below 2^52, so it is exact, and its order does not matter. An option's values stay below 2^31, which
/// a GPU rounds in one step.
[[nodiscard]] inline int digits_of(Parameters const& parameters) {
  // pi: values up to 4, with a control variate from -2 to 8; a coin's are less. call, relative to the spot: with |z| <
  // 6.7 the discounted price is at most `highest`, and a control variate takes away at most the same.
  double const s = parameters.deviation();
  double const highest = std::exp(6.7 * s - s * s / 2);
  double const largest = parameters.quantity == Quantity::call ? 2 * highest + 1 : 8;
  double const points = static_cast<double>(parameters.count / replicates + 1);
  double const digits = std::floor(51 - std::log2(largest * points));
  double const most = parameters.quantity == Quantity::call ? std::floor(31 - std::log2(largest)) : digits;
  return static_cast<int>(std::min(digits, most));
}

/// Returns the factor of the option's control variate, its discounted price, that leaves the least variance: the
/// covariance of payoff and price over the variance of the price.
[[nodiscard]] double control_factor(Parameters const& parameters);

/// The constants of an option's points, in the dtype of the arithmetic.
template <class T>
struct Market {
  T strike;
  T deviation;  ///< s / log 2: exp2 costs less than exp
  T drift;      ///< -s^2 / 2 / log 2
  T factor;     ///< of the control variate, whose mean is 1
};

template <class T>
[[nodiscard]] Market<T> market_of(Parameters const& parameters) {
  double const s = parameters.deviation();
  double const of_one = 1 / std::numbers::ln2;
  return {static_cast<T>(parameters.relative_strike()), static_cast<T>(s * of_one), static_cast<T>(-s * s / 2 * of_one),
          static_cast<T>(control_factor(parameters))};
}

/// Returns the mean that points of the dtype estimate: pi, 1/2 for the coin, or the option's price by Black and
/// Scholes, The pricing of options and corporate liabilities (1973), for the constants of `market_of<T>`. T: float or
/// double.
template <class T>
[[nodiscard]] double exact_value(Parameters const& parameters);

/// The mean of many points' roundings is at most this part of the mean of their error bounds. Measured in float with
/// the defaults and 2^28 points: 0.002, 0.003 (antithetic) and 0.004 (control) on a host. The end of a cell of 2^-24 in
/// the place of its middle has 0.06.
inline constexpr double most_mean_rounding = 1.0 / 64;

/// Returns the most by which the mean value may change, in units of the sums, because all values are rounded alike: if
/// a unit has more than one price of the dtype, or half a price, the strike's last digits decide.
template <class T>
[[nodiscard]] double common_rounding(Parameters const& parameters);

/// Returns the most by which the mean over all points of the dtype may differ from exact_value (problem.cpp).
template <class T>
[[nodiscard]] double most_bias(Parameters const& parameters);

/// Returns the probability that the option pays.
[[nodiscard]] double probability_of_use(Parameters const& parameters);

/// A right estimate is further from the exact value than this many standard errors with at most this probability
/// (reference.cpp), if is_judged().
inline constexpr int most_standard_errors = 7;
inline constexpr double false_alarms = 1e-6;
/// Returns whether each replicate has enough points, and enough that pay, for means that are nearly normal.
[[nodiscard]] bool is_judged(Parameters const& parameters);

struct MonteCarlo {
  using Parameters = monte_carlo::Parameters;
  static constexpr AppInfo info{
      .name = "monte_carlo",
      .summary = "pi or an option's price as the mean over random or Sobol points",
      .traffic = {.pattern = Traffic::Pattern::totals, .launches = 3, .word_bytes = 8 * replicates},
      .rate = "points"};
  static constexpr int reference_doubles = 3;

  template <class T, class Memory>
  using Input = NoInput<Parameters>;

  /// sums [32]: of the points' values in each replicate, times 2^digits_of(parameters). estimate and standard_error:
  /// scalars, NaN without points.
  template <class T, class Memory>
  struct Output {
    Array<std::int64_t*, Memory> sums;
    Array<T, Memory> estimate;
    Array<T, Memory> standard_error;

    static constexpr std::array<std::string_view, 3> names{"sums", "estimate", "standard_error"};
    static auto fields(auto& self) { return std::tie(self.sums, self.estimate, self.standard_error); }
  };

  [[nodiscard]] static std::vector<Shape> input_shapes(std::size_t, Parameters const&) { return {}; }
  [[nodiscard]] static std::vector<Shape> output_shapes(std::vector<Shape> const&, Parameters const&) {
    return {{replicates}, {}, {}};
  }
  /// Never called: there is no input field.
  template <class T>
  [[nodiscard]] static T element(Draw const&, Parameters const&) {
    return {};
  }

  /// Throws UserError if the dtype is not float or double, if the price is so uncertain that a few points decide the
  /// mean, or if the strike is out of reach.
  static void check(Parameters const& parameters, DType dtype);

  /// Only the results are moved.
  [[nodiscard]] static Work work(std::vector<Shape> const&, Parameters const&, DType dtype) {
    return {.bytes = 8.0 * replicates + 2 * static_cast<double>(size_of(dtype)), .flops = 0};
  }
  /// The roundings that turn the sums into the estimate and the standard error.
  [[nodiscard]] static double rounding_steps(std::vector<Shape> const&, Parameters const&) { return 4; }
  [[nodiscard]] static std::size_t terms(std::vector<Shape> const&, Parameters const& parameters) {
    return parameters.count / replicates + 1;
  }

  [[nodiscard]] static std::vector<Split> input_split(Parameters const&) { return {}; }
  [[nodiscard]] static std::vector<Split> output_split(Parameters const&) {
    return {Split::whole, Split::whole, Split::whole};
  }

  template <class T>
  [[nodiscard]] static std::vector<ExpectedField> reference(Input<T, Kokkos::HostSpace> const& input);
  template <class T>
  [[nodiscard]] static std::vector<ExpectedField> reference_of_part(Input<T, Kokkos::HostSpace> const& input,
                                                                    ranks::Part const& part);
};

}  // namespace tessera::monte_carlo
