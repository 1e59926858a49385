#include <tessera/study/comparison.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <ranges>
#include <set>
#include <sstream>

#include <tessera/cli/nearest.hpp>
#include <tessera/cli/sizes.hpp>
#include <tessera/core/types.hpp>
#include <tessera/measure/sampling.hpp>
#include <tessera/report/table.hpp>

#include "../report/json.hpp"
#include "../report/thread_facts.hpp"

namespace tessera::comparison {

namespace {

using report::Json;
using report::positive_or_unknown;

// In the order of texts.
constexpr std::array verdicts{Verdict::slower, Verdict::faster, Verdict::same, Verdict::unclear, Verdict::unverified};
constexpr double infinity = std::numeric_limits<double>::infinity();

// ---------------------------------------------------------------------------------------------------------------------
// Statistics
// ---------------------------------------------------------------------------------------------------------------------

// P(at least `least` of n draws are among the first i of n values).
double at_least(std::size_t least, std::size_t i, std::size_t n) {
  double const p = static_cast<double>(i) / static_cast<double>(n);
  double sum = 0;
  for (std::size_t k = least; k <= n; ++k) {
    auto const chosen = static_cast<double>(k);
    auto const all = static_cast<double>(n);
    double const ways = std::exp(std::lgamma(all + 1) - std::lgamma(chosen + 1) - std::lgamma(all - chosen + 1));
    sum += ways * std::pow(p, chosen) * std::pow(1 - p, all - chosen);
  }
  return sum;
}

// P(the middle draws X_(m) <= x_i and X_(m+1) <= x_j) of n = 2m draws, 1-based, i <= j.
double middle_below(std::size_t i, std::size_t j, std::size_t n) {
  if (i == 0 || j == 0) return 0;
  std::size_t const m = n / 2;
  double const more = at_least(m + 1, i, n);
  if (i == n) return more;
  // Exactly m among the first i: then one of the others must be among the next j - i.
  double const none = std::pow(static_cast<double>(n - j) / static_cast<double>(n - i), static_cast<double>(n - m));
  return more + (at_least(m, i, n) - more) * (1 - none);
}

// A median of draws, and its probability.
struct Weighted {
  double value;
  double weight;
};

std::vector<Weighted> medians_of_draws(std::vector<double> const& sorted) {
  std::vector<Weighted> medians;
  // The same for every row.
  thread_local std::map<std::size_t, std::vector<std::vector<double>>> known;
  auto const [at, is_new] = known.try_emplace(sorted.size());
  if (is_new) at->second = bootstrap_of_median(sorted.size());
  auto const& weights = at->second;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    for (std::size_t j = i; j < sorted.size(); ++j) {
      if (weights[i][j] > 0) medians.push_back({(sorted[i] + sorted[j]) / 2, weights[i][j]});
    }
  }
  return medians;
}

Ratio bootstrap_interval(std::vector<double> const& old_sorted, std::vector<double> const& new_sorted, double error) {
  std::vector<Weighted> ratios;
  for (Weighted const& o : medians_of_draws(old_sorted)) {
    for (Weighted const& n : medians_of_draws(new_sorted)) ratios.push_back({n.value / o.value, n.weight * o.weight});
  }
  std::ranges::sort(ratios, {}, &Weighted::value);
  auto const beyond = [half = error / 2, sum = 0.0](Weighted const& one) mutable { return (sum += one.weight) > half; };
  return {.value = 0,
          .low = std::ranges::find_if(ratios, beyond)->value,
          .high = std::ranges::find_if(ratios | std::views::reverse, beyond)->value};
}

struct Moments {
  double mean = 0;
  double square_error = 0;  // squared error of the mean
};

Moments of_logarithms(std::vector<double> const& values) {
  auto const n = static_cast<double>(values.size());
  Moments moments;
  for (double const value : values) moments.mean += std::log(value) / n;
  for (double const value : values) {
    double const off = std::log(value) - moments.mean;
    moments.square_error += off * off / (n * (n - 1));
  }
  return moments;
}

Ratio welch_interval(std::vector<double> const& old_values, std::vector<double> const& new_values, double error) {
  Moments const o = of_logarithms(old_values);
  Moments const n = of_logarithms(new_values);
  double const both = o.square_error + n.square_error;
  double half = 0;
  if (both > 0) {
    double const freedom = both * both /
                           (o.square_error * o.square_error / static_cast<double>(old_values.size() - 1) +
                            n.square_error * n.square_error / static_cast<double>(new_values.size() - 1));
    half = student_quantile(error / 2, freedom) * std::sqrt(both);
  }
  return {0, std::exp(n.mean - o.mean - half), std::exp(n.mean - o.mean + half)};
}

// Returns I_x(a, b), the regularised incomplete beta function, by its continued fraction (DLMF 8.17.22). Requires
// x < (a + 1) / (a + b + 2).
double beta_fraction(double x, double a, double b) {
  double const tiny = 1e-300;
  double c = 1;
  double d = 1 / std::max(tiny, 1 - (a + b) * x / (a + 1));
  double fraction = d;
  for (int m = 1; m < 1000; ++m) {
    double const even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    double const odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    double step = 1;
    for (double const term : {even, odd}) {
      d = 1 + term * d;
      c = 1 + term / c;
      if (std::abs(d) < tiny) d = tiny;
      if (std::abs(c) < tiny) c = tiny;
      d = 1 / d;
      step = c * d;
      fraction *= step;
    }
    if (std::abs(step - 1) < 1e-14) break;
  }
  double const front =
      std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x));
  return front * fraction / a;
}

