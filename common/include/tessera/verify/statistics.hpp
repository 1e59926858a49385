#pragma once
/// \file
/// Statistical tests of random numbers. Each returns a p-value: the probability that independent uniform words (or
/// normal numbers) give a result that is at least as unusual, in either direction. Small values speak against the
/// generator.
///
/// A battery of k tests rejects a generator if the smallest p-value is below `false_alarms / k`. A perfect generator is
/// then rejected with a probability of at most `false_alarms`, however the tests depend on each other (Bonferroni).
///
/// Sources: Knuth, The Art of Computer Programming 2, section 3.3 (frequency, serial, gap, Kolmogorov-Smirnov);
/// L'Ecuyer and Simard, TestU01 (ACM TOMS 33, 2007: birthday spacings); Stephens, Use of the Kolmogorov-Smirnov,
/// Cramer-von Mises and related statistics (1970).
///
/// Example: bits(words) of 2^16 zeros -> p = 0; of Philox4x32-10 -> uniform in [0, 1].

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tessera::randomness {

/// The result of one test.
struct RandomTest {
  std::string name;
  double p = 1;
};

/// Whether each of the 32 bits is 1 in half of the words.
[[nodiscard]] double bits(std::span<std::uint32_t const> words);
/// Whether the 256 values of the upper byte are equally frequent. Needs 2^13 words: about 32 for each value.
[[nodiscard]] double frequency(std::span<std::uint32_t const> words);
/// Whether the 256 pairs of the upper four bits of two neighbouring words, which overlap no other pair, are equally
/// frequent. Needs 2^14 words.
[[nodiscard]] double serial_pairs(std::span<std::uint32_t const> words);
/// Whether the gaps between words below 2^29, one of eight, have a geometric distribution. Needs 2^13 words.
[[nodiscard]] double gaps(std::span<std::uint32_t const> words);
/// Whether spacings between birthdays repeat as often as they should: groups of 1024 words, of which the upper 26 bits
/// are the days of a year. Repeated spacings have a Poisson distribution of mean 4 per group. Needs 2^13 words.
[[nodiscard]] double birthday_spacings(std::span<std::uint32_t const> words);
/// Whether two sequences are independent: each bit of the one equals the bit of the other in half of the words.
[[nodiscard]] double correlation(std::span<std::uint32_t const> a, std::span<std::uint32_t const> b);
/// Whether counts of independent numbers agree with the probabilities of their cells, which must add up to 1. Cells
/// with an expected count below 16 are joined with the next. 1 if fewer than two cells remain.
[[nodiscard]] double cells(std::span<std::uint64_t const> counts, std::span<double const> probabilities);
/// Whether independent hashes of 64 bits repeat as seldom as they should.
[[nodiscard]] double repeats(std::vector<std::uint64_t> hashes);
/// Whether numbers have the normal distribution of mean 0 and variance 1: Kolmogorov-Smirnov.
[[nodiscard]] double normality(std::vector<double> numbers);

/// Returns all tests of one sequence; their names begin with `of`.
[[nodiscard]] std::vector<RandomTest> tests_of_words(std::string const& of, std::span<std::uint32_t const> words);

/// Returns what a battery rejects: empty if it accepts the generator.
[[nodiscard]] std::string rejection_of(std::vector<RandomTest> const& battery, double false_alarms = 1e-6);

/// Returns the probability that chi-square with so many degrees of freedom is at least x.
[[nodiscard]] double chi_square_tail(double x, double degrees);

}  // namespace tessera::randomness
