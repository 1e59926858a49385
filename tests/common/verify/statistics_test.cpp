// Statistical tests: the generators pass them, deliberately broken generators fail, and p-values are what they claim.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <tessera/collective/random.hpp>
#include <tessera/core/host_threads.hpp>
#include <tessera/verify/statistics.hpp>

namespace tessera::randomness {
namespace {

using collective::Philox4x32;
using collective::Threefry4x64;
using Words = std::vector<std::uint32_t>;

// Generators with 32-bit words: element i of a stream.
struct Philox {
  static std::uint32_t word(std::uint64_t seed, std::uint32_t stream, std::uint64_t i) {
    return static_cast<std::uint32_t>(collective::Bits{}.at(collective::RandomWords<Philox4x32>(seed, stream), i));
  }
};
struct Threefry {
  static std::uint32_t word(std::uint64_t seed, std::uint32_t stream, std::uint64_t i) {
    return static_cast<std::uint32_t>(collective::Bits{}.at(collective::RandomWords<Threefry4x64>(seed, stream), i));
  }
};
template <int rounds>
struct FewRounds {
  static std::uint32_t word(std::uint64_t seed, std::uint32_t stream, std::uint64_t i) {
    std::uint64_t const b = i / 4;
    return Philox4x32::block<rounds>({static_cast<std::uint32_t>(b), static_cast<std::uint32_t>(b >> 32), stream, 0},
                                     {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)})[i % 4];
  }
};
// The index has 32 bits.
struct Wraps {
  static std::uint32_t word(std::uint64_t seed, std::uint32_t stream, std::uint64_t i) {
    return Philox::word(seed, stream, i % (std::uint64_t{1} << 32));
  }
};
struct OneStream {
  static std::uint32_t word(std::uint64_t seed, std::uint32_t, std::uint64_t i) { return Philox::word(seed, 0, i); }
};
// Neighbouring seeds are shifted sequences.
struct SeedAddsToIndex {
  static std::uint32_t word(std::uint64_t seed, std::uint32_t stream, std::uint64_t i) {
    return Philox::word(0, stream, i + seed);
  }
};
// A linear congruential generator modulo 2^32, by jumping ahead: low bits have short periods.
struct Congruential {
  static std::uint32_t word(std::uint64_t seed, std::uint32_t stream, std::uint64_t i) {
    std::uint32_t factor = 1;
    std::uint32_t summand = 0;
    std::uint32_t a = 1664525;
    std::uint32_t c = 1013904223;
    for (std::uint64_t rest = i; rest > 0; rest /= 2, c *= a + 1, a *= a) {
      if (rest % 2 == 0) continue;
      factor *= a;
      summand = summand * a + c;
    }
    return factor * static_cast<std::uint32_t>(seed + 977 * stream) + summand;
  }
};
// One bit of each word is 0 a little too often.
struct StuckBit {
  static std::uint32_t word(std::uint64_t seed, std::uint32_t stream, std::uint64_t i) {
    std::uint32_t const word = Philox::word(seed, stream, i);
    return i % 16 == 0 ? word & ~1u : word;
  }
};

template <class Generator>
Words words(std::size_t n, std::uint64_t seed, std::uint32_t stream = 0, std::uint64_t first = 0,
            std::uint64_t step = 1) {
  Words result(n);
  for (std::size_t i = 0; i < n; ++i) result[i] = Generator::word(seed, stream, first + i * step);
  return result;
}

// A sequence; its every fourth word; neighbouring counters, seeds, streams and blocks of ranks; elements 2^32 and 2^34
// apart.
template <class Generator>
std::vector<RandomTest> battery_of(std::uint64_t seed, std::size_t n) {
  Words const own = words<Generator>(n, seed);
  std::vector<RandomTest> battery = tests_of_words("one sequence", own);
  std::vector<RandomTest> const of_words = tests_of_words("every fourth word", words<Generator>(n, seed, 0, 0, 4));
  battery.insert(battery.end(), of_words.begin(), of_words.end());
  // A sequence and the same sequence some words later have words in common: only their bits are compared.
  for (std::uint64_t const later : {1, 4}) {
    battery.push_back({later == 1 ? "neighbouring words" : "neighbouring counters",
                       correlation(own, words<Generator>(n, seed, 0, later))});
  }
  auto const against = [&](std::string const& what, Words const& other) {
    battery.push_back({what, correlation(own, other)});
    Words joined(2 * n);  // one word of each in turn
    for (std::size_t i = 0; i < n; ++i) {
      joined[2 * i] = own[i];
      joined[2 * i + 1] = other[i];
    }
    battery.push_back({what + ": serial pairs", serial_pairs(joined)});
    battery.push_back({what + ": birthday spacings", birthday_spacings(joined)});
  };
  against("neighbouring seeds", words<Generator>(n, seed + 1));
  against("seeds that differ in the upper half", words<Generator>(n, seed + (std::uint64_t{1} << 32)));
  against("neighbouring streams", words<Generator>(n, seed, 1));
  against("blocks of two ranks", words<Generator>(n, seed, 0, n));
  against("elements 2^32 apart", words<Generator>(n, seed, 0, std::uint64_t{1} << 32));
  against("elements 2^34 apart", words<Generator>(n, seed, 0, std::uint64_t{1} << 34));
  return battery;
}

constexpr std::size_t words_of_battery = 1 << 16;

template <class Generator>
std::string rejection() {
  return rejection_of(battery_of<Generator>(42, words_of_battery));
}

TEST(Statistics, GeneratorsPass) {
  EXPECT_EQ(rejection<Philox>(), "");
  EXPECT_EQ(rejection<Threefry>(), "");
}

void expect_rejected(std::string const& found, std::string const& by) {
  EXPECT_NE(found.find(by), std::string::npos) << (found.empty() ? "accepted" : found);
}
TEST(BrokenGenerators, FewRounds) {
  expect_rejected(rejection<FewRounds<2>>(), "neighbouring counters");
  expect_rejected(rejection<FewRounds<3>>(), "neighbouring");
}
TEST(BrokenGenerators, CounterWrapsAt2To32) { expect_rejected(rejection<Wraps>(), "elements 2^32 apart"); }
TEST(BrokenGenerators, RanksShareAStream) { expect_rejected(rejection<OneStream>(), "neighbouring streams"); }
TEST(BrokenGenerators, SeedAddsToIndex) { expect_rejected(rejection<SeedAddsToIndex>(), "seeds"); }
TEST(BrokenGenerators, Congruential) { expect_rejected(rejection<Congruential>(), "every fourth word: bits"); }
TEST(BrokenGenerators, StuckBit) { expect_rejected(rejection<StuckBit>(), "one sequence: bits"); }

// Two ranks that both begin at element 0, instead of where their blocks begin.
TEST(BrokenGenerators, BlocksOfRanksAreTheSame) {
  Words const own = words<Philox>(words_of_battery, 42);
  EXPECT_LT(correlation(own, own), 1e-12);
}

template <class T>
std::vector<double> normals(std::size_t n, std::uint64_t seed) {
  std::vector<double> numbers;
  collective::RandomWords<Philox4x32> const own(seed, 0);
  for (std::size_t b = 0; b < n / 4; ++b) {
    auto const four = collective::Normal<T>{}.four(own, b);
    for (std::size_t e = 0; e < 4; ++e) numbers.push_back(static_cast<double>(four[e]));
  }
  return numbers;
}

TEST(Statistics, NormalsPass) {
  std::size_t const n = std::size_t{1} << 20;
  EXPECT_GT(normality(normals<float>(n, 42)), 1e-6);
  EXPECT_GT(normality(normals<double>(n, 42)), 1e-6);
}
TEST(BrokenGenerators, NormalsOfAnotherVariance) {
  std::vector<double> numbers = normals<double>(1 << 16, 42);
  for (double& number : numbers) number *= 1.05;
  EXPECT_LT(normality(numbers), 1e-6);
}
TEST(BrokenGenerators, NormalsOfThreeUniforms) {
  std::vector<double> numbers(1 << 16);
  collective::RandomWords<Philox4x32> const own(42, 0);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    auto const four = collective::Uniform<float>{}.four(own, i);
    numbers[i] = 2 * (static_cast<double>(four[0]) + static_cast<double>(four[1]) + static_cast<double>(four[2])) - 3;
  }
  EXPECT_LT(normality(numbers), 1e-6);
}
TEST(BrokenGenerators, NotANumber) {
  std::vector<double> numbers = normals<double>(1 << 10, 42);
  numbers[500] = std::nan("");
  EXPECT_EQ(normality(numbers), 0);
}

