#pragma once
/// \file
/// Compares two builds, or two days, by the reports of their launches: finds rows that became slower or faster.
///
/// The unit is a launch of the program. Samples of one launch share its memory pages, its thread placement and its
/// time, and agree better with each other than with the next launch. docs/decisions/0018-launches-not-samples.md
/// describes the reasons.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::comparison {

/// The verdict on a row. `unverified`: the row's result was correct in the old launches; in a new launch the row
/// failed, was skipped or is missing, or no new launch has it.
enum class Verdict : std::uint8_t { unverified, slower, faster, unclear, same };

[[nodiscard]] constexpr std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::unverified: return "unverified";
    case Verdict::slower: return "slower";
    case Verdict::faster: return "faster";
    case Verdict::unclear: return "unclear";
    case Verdict::same: return "same";
  }
  return "unknown";
}

/// A ratio, new over old, with its confidence interval.
struct Ratio {
  double value = 0;
  double low = 0;
  double high = 0;
};

/// Returns the ratio of the medians of positive numbers, one number per launch, at least one launch per side. The
/// interval misses the true ratio with a probability of about `error`. With one launch per side nothing is known: the
/// interval is [0, infinity].
///
/// The interval is the hull of two intervals. The first uses percentiles of the bootstrap over launches, whose
/// distribution is computed exactly instead of sampled (Efron and Tibshirani, An Introduction to the Bootstrap, 1993,
/// chapter 13). The second is Welch's interval of the means of the logarithms. With few launches the bootstrap cannot
/// reach beyond the extreme launches, however small `error` is; Welch's interval can.
[[nodiscard]] Ratio ratio_of_medians(std::vector<double> old_launches, std::vector<double> new_launches, double error);

/// Returns, at [i][j] with i <= j, the probability that the median of `n` draws with replacement from n sorted values
/// is (x_i + x_j) / 2. If n is odd, only i = j occurs.
[[nodiscard]] std::vector<std::vector<double>> bootstrap_of_median(std::size_t n);

/// Returns the value that Student's t with `freedom` degrees of freedom exceeds with probability `tail`, tail in (0,
/// 0.5].
[[nodiscard]] double student_quantile(double tail, double freedom);

/// Returns slower if the interval lies above 1 and the ratio above 1 + threshold; faster if the interval lies below 1
/// and the ratio below 1 / (1 + threshold); same if the interval lies between 1 / (1 + threshold) and 1 + threshold;
/// otherwise unclear.
[[nodiscard]] Verdict judge(Ratio const& ratio, double threshold);

/// A row of one launch.
struct LaunchRow {
  std::string app;
  std::string variant;
  std::string space;
  std::string what;  ///< short description of the case: "float 2^24 op=max"
  bool verified = false;
  bool skipped = false;
  double seconds = 0;        ///< median of its samples
  double share_of_roof = 0;  ///< of that launch; unknown if it has none
  double least = 0;          ///< least of its samples, in seconds
};

/// The rows of a launch, keyed by app, case, variant, space and ranks.
struct Launch {
  /// The launch's command without its output files, and its ranks: launches with equal `asked` should have the same
  /// rows. A folder may contain launches of several commands, as the folder of a study does.
  std::string asked;
  std::map<std::string, LaunchRow> rows;
  std::map<std::string, std::string> devices;  ///< by space and ranks
  /// of each host space, with the processors that they may run on; empty if unknown
  std::string threads;
  std::string build_type;
};

/// Reads a report. Throws UserError if there is no such file, if it is not a report with this schema, or if the run has
/// not ended.
[[nodiscard]] Launch read_launch(std::string const& path);

struct CompareOptions {
  double threshold = 0.02;  ///< smaller changes do not matter
  double error = 0.01;      ///< probability of any false verdict over all rows
  bool least = false;       ///< compares the least sample of each launch, not the median
};

struct ComparedRow {
  LaunchRow row;  ///< its names
  Verdict verdict = Verdict::unclear;
  std::size_t old_launches = 0;  ///< launches in which it was verified
  std::size_t new_launches = 0;
  double old_seconds = 0;  ///< median over launches
  double new_seconds = 0;
  Ratio time;     ///< new over old; above 1 is slower
  Ratio of_roof;  ///< the same for time divided by the least time that the launch's own roofs allow; NaN if unknown
};

struct Comparison {
  CompareOptions options;
  std::size_t old_launches = 0;
  std::size_t new_launches = 0;
  std::vector<ComparedRow> rows;  ///< by verdict, then by size of the change, largest first
  std::vector<std::string> warnings;
  std::size_t only_old = 0;  ///< rows without a new launch that were never verified in the old launches
  std::size_t only_new = 0;
  std::size_t fewest_of_a_row = 0;  ///< launches per side of the row that has the fewest
  std::size_t most_of_a_row = 0;
  std::vector<std::string> old_threads;  ///< descriptions of the threads in the launches, without duplicates
  std::vector<std::string> new_threads;

  [[nodiscard]] std::size_t count(Verdict verdict) const;
  /// Returns "TESSERA compare rows=3 slower=0 faster=1 same=1 unclear=1 unverified=0", for scripts.
  [[nodiscard]] std::string last_line() const;
};

/// Compares the launches, at least one per side. The error of each row is the error in `options` divided by the number
/// of rows (Bonferroni).
[[nodiscard]] Comparison compare(std::vector<Launch> const& old_launches, std::vector<Launch> const& new_launches,
                                 CompareOptions const& options);

/// Returns the text for people: the rows that changed or were not verified (`all`: every row), then the last line.
[[nodiscard]] std::string comparison_text(Comparison const& comparison, bool all);
/// Returns the JSON document for CI: schema "tessera-comparison/1".
[[nodiscard]] std::string comparison_json(Comparison const& comparison);

/// The result of comparing launches of one build with each other: each pair of neighbours is divided into one old and
/// one new launch, in both orders and in all combinations.
struct SelfTest {
  std::size_t comparisons = 0;  ///< number of comparisons of launches
  std::size_t verdicts = 0;     ///< number of verdicts on rows in all comparisons
  std::size_t wrong = 0;        ///< verdicts that are slower, faster or unverified
  std::size_t same = 0;

  [[nodiscard]] double rate() const {
    return verdicts == 0 ? 0.0 : static_cast<double>(wrong) / static_cast<double>(verdicts);
  }
};

/// `launches`: an even number, 2 to 20, in the order in which they ran.
[[nodiscard]] SelfTest self_test(std::vector<Launch> const& launches, CompareOptions const& options);

}  // namespace tessera::comparison
