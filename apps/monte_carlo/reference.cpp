/// \file
/// The serial oracle of monte_carlo: one point after the other, with the round functions of verify/random_words.hpp, in
/// double (for float) or long double. Parts of the points run in parallel; their sums are integers, so that the order
/// does not matter.
///
/// Error bounds. The points of pi and of the coin are integers, and so are their values: sums must be equal. The value
/// of an option's point, v, may differ by e, an error from analysis: with price x = exp(a), a = drift + s z and the
/// unit roundoff u, the price has the error u x (|drift| + 12 s r + |a| + 4), because a normal number has the error
/// 9 u r (collective/random.hpp). The payoff lies between its values at both ends of the price's interval: if even the
/// highest price is below the strike k, it is exactly 0, and otherwise it has the error of the price, of k and of one
/// rounding.
/// Rounded to a whole number of units, v and a result within v +- e differ by at most the distance m from round(v) to
/// round(v +- e). The constants of the market and the coordinates of a point are rounded to the dtype as the kernel
/// rounds them. So what is left has nearly the mean 0, and a sum may differ by much less than the sum of m: see
/// most_of_sum.
///
/// Estimate and standard error are computed in double from the sums. A row's are compared with what its own sums give:
/// only the roundings of this last step may differ. A file has values of other sums, so their offsets follow from the
/// offsets of the sums.
///
/// The estimate must also agree with the exact value: |estimate - exact| <= 7 standard errors and most_bias. The means
/// of 32 replicates give the standard error, so the quotient has Student's distribution with 31 degrees of freedom: it
/// exceeds 7 with a probability of 7e-8. Means of 1024 points or more are taken for normal; with fewer points, or a
/// thousand paying points, nothing is said. Shifted Sobol sequences have means whose distribution is not known, but
/// they are independent and bounded.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <numbers>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "problem.hpp"

#include <tessera/core/host_threads.hpp>
#include <tessera/table/references.hpp>
#include <tessera/verify/random_words.hpp>

namespace tessera::monte_carlo {

namespace {

using Sums = std::array<std::int64_t, replicates>;

// A value in units, and the most by which a result may differ; or the sum over points, also of the squares of that.
struct Value {
  std::int64_t units = 0;
  std::int64_t most = 0;
  double squares = 0;

  void add(Value const& point) {
    units += point.units;
    most += point.most;
    squares += static_cast<double>(point.most) * static_cast<double>(point.most);
  }
};

struct Coordinates {
  std::uint32_t a;
  std::uint32_t b;
};

// Direction numbers m of Joe and Kuo: 1 throughout; and m(k) = 2 m(k - 1) xor m(k - 1), from m(1) = 1.
class Sobol {
 public:
  Sobol() {
    std::uint64_t m = 1;
    for (std::size_t k = 1; k <= 32; ++k) {
      first_[k - 1] = static_cast<std::uint32_t>(std::uint64_t{1} << (32 - k));
      second_[k - 1] = static_cast<std::uint32_t>(m << (32 - k));
      m = (2 * m) ^ m;
    }
  }
  [[nodiscard]] Coordinates point(std::uint64_t j) const {
    Coordinates x{0, 0};
    std::uint64_t const gray = j ^ (j / 2);
    for (std::size_t k = 0; k < 32; ++k) {
      if ((gray >> k) % 2 == 0) continue;
      x.a ^= first_[k];
      x.b ^= second_[k];
    }
    return x;
  }

 private:
  std::array<std::uint32_t, 32> first_{};
  std::array<std::uint32_t, 32> second_{};
};

template <class T>
class PointOracle {
 public:
  explicit PointOracle(Parameters const& of)
      : of_(of),
        words_(of.generator == Generator::philox, of.seed, 0),
        shifts_(of.generator == Generator::philox, of.seed, 1),
        market_(market_of<T>(of)),
        unit_(std::ldexp(Wide(1), digits_of(of))) {}

  // Point j of replicate r, whose first point has index `first`.
  [[nodiscard]] Value value(std::size_t r, std::uint64_t first, std::uint64_t j) const {
    if (of_.points == Points::sobol) {
      Coordinates const x = sobol_.point(j);
      return value_at({x.a ^ shifts_.bits32(2 * r, 0), x.b ^ shifts_.bits32(2 * r + 1, 0)});
    }
    // Two points share a pair of coordinates: the first takes the cosine, the second the sine.
    bool const shared = of_.quantity == Quantity::call;
    auto const [a, b] = words_.pair32(2 * (shared ? (first + j) / 2 : first + j), 0);
    return value_at({a, b}, shared && (first + j) % 2 == 1);
  }

