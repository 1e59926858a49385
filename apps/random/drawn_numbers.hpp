#pragma once
/// \file
/// Judges numbers whose values no reference knows, because they depend on which thread took which state of a pool:
/// their range, and statistical tests (verify/statistics.hpp).

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <string>
#include <type_traits>
#include <vector>

#include "problem.hpp"

#include <tessera/core/host_threads.hpp>
#include <tessera/core/random.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/verify/statistics.hpp>

namespace tessera::random {

/// Every number must lie in the range of the distribution: uniform from 0 to 1, both included, because Kokkos' frand()
/// rounds; normal below 9.5 in magnitude. Blocks of about 2^22 numbers are tested by themselves: frequencies, pairs of
/// neighbours, and gaps except for `integers`. Groups of neighbours with 72 random bits or more may not repeat: threads
/// that share a state repeat them.
///
/// All tests together reject a right generator with a probability of at most `false_alarms`. Needs at least
/// `fewest_drawn` numbers.
template <class T>
class DrawnNumbers {
 public:
  static constexpr double false_alarms = 1e-6;

  DrawnNumbers(Parameters const& parameters, T const* numbers, std::size_t n)
      : of_(parameters), numbers_(numbers), n_(n) {}

  [[nodiscard]] Statistic judge() const {
    Statistic result{.fault = {}, .false_alarms = false_alarms};
    if (n_ < fewest_drawn) {
      result.fault = std::to_string(n_) + " numbers are too few for tests";
      return result;
    }
    std::size_t const blocks = std::max<std::size_t>(1, n_ / block);
    std::vector<std::size_t> outside(blocks, n_);
    std::vector<std::vector<randomness::RandomTest>> tests(blocks);
    for_blocks(blocks, 1, [&](std::size_t b, std::size_t, std::size_t) {
      std::size_t const begin = n_ / blocks * b + std::min(b, n_ % blocks);
      std::size_t const end = begin + n_ / blocks + (b < n_ % blocks ? 1 : 0);
      for (std::size_t i = begin; i < end && outside[b] == n_; ++i) {
        if (!is_in_range(numbers_[i])) outside[b] = i;
      }
      if (outside[b] == n_) tests[b] = tests_of(begin, end);
    });
    std::size_t const first = *std::ranges::min_element(outside);
    if (first < n_) {
      result.fault = "[" + std::to_string(first) + "] = " + shortest_text(static_cast<double>(numbers_[first])) +
                     " is outside of the distribution's range";
      return result;
    }
    std::vector<randomness::RandomTest> battery{{"repeated groups", randomness::repeats(hashes_of_groups())}};
    for (auto const& some : tests) battery.insert(battery.end(), some.begin(), some.end());
    if (std::string const why = randomness::rejection_of(battery, false_alarms); !why.empty()) {
      result.fault = "the numbers are not random: " + why;
    }
    return result;
  }

 private:
  static constexpr std::size_t block = std::size_t{1} << 22;

  [[nodiscard]] bool is_integers() const { return of_.distribution == Distribution::integers; }
  [[nodiscard]] std::uint64_t range() const { return static_cast<std::uint64_t>(of_.hi - of_.lo); }

  [[nodiscard]] bool is_in_range(T x) const {
    if constexpr (std::is_integral_v<T>) {
      return !is_integers() || (x >= of_.lo && x < of_.hi);
    } else {
      return of_.distribution == Distribution::normal ? std::abs(x) <= T(9.5) : x >= 0 && x <= 1;
    }
  }

  // A word whose value divided by 2^32 is uniform: the number's position in its distribution.
  [[nodiscard]] std::uint32_t word(T x) const {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<std::uint32_t>(x);
    } else {
      auto u = static_cast<double>(x);
      if (of_.distribution == Distribution::normal) u = std::erfc(-u / std::numbers::sqrt2) / 2;
      return static_cast<std::uint32_t>(std::min(u * 0x1p32, 0x1p32 - 1));
    }
  }

  [[nodiscard]] std::vector<randomness::RandomTest> tests_of(std::size_t begin, std::size_t end) const {
    std::string const of = "block at " + std::to_string(begin) + ": ";
    if (is_integers()) {
      return {{of + "frequency", of_integers<256>(begin, end, 1)},
              {of + "serial pairs", of_integers<16>(begin, end, 2)}};
    }
    std::vector<std::uint32_t> words(end - begin);
    for (std::size_t i = begin; i < end; ++i) words[i - begin] = word(numbers_[i]);
    return {{of + "frequency", randomness::frequency(words)},
            {of + "serial pairs", randomness::serial_pairs(words)},
            {of + "gaps", randomness::gaps(words)}};
  }

  // Whether groups of integers fall as often into each cell as they should; a cell has one of `parts` equal parts of
  // the range for each number of the group.
  template <std::uint64_t parts>
  [[nodiscard]] double of_integers(std::size_t begin, std::size_t end, int group) const {
    std::vector<double> of_part(parts);  // with fewer integers than parts, some parts have none
    for (std::uint64_t part = 0; part < parts; ++part) {
      auto const below = [&](std::uint64_t p) { return (p * range() + parts - 1) / parts; };
      of_part[part] = static_cast<double>(below(part + 1) - below(part)) / static_cast<double>(range());
    }
    std::vector<double> probabilities = of_part;
    if (group == 2) {
      probabilities.clear();
      for (double const a : of_part) {
        for (double const b : of_part) probabilities.push_back(a * b);
      }
    }
    std::vector<std::uint64_t> counts(probabilities.size());
    auto const size = static_cast<std::size_t>(group);
    for (std::size_t i = begin; i + size <= end; i += size) {
      std::uint64_t cell = 0;
      for (std::size_t k = i; k < i + size; ++k) {
        auto const above = static_cast<std::uint64_t>(static_cast<std::int64_t>(numbers_[k]) - of_.lo);
        cell = cell * parts + above * parts / range();
      }
      ++counts[cell];
    }
    return randomness::cells(counts, probabilities);
  }

  // At most 2^22 groups, evenly spread.
  [[nodiscard]] std::vector<std::uint64_t> hashes_of_groups() const {
    double bits = 32;
    if (is_integers()) bits = std::log2(static_cast<double>(range()));
    if (std::is_floating_point_v<T>) bits = std::is_same_v<T, double> ? 48 : 24;
    if (of_.distribution == Distribution::normal) bits -= 8;  // not all values are equally likely
    if (bits == 0) return {};
    auto const size = std::bit_ceil(static_cast<std::size_t>(std::ceil(72 / bits)));  // as tiles and runs are divided
    std::size_t const groups = n_ / size;
    std::size_t const step = std::max<std::size_t>(1, tiles_of(groups, block));
    std::vector<std::uint64_t> hashes;
    for (std::size_t g = 0; g < groups; g += step) {
      std::uint64_t hash = 0;
      for (std::size_t i = g * size; i < (g + 1) * size; ++i) {
        hash = random_bits(hash, 0, std::bit_cast<std::uint64_t>(static_cast<double>(numbers_[i])));
      }
      hashes.push_back(hash);
    }
    return hashes;
  }

  Parameters const& of_;
  T const* numbers_;
  std::size_t n_;
};

}  // namespace tessera::random