// A die, and the same die loaded by one part in fifty.
TEST(Statistics, CellsOfADie) {
  Words const own = words<Philox>(words_of_battery, 42);
  std::vector<double> const fair(6, 1.0 / 6);
  std::vector<std::uint64_t> counts(6);
  for (std::uint32_t const word : own) ++counts[std::uint64_t{word} * 6 >> 32];
  EXPECT_GT(cells(counts, fair), 1e-6);
  std::vector<std::uint64_t> loaded = counts;
  loaded[5] += loaded[0] / 10;
  loaded[0] -= loaded[0] / 10;
  EXPECT_LT(cells(loaded, fair), 1e-6);
  // A number that cannot occur.
  counts.push_back(0);
  std::vector<double> const seven{1. / 6, 1. / 6, 1. / 6, 1. / 6, 1. / 6, 1. / 6, 0};
  EXPECT_GT(cells(counts, seven), 1e-6);
  counts.back() = 1;
  EXPECT_EQ(cells(counts, seven), 0);
}
TEST(Statistics, CellsJoinRareNumbers) {
  // Half of all numbers are 0, the others fall into cells that expect one number each.
  std::size_t const rare = 1000;
  std::vector<double> probabilities(rare + 1, 0.5 / static_cast<double>(rare));
  probabilities[0] = 0.5;
  std::vector<std::uint64_t> counts(rare + 1, 1);
  counts[0] = rare;
  EXPECT_LT(cells(counts, probabilities), 1e-6);  // far too even
  for (std::size_t i = 0; i < rare; ++i) counts[i + 1] = 0;
  for (std::uint32_t const word : words<Philox>(rare, 42)) ++counts[1 + word % rare];
  EXPECT_GT(cells(counts, probabilities), 1e-6);
}
TEST(Statistics, HashesRepeatSeldom) {
  std::vector<std::uint64_t> hashes;
  for (std::uint64_t i = 0; i < 100000; ++i) hashes.push_back(i * 0x9E3779B97F4A7C15ULL);
  EXPECT_EQ(repeats(hashes), 1);
  hashes[7] = hashes[90000];
  EXPECT_LT(repeats(hashes), 1e-9);
}

