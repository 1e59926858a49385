#pragma once
/// \file
/// Two builds, or two days, by the reports of their launches: which rows became slower or faster.
///
/// The unit is a launch of the program: samples of one launch share its memory pages, its threads' places and its minute,
/// and agree with each other better than with the next launch. docs/decisions/0018-launches-not-samples.md says why.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::comparison {

/// What is said about a row. `unverified`: its result was right in the old launches, and in a new launch of it the row
/// failed, was skipped or is missing; or no new launch has it.
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

/// A ratio, new over old, and where it may lie.
struct Ratio {
  double value = 0;
  double low = 0;
  double high = 0;
};

/// The ratio of the medians of positive numbers, one of each launch, at least one a side. The interval misses the true
/// ratio with a probability of about `error`; of one launch a side nothing is known, and it is [0, infinity].
///
/// It is the hull of two: the percentiles of the bootstrap over launches, whose distribution is computed rather than
/// drawn (Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13), and Welch's of the means of the
/// logarithms. Of few launches a bootstrap cannot reach past the extreme ones, however small `error` is; Welch's can.
[[nodiscard]] Ratio ratio_of_medians(std::vector<double> old_launches, std::vector<double> new_launches, double error);

/// The probability that a median of `n` draws with replacement from n sorted values is (x_i + x_j) / 2, at [i][j], i <= j;
/// i = j alone where n is odd.
[[nodiscard]] std::vector<std::vector<double>> bootstrap_of_median(std::size_t n);

/// The value that Student's t of `freedom` degrees exceeds with probability `tail`, tail in (0, 0.5].
[[nodiscard]] double student_quantile(double tail, double freedom);

/// Slower: the interval lies above 1 and the ratio above 1 + threshold; faster likewise below 1 / (1 + threshold). Same:
/// the interval lies between these two. Else unclear.
[[nodiscard]] Verdict judge(Ratio const& ratio, double threshold);

/// A row of one launch.
struct LaunchRow {
  std::string app;
  std::string variant;
  std::string space;
  std::string what;  ///< the case in short: "float 2^24 op=max"
  bool verified = false;
  bool skipped = false;
  double seconds = 0;        ///< median of its samples
  double share_of_roof = 0;  ///< of that launch; unknown where it has none
};

/// The rows of a launch by what they are: app, case, variant, space, ranks.
struct Launch {
  std::string path;
  /// Its command without the files that it writes, and its ranks: launches that should have the same rows. A folder may
  /// hold launches of several commands, as that of a study does.
  std::string asked;
  std::map<std::string, LaunchRow> rows;
  std::map<std::string, std::string> devices;  ///< by space and ranks
  std::string threads;                         ///< of each host space, and where they may run; empty if it is not known
  std::string build_type;
};

/// Reads a report. Throws UserError: no such file, no report of this schema, or a run that has not ended.
[[nodiscard]] Launch read_launch(std::string const& path);

struct CompareOptions {
  double threshold = 0.02;  ///< changes below it do not matter
  double error = 0.01;      ///< probability of any false verdict in all rows together
};

struct ComparedRow {
  LaunchRow row;  ///< its names
  Verdict verdict = Verdict::unclear;
  std::size_t old_launches = 0;  ///< in which it was verified
  std::size_t new_launches = 0;
  double old_seconds = 0;  ///< median of launches
  double new_seconds = 0;
  Ratio time;     ///< new over old; above 1 is slower
  Ratio of_roof;  ///< the same of time over the least time that the launch's own roofs allow; NaN where one is unknown
};

struct Comparison {
  CompareOptions options;
  std::size_t old_launches = 0;
  std::size_t new_launches = 0;
  std::vector<ComparedRow> rows;  ///< by verdict, then the largest change first
  std::vector<std::string> warnings;
  std::size_t only_old = 0;  ///< rows that no new launch has, never verified in the old ones
  std::size_t only_new = 0;
  std::size_t fewest_of_a_row = 0;  ///< launches a side, of the row that has the fewest
  std::size_t most_of_a_row = 0;
  std::vector<std::string> old_threads;  ///< what the launches say of their threads, each text once
  std::vector<std::string> new_threads;

  [[nodiscard]] std::size_t count(Verdict verdict) const;
  /// "TESSERA compare rows=3 slower=0 faster=1 same=1 unclear=1 unverified=0", for scripts.
  [[nodiscard]] std::string last_line() const;
};

/// Compares the launches, at least one a side. Each row's error is the options' over the number of rows (Bonferroni).
[[nodiscard]] Comparison compare(std::vector<Launch> const& old_launches, std::vector<Launch> const& new_launches,
                                 CompareOptions const& options);

/// For people: the rows that changed or were not verified (`all`: every row), then the last line.
[[nodiscard]] std::string comparison_text(Comparison const& comparison, bool all);
/// For CI: schema "tessera-comparison/1".
[[nodiscard]] std::string comparison_json(Comparison const& comparison);

/// What comparing launches of one build with themselves says: each pair of neighbours, one as old and one as new, in both
/// orders, in all combinations.
struct SelfTest {
  std::size_t comparisons = 0;  ///< of launches
  std::size_t verdicts = 0;     ///< of rows, in all of these
  std::size_t wrong = 0;        ///< of these slower, faster or unverified
  std::size_t same = 0;

  [[nodiscard]] double rate() const {
    return verdicts == 0 ? 0.0 : static_cast<double>(wrong) / static_cast<double>(verdicts);
  }
};

/// `launches`: an even number, 2 to 20, in the order in which they ran.
[[nodiscard]] SelfTest self_test(std::vector<Launch> const& launches, CompareOptions const& options);

}  // namespace tessera::comparison