 private:
  using Wide = std::conditional_t<std::is_same_v<T, double>, long double, double>;
  // A random point of `call` has so many bits less than 32.
  static constexpr int unused = std::is_same_v<T, double> ? 0 : 8;
  static constexpr Wide cells = Wide(std::uint64_t{1} << (32 - unused));
  struct Priced {
    Wide payoff;
    Wide payoff_error;
    Wide price;
    Wide price_error;
  };

  [[nodiscard]] Value value_at(Coordinates x, bool second = false) const {
    if (of_.quantity == Quantity::coin) return {(x.a >> 31 == x.b >> 31 ? 0 : std::int64_t{1}) << digits_of(of_), 0};
    return of_.quantity == Quantity::pi ? of_pi(x) : of_call(x, second);
  }

  // The middle of a cell, an odd multiple of 2^-31: its square has 62 bits.
  [[nodiscard]] static std::uint64_t square(std::uint32_t a) {
    std::uint64_t const middle = a / 4 * std::uint64_t{2} + 1;
    return middle * middle;
  }
  [[nodiscard]] Value of_pi(Coordinates x) const {
    std::uint64_t const all = std::uint64_t{1} << 62;
    auto const one = std::int64_t{1} << digits_of(of_);
    std::uint64_t const r = square(x.a) + square(x.b);
    std::int64_t units = r < all ? 4 * one : 0;
    if (of_.variates == Variates::antithetic) {
      std::uint32_t const last = std::numeric_limits<std::uint32_t>::max();
      std::uint64_t const mirrored = square(last - x.a) + square(last - x.b);
      units = (units + (mirrored < all ? 4 * one : 0)) / 2;
    } else if (of_.variates == Variates::control) {
      std::uint64_t const of_unit = all / static_cast<std::uint64_t>(one);
      auto const whole = static_cast<std::int64_t>(r / of_unit + (r % of_unit >= of_unit / 2 ? 1 : 0));
      units += 3 * whole - 2 * one;
    }
    return {units, 0};
  }

  [[nodiscard]] Priced priced(Wide z, Wide r) const {
    Wide const u = static_cast<Wide>(unit_roundoff(dtype_of<T>));
    Wide const s = static_cast<Wide>(market_.deviation) * std::numbers::ln2_v<Wide>;
    Wide const strike = static_cast<Wide>(market_.strike);
    Wide const drift = static_cast<Wide>(market_.drift) * std::numbers::ln2_v<Wide>;
    Wide const log = drift + s * z;
    Wide const price = std::exp(log);
    Wide const payoff = price > strike ? price - strike : 0;
    // More for the second order, and for the roundings of this computation.
    Wide const price_error = Wide(1.01) * u * price * (-drift + 12 * s * r + std::abs(log) + 4);
    Wide const apart = price_error + Wide(1.01) * u * strike;
    Wide const lowest = std::max(price - apart - strike, Wide(0));
    Wide const highest = std::max(price + apart - strike, Wide(0));
    Wide const payoff_error = std::max(payoff - lowest, highest - payoff) + Wide(1.01) * u * highest;
    return {payoff, payoff_error, price, price_error};
  }
  // u of a random point: the upper end of a cell.
  [[nodiscard]] static Wide end(std::uint32_t a) { return (static_cast<Wide>(a >> unused) + 1) / cells; }
  // u of a Sobol point: the middle of a cell of 2^-31, rounded to the dtype.
  [[nodiscard]] static Wide middle(std::uint32_t a) {
    return std::ldexp(static_cast<Wide>(static_cast<T>(a / 2 * 2.0 + 1)), -32);
  }
  // 4 v. The distance of a Sobol point from the nearest quarter is rounded to the dtype.
  [[nodiscard]] Wide quarters(std::uint32_t b) const {
    if (of_.points == Points::random) return 4 * static_cast<Wide>(b >> unused) / cells;
    double const all = std::ldexp(b, -30);
    double const nearest = std::round(all);
    return static_cast<Wide>(nearest) + static_cast<Wide>(static_cast<T>(all - nearest));
  }
  [[nodiscard]] Value of_call(Coordinates x, bool second) const {
    Wide const r = std::sqrt(-2 * std::log(of_.points == Points::sobol ? middle(x.a) : end(x.a)));
    Wide const angle = std::numbers::pi_v<Wide> / 2 * quarters(x.b);
    Wide const z = r * (second ? std::sin(angle) : std::cos(angle));
    Wide const u = static_cast<Wide>(unit_roundoff(dtype_of<T>));
    Priced const up = priced(z, r);
    Wide value = up.payoff;
    Wide error = up.payoff_error;
    if (of_.variates == Variates::antithetic) {
      Priced const down = priced(-z, r);
      value = (up.payoff + down.payoff) / 2;
      error = (up.payoff_error + down.payoff_error) / 2 + u * value;
    } else if (of_.variates == Variates::control) {
      auto const factor = static_cast<Wide>(market_.factor);
      value -= factor * (up.price - 1);
      error += std::abs(factor) * (up.price_error + 4 * u * (up.price + 1)) + u * std::abs(value);
    }
    error *= Wide(1.01);
    auto const whole = [&](Wide v) { return static_cast<std::int64_t>(std::round(v * unit_)); };
    std::int64_t const units = whole(value);
    return {units, std::max(units - whole(value - error), whole(value + error) - units)};
  }