// P(T > t), t >= 0.
double student_tail(double t, double freedom) {
  if (t == 0) return 0.5;
  double const x = freedom / (freedom + t * t);
  double const a = freedom / 2;
  double const b = 0.5;
  double const beta = x < (a + 1) / (a + b + 2) ? beta_fraction(x, a, b) : 1 - beta_fraction(1 - x, b, a);
  return beta / 2;
}

}  // namespace

std::vector<std::vector<double>> bootstrap_of_median(std::size_t n) {
  std::vector<std::vector<double>> weights(n, std::vector<double>(n, 0.0));
  for (std::size_t i = 1; i <= n; ++i) {
    if (n % 2 == 1) {
      weights[i - 1][i - 1] = at_least(n / 2 + 1, i, n) - at_least(n / 2 + 1, i - 1, n);
      continue;
    }
    auto const below = [&](std::size_t first, std::size_t second) {
      return middle_below(std::min(first, second), second, n);
    };
    for (std::size_t j = i; j <= n; ++j) {
      weights[i - 1][j - 1] = std::max(0.0, below(i, j) - below(i - 1, j) - below(i, j - 1) + below(i - 1, j - 1));
    }
  }
  return weights;
}

double student_quantile(double tail, double freedom) {
  double low = 0;
  double high = 1;
  while (student_tail(high, freedom) > tail && high < 1e12) high *= 2;
  for (int i = 0; i < 200 && high - low > 1e-12 * high; ++i) {
    double const middle = (low + high) / 2;
    (student_tail(middle, freedom) > tail ? low : high) = middle;
  }
  return high;
}

Ratio ratio_of_medians(std::vector<double> old_launches, std::vector<double> new_launches, double error) {
  std::ranges::sort(old_launches);
  std::ranges::sort(new_launches);
  Ratio ratio{quantile(new_launches, 0.5) / quantile(old_launches, 0.5), 0, infinity};
  if (old_launches.size() < 2 || new_launches.size() < 2) return ratio;
  Ratio const drawn = bootstrap_interval(old_launches, new_launches, error);
  Ratio const welch = welch_interval(old_launches, new_launches, error);
  ratio.low = std::min(drawn.low, welch.low);
  ratio.high = std::max(drawn.high, welch.high);
  return ratio;
}

Verdict judge(Ratio const& ratio, double threshold) {
  double const most = 1 + threshold;
  if (ratio.low > 1 && ratio.value > most) return Verdict::slower;
  if (ratio.high < 1 && ratio.value < 1 / most) return Verdict::faster;
  if (ratio.low > 1 / most && ratio.high < most) return Verdict::same;
  return Verdict::unclear;
}

// ---------------------------------------------------------------------------------------------------------------------
// Reports
// ---------------------------------------------------------------------------------------------------------------------