// Tables of chi-square.
TEST(Statistics, TailsOfChiSquare) {
  EXPECT_NEAR(chi_square_tail(3.841458820694124, 1), 0.05, 1e-12);
  EXPECT_NEAR(chi_square_tail(18.307038053275146, 10), 0.05, 1e-12);
  EXPECT_NEAR(chi_square_tail(310.45738821990585, 255), 0.01, 1e-10);
  EXPECT_NEAR(chi_square_tail(10, 2), std::exp(-5.0), 1e-15);
  EXPECT_NEAR(chi_square_tail(200, 2) / std::exp(-100.0), 1, 1e-10);
}

// The rate of false alarms over many seeds (TESSERA_TEST_SEEDS, default 200; 10000 take minutes). At the usual 10^-6
// none is expected. At a hundredth, the number of alarms shows whether p-values are too small.
TEST(Statistics, FalseAlarmsAreAsRareAsStated) {
  char const* const text = std::getenv("TESSERA_TEST_SEEDS");
  std::size_t const seeds = text == nullptr ? 200 : std::stoull(text);
  std::vector<std::vector<RandomTest>> batteries(seeds);
  for_blocks(seeds, 1, [&](std::size_t seed, std::size_t, std::size_t) {
    // Seeds that are far apart: those of neighbours have words in common with this battery.
    batteries[seed] = battery_of<Philox>(1000 * seed + 7, std::size_t{1} << 14);
    batteries[seed].push_back({"normals", normality(normals<double>(std::size_t{1} << 12, 1000 * seed + 7))});
  });
  std::size_t alarms = 0;
  std::map<std::string, std::size_t> small;  // p-values below a tenth, by test
  for (std::vector<RandomTest> const& battery : batteries) {
    EXPECT_EQ(rejection_of(battery), "");
    if (!rejection_of(battery, 1e-2).empty()) ++alarms;
    for (RandomTest const& test : battery) small[test.name] += test.p < 0.1 ? 1 : 0;
  }
  // Five standard deviations of the binomial distribution.
  auto const n = static_cast<double>(seeds);
  EXPECT_LE(static_cast<double>(alarms), 0.01 * n + 5 * std::sqrt(0.01 * n) + 1);
  RecordProperty("alarms_at_one_percent", static_cast<int>(alarms));
  for (auto const& [name, count] : small) {
    EXPECT_LE(static_cast<double>(count), 0.1 * n + 5 * std::sqrt(0.09 * n)) << name;
    // Counts are whole numbers: the p-values of birthday spacings are a little too large.
    EXPECT_GE(static_cast<double>(count), 0.08 * n - 5 * std::sqrt(0.09 * n)) << name;
  }
  std::printf("%zu of %zu batteries are rejected at 0.01\n", alarms, seeds);
}

}  // namespace
}  // namespace tessera::randomness
