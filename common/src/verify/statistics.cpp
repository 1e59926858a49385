#include <tessera/verify/statistics.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <numeric>

#include <tessera/core/info.hpp>

namespace tessera::randomness {

namespace {

double two_sided(double upper, double lower) { return std::min(1.0, 2 * std::min(upper, lower)); }

// The lower regularised incomplete gamma function by its series, for x < a + 1.
double gamma_series(double a, double x) {
  double term = 1 / a;
  double sum = term;
  for (double n = 1; term > 1e-17 * sum; ++n) sum += term *= x / (a + n);
  return sum * std::exp(a * std::log(x) - x - std::lgamma(a));
}

// The upper one by its continued fraction, evaluated by Lentz' method, for x >= a + 1.
double gamma_fraction(double a, double x) {
  double const tiny = 1e-300;
  double b = x + 1 - a;
  double c = 1 / tiny;
  double d = 1 / b;
  double product = d;
  for (double n = 1; n < 1000; ++n) {
    double const numerator = -n * (n - a);
    b += 2;
    d = numerator * d + b;
    d = 1 / (std::abs(d) < tiny ? tiny : d);
    c = b + numerator / c;
    if (std::abs(c) < tiny) c = tiny;
    double const factor = d * c;
    product *= factor;
    if (std::abs(factor - 1) < 1e-15) break;
  }
  return product * std::exp(a * std::log(x) - x - std::lgamma(a));
}

double upper_gamma(double a, double x) {
  if (x <= 0) return 1;
  return x < a + 1 ? 1 - gamma_series(a, x) : gamma_fraction(a, x);
}
double lower_gamma(double a, double x) {
  if (x <= 0) return 0;
  return x < a + 1 ? gamma_series(a, x) : 1 - gamma_fraction(a, x);
}

double chi_square(double x, double degrees) {
  return two_sided(upper_gamma(degrees / 2, x / 2), lower_gamma(degrees / 2, x / 2));
}

// Chi-square of counts that should be equal.
template <std::size_t Cells>
double equal_counts(std::array<std::size_t, Cells> const& counts, double total) {
  double const expected = total / Cells;
  double x = 0;
  for (std::size_t const count : counts) {
    double const off = static_cast<double>(count) - expected;
    x += off * off / expected;
  }
  return chi_square(x, Cells - 1);
}

// Adds how often each bit is set.
void count_bits(std::array<std::size_t, 32>& ones, std::uint32_t word) {
  for (std::size_t bit = 0; bit < 32; ++bit) ones[bit] += word >> bit & 1;
}

// The squares of 32 normal deviates.
double half_are_ones(std::array<std::size_t, 32> const& ones, double total) {
  double x = 0;
  for (std::size_t const count : ones) {
    double const off = 2 * static_cast<double>(count) - total;
    x += off * off / total;
  }
  return chi_square(x, 32);
}

}  // namespace

double chi_square_tail(double x, double degrees) { return upper_gamma(degrees / 2, x / 2); }

double bits(std::span<std::uint32_t const> words) {
  std::array<std::size_t, 32> ones{};
  for (std::uint32_t const word : words) count_bits(ones, word);
  return half_are_ones(ones, static_cast<double>(words.size()));
}

double correlation(std::span<std::uint32_t const> a, std::span<std::uint32_t const> b) {
  std::array<std::size_t, 32> differ{};
  std::size_t const n = std::min(a.size(), b.size());
  for (std::size_t i = 0; i < n; ++i) count_bits(differ, a[i] ^ b[i]);
  return half_are_ones(differ, static_cast<double>(n));
}

double frequency(std::span<std::uint32_t const> words) {
  std::array<std::size_t, 256> counts{};
  for (std::uint32_t const word : words) ++counts[word >> 24];
  return equal_counts(counts, static_cast<double>(words.size()));
}

double serial_pairs(std::span<std::uint32_t const> words) {
  std::array<std::size_t, 256> counts{};
  for (std::size_t i = 0; i + 1 < words.size(); i += 2) ++counts[words[i] >> 28 << 4 | words[i + 1] >> 28];
  std::size_t const pairs = words.size() / 2;
  return equal_counts(counts, static_cast<double>(pairs));
}

double gaps(std::span<std::uint32_t const> words) {
  std::array<std::size_t, 25> counts{};  // gaps of 0 to 23 words, and longer ones
  std::size_t gap = 0;
  std::size_t total = 0;
  bool inside = false;  // the words before the first hit are no gap
  for (std::uint32_t const word : words) {
    if (word >> 29 != 0) {
      ++gap;
      continue;
    }
    if (inside) {
      ++counts[std::min(gap, counts.size() - 1)];
      ++total;
    }
    inside = true;
    gap = 0;
  }
  if (total == 0) return 0;
  double x = 0;
  double probability = 1.0 / 8;
  double longer = 1;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    double const expected = static_cast<double>(total) * (i + 1 == counts.size() ? longer : probability);
    double const off = static_cast<double>(counts[i]) - expected;
    x += off * off / expected;
    longer -= probability;
    probability *= 7.0 / 8;
  }
  return chi_square(x, static_cast<double>(counts.size()) - 1);
}