namespace {

[[noreturn]] void refuse(std::string const& path, std::string const& why) {
  throw UserError("cannot compare " + path + " (" + why + "); give reports that --json wrote");
}

// Returns "float 2^24 op=max": distinguishes the cases of a mini-app, for people.
std::string short_name(Json const& one) {
  std::string text = one.at("dtype").get<std::string>() + " ";
  if (one.at("size").is_null()) {
    text += std::filesystem::path(one.at("file").get<std::string>()).filename().string();
  } else {
    text += size_text(one.at("size").get<std::size_t>());
  }
  for (auto const& [name, value] : one.at("parameters").items()) {
    bool const usual = value == 0 || value == false;
    if (!usual) text += " " + name + "=" + (value.is_string() ? value.get<std::string>() : value.dump());
  }
  return text;
}

// Returns the key that identifies a row in other reports.
std::string key_of(Json const& row, Json const& one, Json const& ranks) {
  Json key = Json::array();
  for (char const* name : {"app", "variant", "space", "cold"}) key.push_back(row.at(name));
  for (char const* name : {"source", "dtype", "size", "seed", "data", "input_shapes", "parameters"}) {
    key.push_back(one.at(name));
  }
  if (!one.at("file").is_null())
    key.push_back(std::filesystem::path(one.at("file").get<std::string>()).filename().string());
  key.push_back(ranks);
  return key.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Returns a command without its files: two launches of a study differ in the files that they write.
std::string without_files(std::string const& command) {
  static std::set<std::string> const files{"--json", "--log", "--output", "--save-machine", "--machine"};
  std::string kept;
  bool drops = false;
  std::istringstream words(command);
  for (std::string word; words >> word;) {
    if (word.starts_with("--")) drops = files.contains(word.substr(0, word.find('=')));
    if (!drops) kept += word + " ";
  }
  return kept;
}

// "4 ranks: openmp 2 threads, processors 0-1, OMP_PLACES=threads OMP_PROC_BIND=spread"
std::string threads_of(Json const& system, std::string const& on_ranks) {
  std::string text;
  for (auto const& [name, space] : system.at("spaces").items()) {
    std::string const threads = report::threads_of_device(space.value("device", ""));
    if (!threads.empty()) text += (text.empty() ? "" : ", ") + name + " " + threads;
  }
  Facts facts;
  for (auto const& [name, value] : system.items()) {
    if (value.is_string()) facts[name] = value.get<std::string>();
  }
  if (!facts.contains("processors")) return "";  // an older report
  return on_ranks + (on_ranks.empty() ? "" : ": ") + text + (text.empty() ? "" : ", ") + report::thread_text(facts);
}

void read_rows(Json const& json, Launch& launch) {
  Json const& cases = json.at("input");
  Json const& system = json.at("system");
  launch.build_type = json.at("build").value("build_type", "");
  Json const ranks = system.contains("ranks") ? system.at("ranks") : Json("1");
  std::string const on_ranks = ranks == "1" ? "" : ranks.get<std::string>() + " ranks";
  launch.asked = without_files(system.value("command", "")) + on_ranks;
  launch.threads = threads_of(system, on_ranks);
  for (auto const& [name, space] : system.at("spaces").items()) {
    launch.devices[name + (on_ranks.empty() ? "" : " on ") + on_ranks] = space.value("device", "");
  }
  for (Json const& row : json.at("rows")) {
    Json const& one = cases.at(row.at("case").get<std::size_t>());
    LaunchRow read;
    read.app = row.at("app").get<std::string>();
    read.variant = row.at("variant").get<std::string>();
    read.space = row.at("space").get<std::string>();
    read.what = short_name(one);
    std::string const status = row.at("status").get<std::string>();
    read.seconds = positive_or_unknown(row.at("seconds"));
    read.least = positive_or_unknown(row.at("seconds_min"));
    read.verified = (status == "passed" || status == "weak") && std::isfinite(read.seconds);
    read.skipped = status == "skipped";
    read.share_of_roof = positive_or_unknown(row.at("share_of_roof"));
    launch.rows.emplace(key_of(row, one, ranks), read);  // the first one, if a case occurs twice
  }
}

}  // namespace

Launch read_launch(std::string const& path) {
  Json const json = report::read_document(path, "tessera-report/1", refuse);
  Launch launch;
  bool ended = false;
  try {
    read_rows(json, launch);
    ended = !json.at("system").at("finished").is_null();
  } catch (Json::exception const& problem) {
    refuse(path, std::string("it is not whole: ") + problem.what());
  }
  if (!ended) refuse(path, "its run has not ended, or was interrupted");
  return launch;
}

// ---------------------------------------------------------------------------------------------------------------------
// Comparing
// ---------------------------------------------------------------------------------------------------------------------

namespace {

// The data of one side's launches for a row.
struct Side {
  std::vector<double> seconds;
  std::vector<double> of_roof;  // time divided by the least time
  std::size_t launches = 0;     // that should contain the row
  std::size_t verified = 0;
  std::size_t failed = 0;  // neither verified nor skipped
};

Side side_of(std::vector<Launch> const& launches, std::string const& key, bool least) {
  Side side;
  std::set<std::string> asked;
  for (Launch const& launch : launches) {
    if (launch.rows.contains(key)) asked.insert(launch.asked);
  }
  for (Launch const& launch : launches) {
    if (!asked.contains(launch.asked)) continue;
    ++side.launches;
    auto const found = launch.rows.find(key);
    if (found == launch.rows.end()) continue;
    LaunchRow const& row = found->second;
    if (row.verified) {
      ++side.verified;
      double const seconds = least ? row.least : row.seconds;
      side.seconds.push_back(seconds);
      if (std::isfinite(row.share_of_roof)) side.of_roof.push_back(seconds / row.seconds / row.share_of_roof);
    } else if (!row.skipped) {
      ++side.failed;
    }
  }
  return side;
}

double median(std::vector<double> values) {
  if (values.empty()) return unknown;
  std::ranges::sort(values);
  return quantile(values, 0.5);
}

std::set<std::string> keys_of(std::vector<Launch> const& launches) {
  std::set<std::string> keys;
  for (Launch const& launch : launches) {
    for (auto const& [key, row] : launch.rows) keys.insert(key);
  }
  return keys;
}

LaunchRow const& some_row(std::vector<Launch> const& launches, std::string const& key) {
  for (Launch const& launch : launches) {
    if (auto const found = launch.rows.find(key); found != launch.rows.end()) return found->second;
  }
  throw std::logic_error("a row that no launch has");
}

std::vector<std::string> threads_of(std::vector<Launch> const& launches) {
  std::set<std::string> texts;
  for (Launch const& launch : launches) {
    if (!launch.threads.empty()) texts.insert(launch.threads);
  }
  return {texts.begin(), texts.end()};
}

std::vector<std::string> warnings_of(std::vector<Launch> const& old_launches, std::vector<Launch> const& new_launches) {
  std::vector<std::string> warnings;
  std::map<std::string, std::set<std::string>> devices;
  std::set<std::string> debug;
  for (auto const* side : {&old_launches, &new_launches}) {
    for (Launch const& launch : *side) {
      for (auto const& [space, device] : launch.devices) devices[space].insert(device);
      if (launch.build_type != "Release") debug.insert(launch.build_type.empty() ? "no type" : launch.build_type);
    }
  }
  for (auto const& [space, names] : devices) {
    if (names.size() > 1) warnings.push_back("launches on different devices of " + space + ": compare `of roof`");
  }
  auto const old_threads = threads_of(old_launches);
  auto const new_threads = threads_of(new_launches);
  if (!old_threads.empty() && !new_threads.empty() && old_threads != new_threads) {
    warnings.emplace_back("old and new launches differ in their threads, or in the processors of these");
  }
  for (std::string const& type : debug) warnings.push_back("launches of a build that is not Release: " + type);
  return warnings;
}

}  // namespace

std::size_t Comparison::count(Verdict verdict) const {
  return static_cast<std::size_t>(std::ranges::count(rows, verdict, &ComparedRow::verdict));
}

std::string Comparison::last_line() const {
  std::string text = "TESSERA compare rows=" + std::to_string(rows.size());
  for (Verdict const verdict : verdicts) {
    text += concat(" ", name_of(verdict), "=", count(verdict));
  }
  return text;
}

Comparison compare(std::vector<Launch> const& old_launches, std::vector<Launch> const& new_launches,
                   CompareOptions const& options) {
  Comparison comparison;
  comparison.options = options;
  comparison.old_launches = old_launches.size();
  comparison.new_launches = new_launches.size();
  comparison.old_threads = threads_of(old_launches);
  comparison.new_threads = threads_of(new_launches);
  struct Pair {
    std::string key;
    Side before;
    Side after;
  };
  std::vector<Pair> pairs;
  std::set<std::string> const old_keys = keys_of(old_launches);
  for (std::string const& key : old_keys) {
    Pair pair{key, side_of(old_launches, key, options.least), side_of(new_launches, key, options.least)};
    if (pair.before.verified > 0) {
      pairs.push_back(std::move(pair));
    } else if (keys_of(new_launches).contains(key)) {
      if (pair.after.verified + pair.after.failed > 0) ++comparison.only_new;
    } else {
      ++comparison.only_old;
    }
  }
  for (std::string const& key : keys_of(new_launches)) {
    if (!old_keys.contains(key)) ++comparison.only_new;
  }
  std::size_t few = 0;  // rows with fewer than five launches per side
  for (Pair const& pair : pairs) {
    // A row without new launches does not count.
    std::size_t const old_count = pair.before.launches;
    std::size_t const new_count = pair.after.launches > 0 ? pair.after.launches : old_count;
    std::size_t& fewest = comparison.fewest_of_a_row;
    fewest = fewest == 0 ? std::min(old_count, new_count) : std::min({fewest, old_count, new_count});
    comparison.most_of_a_row = std::max({comparison.most_of_a_row, old_count, new_count});
    if (std::min(old_count, new_count) < 5) ++few;
  }
  if (few > 0) {
    std::string const of_rows = few < pairs.size() ? std::to_string(few) + " of the rows have " : "";
    comparison.warnings.push_back(concat(of_rows, "only ", comparison.fewest_of_a_row,
                                         comparison.fewest_of_a_row == 1 ? " launch" : " launches",
                                         " per side: take five or more, old and new in turns"));
  }
  std::ranges::copy(warnings_of(old_launches, new_launches), std::back_inserter(comparison.warnings));
  double const error = options.error / static_cast<double>(std::max<std::size_t>(1, pairs.size()));
  for (auto const& [key, before, after] : pairs) {
    ComparedRow row;
    row.row = some_row(old_launches, key);
    row.old_launches = before.verified;
    row.new_launches = after.verified;
    row.old_seconds = median(before.seconds);
    row.new_seconds = median(after.seconds);
    row.time = row.of_roof = {unknown, 0, infinity};
    if (after.verified > 0) row.time = ratio_of_medians(before.seconds, after.seconds, error);
    if (!before.of_roof.empty() && !after.of_roof.empty()) {
      row.of_roof = ratio_of_medians(before.of_roof, after.of_roof, error);
    }
    bool const lost = after.launches == 0 || after.verified < after.launches;
    row.verdict = lost ? Verdict::unverified : judge(row.time, options.threshold);
    comparison.rows.push_back(row);
  }
  auto const change = [](ComparedRow const& row) {
    return std::isfinite(row.time.value) ? std::abs(std::log(row.time.value)) : infinity;
  };
  std::ranges::stable_sort(comparison.rows, [&](ComparedRow const& a, ComparedRow const& b) {
    return a.verdict != b.verdict ? a.verdict < b.verdict : change(a) > change(b);
  });
  return comparison;
}

SelfTest self_test(std::vector<Launch> const& launches, CompareOptions const& options) {
  SelfTest result;
  std::size_t const pairs = launches.size() / 2;
  for (std::size_t orders = 0; orders < std::size_t{1} << pairs; ++orders) {
    std::vector<Launch> before, after;
    for (std::size_t pair = 0; pair < pairs; ++pair) {
      bool const swapped = (orders >> pair & 1) != 0;
      before.push_back(launches[2 * pair + (swapped ? 1 : 0)]);
      after.push_back(launches[2 * pair + (swapped ? 0 : 1)]);
    }
    Comparison const comparison = compare(before, after, options);
    ++result.comparisons;
    result.verdicts += comparison.rows.size();
    result.same += comparison.count(Verdict::same);
    result.wrong +=
        comparison.count(Verdict::slower) + comparison.count(Verdict::faster) + comparison.count(Verdict::unverified);
  }
  return result;
}

// ---------------------------------------------------------------------------------------------------------------------
// Texts
// ---------------------------------------------------------------------------------------------------------------------

namespace {

constexpr std::size_t most_texts = 4;

// Returns "old: openmp 2 threads, processors 0-1\n", one line per text.
std::string lines_of(std::string const& side, std::vector<std::string> const& texts) {
  std::string lines;
  for (std::size_t i = 0; i < std::min(texts.size(), most_texts); ++i) lines += side + one_line(texts[i]) + "\n";
  if (texts.size() > most_texts) lines += concat(side, texts.size() - most_texts, " more\n");
  return lines;
}

std::string three_decimals(double value) {
  if (!std::isfinite(value)) return std::isnan(value) ? "-" : "inf";
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, std::abs(value) < 1e4 ? "%.3f" : "%.1e", value);
  return buffer;
}

// Returns " of 2 to 5 launches per side", if it differs from the number of reports.
std::string launches_of_rows(Comparison const& comparison) {
  std::size_t const fewest = comparison.fewest_of_a_row;
  std::size_t const most = comparison.most_of_a_row;
  if (fewest == comparison.old_launches && fewest == comparison.new_launches) return "";
  return concat(" of ", fewest, fewest == most ? "" : " to " + std::to_string(most),
                most == 1 ? " launch" : " launches", " per side");
}

Json ratio_json(Ratio const& ratio) { return Json{{"value", ratio.value}, {"low", ratio.low}, {"high", ratio.high}}; }

}  // namespace