  Parameters of_;
  verify::RandomWords words_;
  verify::RandomWords shifts_;
  Sobol sobol_;
  Market<T> market_;
  Wide unit_;
};

struct Total {
  Sums units{};
  Sums most{};
  std::array<double, replicates> squares{};  // of the points' `most`
};

// Returns the most by which a sum of `points` may differ. Their roundings have a mean: most_mean_rounding of the
// bounds, and the common rounding. Independent roundings within m_i have a sum further from its mean than 7 sqrt(sum
// m_i^2) with a probability of 5e-11 at most (Hoeffding, 1963).
std::int64_t most_of_sum(double points, std::int64_t most, double squares, double common) {
  auto const any = static_cast<double>(most);
  double const mean = most_mean_rounding * any + common * points;
  return static_cast<std::int64_t>(std::min(any, std::ceil(mean + 7 * std::sqrt(squares))));
}

// The sums over every `count`-th part of the points, from part `own` on.
template <class T>
Total sum_of(Parameters const& parameters, std::size_t own, std::size_t count) {
  struct Part {
    std::size_t r;
    std::uint64_t begin;
    std::uint64_t end;
  };
  std::size_t const of_part = 2 * part_elements();
  std::vector<Part> parts;
  std::size_t index = 0;
  for (std::size_t r = 0; r < replicates; ++r) {
    std::uint64_t const points = points_of(r, parameters.count).size();
    for (std::uint64_t begin = 0; begin < points; begin += of_part, ++index) {
      if (index % count == own) parts.push_back({r, begin, std::min<std::uint64_t>(begin + of_part, points)});
    }
  }
  PointOracle<T> const points(parameters);
  std::vector<Value> sums(parts.size());
  for_blocks(parts.size(), 1, [&](std::size_t p, std::size_t, std::size_t) {
    Part const& part = parts[p];
    std::uint64_t const first = points_of(part.r, parameters.count).begin;
    Value sum;
    for (std::uint64_t j = part.begin; j < part.end; ++j) sum.add(points.value(part.r, first, j));
    sums[p] = sum;
  });
  Total total;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    total.units[parts[p].r] += sums[p].units;
    total.most[parts[p].r] += sums[p].most;
    total.squares[parts[p].r] += sums[p].squares;
  }
  return total;
}

std::string text_of(double value, int digits) {
  char text[32];
  (void)std::snprintf(text, sizeof text, "%.*g", digits, value);
  return text;
}

// Whether the estimate is within a limit of the exact value.
Statistic agreement(double estimate, double exact, double standard_error, double limit) {
  Statistic result{.fault = {}, .false_alarms = false_alarms};
  double const off = std::abs(estimate - exact);
  if (off <= limit) return result;
  result.fault = "the estimate " + text_of(estimate, 9) + " is " + text_of(off / standard_error, 3) +
                 " standard errors from the exact " + text_of(exact, 9) + " (at most " +
                 text_of(limit / standard_error, 3) + " in all but " + text_of(false_alarms, 1) + " of all runs)";
  return result;
}

// Estimate and standard error that follow from sums, any of which may differ by `most`.
template <class T>
std::pair<ExpectedField, ExpectedField> means_of(Parameters const& parameters, Total const& total) {
  long double const one = parameters.quantity == Quantity::call ? static_cast<long double>(parameters.spot) : 1;
  long double const unit = std::ldexp(one, -digits_of(parameters));
  auto const points = static_cast<long double>(parameters.count);
  long double all = 0;
  long double most = 0;
  for (std::size_t r = 0; r < replicates; ++r) {
    all += static_cast<long double>(total.units[r]);
    most += static_cast<long double>(total.most[r]);
  }
  long double const mean = all / points;
  long double squares = parameters.count == 0 ? mean : 0;
  long double largest = 0;       // mean of a replicate
  long double largest_most = 0;  // by which a replicate's mean may differ
  for (std::size_t r = 0; r < replicates; ++r) {
    auto const own = static_cast<long double>(points_of(r, parameters.count).size());
    if (own == 0) continue;
    long double const of_replicate = static_cast<long double>(total.units[r]) / own;
    squares += own / points * (of_replicate - mean) * (of_replicate - mean);
    largest = std::max(largest, std::abs(of_replicate));
    largest_most = std::max(largest_most, static_cast<long double>(total.most[r]) / own);
  }
  // Computed in double, then rounded to the dtype: the scale is in units of the dtype's roundoff.
  double const narrower = unit_roundoff(DType::float64) / unit_roundoff(dtype_of<T>);
  ExpectedField estimate = zero_field("estimate", {});
  ExpectedField standard_error = zero_field("standard_error", {});
  estimate.terms = standard_error.terms = replicates;
  estimate.value[0] = static_cast<double>(mean * unit);
  estimate.scale = {std::abs(estimate.value[0]) * narrower};
  estimate.offset = {parameters.count == 0 ? 0 : static_cast<double>(most / points * unit)};
  standard_error.value[0] = static_cast<double>(std::sqrt(squares / (replicates - 1)) * unit);
  // Means that cancel enter it. Moved by up to d each, the root of their squares moves by at most 2 d / sqrt(31).
  standard_error.scale = {static_cast<double>(largest * unit) * narrower};
  standard_error.offset = {
      static_cast<double>(2 * largest_most * unit / std::sqrt(static_cast<long double>(replicates - 1)))};
  if (parameters.count == 0) estimate.scale = standard_error.scale = {0};
  return {std::move(estimate), std::move(standard_error)};
}

// The sums of a row's result, or nothing if not all of them are there (--verify sample).
std::optional<Total> sums_in(std::vector<HostField> const& result) {
  Total total;
  for (HostField const& field : result) {
    if (field.name != "sums" || field.count() != replicates) continue;
    std::copy_n(static_cast<std::int64_t const*>(field.data.get()), replicates, total.units.begin());
    return total;
  }
  return std::nullopt;
}

template <class T>
std::vector<ExpectedField> expected(Parameters const& parameters, Total total) {
  for (std::size_t r = 0; r < replicates; ++r) {
    auto const points = static_cast<double>(points_of(r, parameters.count).size());
    total.most[r] = most_of_sum(points, total.most[r], total.squares[r], common_rounding<T>(parameters));
  }
  auto const n = static_cast<double>(parameters.count);
  ExpectedField sums = zero_field("sums", {replicates});
  sums.terms = n / replicates + 1;
  bool exact = true;
  for (std::size_t r = 0; r < replicates; ++r) {
    sums.value[r] = static_cast<double>(total.units[r]);
    exact = exact && total.most[r] == 0;
  }
  if (!exact) sums.offset.assign(total.most.begin(), total.most.end());
  auto [estimate, standard_error] = means_of<T>(parameters, total);

  bool const judged = is_judged(parameters);
  double const exact_one = exact_value<T>(parameters);
  double const limit = most_standard_errors * standard_error.value[0] + most_bias<T>(parameters);
  if (judged) {
    // Only if not all of the row's sums are there: the dtype rounds the estimate.
    double const rounded = limit + unit_roundoff(dtype_of<T>) * std::abs(exact_one);
    estimate.statistic = [exact_one, error = standard_error.value[0], rounded](HostField const& actual) {
      return agreement(static_cast<double>(*static_cast<T const*>(actual.data.get())), exact_one, error, rounded);
    };
  }
  estimate.of_result = [parameters, judged, exact_one, limit, known = estimate,
                        error = standard_error.value[0]](std::vector<HostField> const& result) {
    std::optional<Total> const own = sums_in(result);
    if (!own) return known;
    ExpectedField field = means_of<T>(parameters, *own).first;
    if (judged) {
      field.statistic = [mean = field.value[0], exact_one, error, limit](HostField const&) {
        return agreement(mean, exact_one, error, limit);
      };
    }
    return field;
  };
  standard_error.of_result = [parameters, known = standard_error](std::vector<HostField> const& result) {
    std::optional<Total> const own = sums_in(result);
    return own ? means_of<T>(parameters, *own).second : known;
  };
  return list_of(std::move(sums), std::move(estimate), std::move(standard_error));
}

}  // namespace

template <class T>
std::vector<ExpectedField> MonteCarlo::reference(Input<T, Kokkos::HostSpace> const& input) {
  return expected<T>(input.parameters, sum_of<T>(input.parameters, 0, 1));
}

template <class T>
std::vector<ExpectedField> MonteCarlo::reference_of_part(Input<T, Kokkos::HostSpace> const& input,
                                                         ranks::Part const& part) {
  Total total = sum_of<T>(input.parameters, static_cast<std::size_t>(part.ranks.rank()),
                          static_cast<std::size_t>(part.ranks.count()));
  part.ranks.sum(std::span<std::int64_t>(total.units));
  part.ranks.sum(std::span<std::int64_t>(total.most));
  part.ranks.sum(std::span<double>(total.squares));
  return expected<T>(input.parameters, total);
}

}  // namespace tessera::monte_carlo

template struct tessera::References<tessera::monte_carlo::MonteCarlo>;