double birthday_spacings(std::span<std::uint32_t const> words) {
  constexpr std::size_t birthdays = 1024;
  constexpr double mean_of_group = 4;  // birthdays^3 / (4 * 2^26)
  std::size_t repeated = 0;
  std::size_t groups = 0;
  std::array<std::uint32_t, birthdays> days{};
  for (std::size_t begin = 0; begin + birthdays <= words.size(); begin += birthdays, ++groups) {
    for (std::size_t i = 0; i < birthdays; ++i) days[i] = words[begin + i] >> 6;
    std::ranges::sort(days);
    for (std::size_t i = birthdays - 1; i > 0; --i) days[i] -= days[i - 1];
    std::sort(days.begin() + 1, days.end());  // the first is no spacing
    for (std::size_t i = 2; i < birthdays; ++i) repeated += days[i] == days[i - 1] ? 1 : 0;
  }
  if (groups == 0) return 0;
  // The probabilities of Poisson's distribution are differences of the gamma function.
  double const mean = mean_of_group * static_cast<double>(groups);
  auto const count = static_cast<double>(repeated);
  double const at_least = count == 0 ? 1 : lower_gamma(count, mean);
  double const at_most = upper_gamma(count + 1, mean);
  return two_sided(at_least, at_most);
}

double cells(std::span<std::uint64_t const> counts, std::span<double const> probabilities) {
  double const total = static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}));
  double x = 0;
  int joined = 0;
  double found = 0;
  double expected = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (probabilities[i] == 0 && counts[i] > 0) return 0;
    found += static_cast<double>(counts[i]);
    expected += total * probabilities[i];
    double const rest =
        total * std::accumulate(probabilities.begin() + static_cast<std::ptrdiff_t>(i) + 1, probabilities.end(), 0.0);
    if (i + 1 < counts.size() && (expected < 16 || rest < 16)) continue;
    if (expected > 0) x += (found - expected) * (found - expected) / expected;
    ++joined;
    found = expected = 0;
  }
  return joined < 2 ? 1 : chi_square(x, joined - 1);
}

double repeats(std::vector<std::uint64_t> hashes) {
  std::ranges::sort(hashes);
  double repeated = 0;
  for (std::size_t i = 1; i < hashes.size(); ++i) repeated += hashes[i] == hashes[i - 1] ? 1 : 0;
  auto const n = static_cast<double>(hashes.size());
  return repeated == 0 ? 1 : lower_gamma(repeated, n * (n - 1) / 2 * 0x1p-64);
}

double normality(std::vector<double> numbers) {
  std::ranges::sort(numbers);
  auto const n = static_cast<double>(numbers.size());
  double distance = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    double const below = std::erfc(-numbers[i] / std::numbers::sqrt2) / 2;
    if (!(below >= 0)) return 0;  // NaN
    distance = std::max({distance, below - static_cast<double>(i) / n, static_cast<double>(i + 1) / n - below});
  }
  double const lambda = (std::sqrt(n) + 0.12 + 0.11 / std::sqrt(n)) * distance;
  if (lambda < 0.2) return 1;  // the series converges slowly; the probability is 1 to 12 digits
  double p = 0;
  for (int k = 1; k <= 100; ++k) p += (k % 2 == 1 ? 2 : -2) * std::exp(-2 * lambda * lambda * k * k);
  return std::clamp(p, 0.0, 1.0);
}

std::vector<RandomTest> tests_of_words(std::string const& of, std::span<std::uint32_t const> words) {
  return {{of + ": bits", bits(words)},
          {of + ": frequency", frequency(words)},
          {of + ": serial pairs", serial_pairs(words)},
          {of + ": gaps", gaps(words)},
          {of + ": birthday spacings", birthday_spacings(words)}};
}

std::string rejection_of(std::vector<RandomTest> const& battery, double false_alarms) {
  std::string text;
  for (RandomTest const& test : battery) {
    if (test.p >= false_alarms / static_cast<double>(battery.size())) continue;
    text += (text.empty() ? "" : ", ") + test.name + " (p = " + shortest_text(test.p) + ")";
  }
  return text;
}

}  // namespace tessera::randomness