std::string comparison_text(Comparison const& comparison, bool all) {
  std::vector<std::vector<std::string>> lines{
      {"app", "variant", "space", "case", "old", "new", "ratio", "interval", "of roof", "verdict"}};
  for (ComparedRow const& row : comparison.rows) {
    bool const plain = row.verdict == Verdict::same || row.verdict == Verdict::unclear;
    if (plain && !all) continue;
    std::string const interval = three_decimals(row.time.low) + ".." + three_decimals(row.time.high);
    lines.push_back({row.row.app, row.row.variant, row.row.space, row.row.what, format_seconds(row.old_seconds),
                     format_seconds(row.new_seconds), three_decimals(row.time.value), interval,
                     three_decimals(row.of_roof.value), std::string(name_of(row.verdict))});
  }
  std::string text =
      concat(comparison.old_launches, " old launches, ", comparison.new_launches, " new, ", comparison.rows.size(),
             " rows", launches_of_rows(comparison), "; threshold ", format_number(100 * comparison.options.threshold),
             "%, error of all verdicts together ", format_number(100 * comparison.options.error), "%\n");
  if (comparison.old_threads == comparison.new_threads) {
    text += lines_of("launches: ", comparison.old_threads);
  } else {
    text += lines_of("old: ", comparison.old_threads) + lines_of("new: ", comparison.new_threads);
  }
  for (std::string const& warning : comparison.warnings) text += "warning: " + warning + "\n";
  if (lines.size() > 1) {
    std::vector<std::size_t> widths(lines.front().size(), 0);
    for (auto const& line : lines) {
      for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
    }
    for (auto const& line : lines) {
      std::string written;
      for (std::size_t i = 0; i < line.size(); ++i) {
        std::string const blanks(widths[i] - line[i].size(), ' ');
        bool const is_number = i >= 4 && i + 1 < line.size();
        written += "  " + (is_number ? blanks + line[i] : line[i] + blanks);
      }
      written.erase(written.find_last_not_of(' ') + 1);
      text += written + "\n";
    }
  }
  if (comparison.only_old > 0) text += std::to_string(comparison.only_old) + " rows only in the old reports\n";
  if (comparison.only_new > 0) text += std::to_string(comparison.only_new) + " rows verified only in the new reports\n";
  return text + comparison.last_line() + "\n";
}

std::string comparison_json(Comparison const& comparison) {
  Json json;
  json["schema"] = "tessera-comparison/1";
  json["threshold"] = comparison.options.threshold;
  json["error"] = comparison.options.error;
  json["statistic"] = comparison.options.least ? "least" : "median";
  json["old_launches"] = comparison.old_launches;
  json["new_launches"] = comparison.new_launches;
  json["old_threads"] = comparison.old_threads;
  json["new_threads"] = comparison.new_threads;
  json["warnings"] = comparison.warnings;
  json["verdicts"] = Json::object();
  for (Verdict const verdict : verdicts) {
    json["verdicts"][std::string(name_of(verdict))] = comparison.count(verdict);
  }
  json["only_old"] = comparison.only_old;
  json["only_new"] = comparison.only_new;
  json["rows"] = Json::array();
  for (ComparedRow const& row : comparison.rows) {
    json["rows"].push_back(Json{{"app", row.row.app},
                                {"variant", row.row.variant},
                                {"space", row.row.space},
                                {"case", row.row.what},
                                {"verdict", name_of(row.verdict)},
                                {"old_launches", row.old_launches},
                                {"new_launches", row.new_launches},
                                {"old_seconds", row.old_seconds},
                                {"new_seconds", row.new_seconds},
                                {"ratio", ratio_json(row.time)},
                                {"ratio_of_roof", ratio_json(row.of_roof)}});
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tessera::comparison
