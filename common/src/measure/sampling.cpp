#include <tessera/measure/sampling.hpp>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace tessera {

namespace {

constexpr double short_launch = 20e-6;
// A launch of at least this length needs no further warm-up: the first one is a sample.
constexpr double long_launch = 0.01;
// A first launch of at least this length is a sample: loading its kernels is a small part of it.
constexpr double slow_launch = 0.1;
constexpr double sample_length = 200e-6;
// An empty launch (n = 0) takes about ten nanoseconds: this limits their number.
constexpr double largest_batch = 10000;
constexpr std::size_t trial_batch = 8;

// Times batches of launches, including the fence.
class Timer {
 public:
  Timer(RowRun& run, Clock const& now, ranks::Ranks const& ranks) : run_(run), now_(now), ranks_(ranks) {}

  // Returns the seconds of one launch on the slowest rank.
  double batch(std::size_t launches) {
    run_.fence();
    ranks_.barrier();
    ranks::Traffic const before = ranks_.traffic();
    double const start = now_();
    for (std::size_t i = 0; i < launches; ++i) run_.enqueue();
    run_.fence();
    own_seconds_ = (now_() - start) / static_cast<double>(launches);
    ranks::Traffic const& after = ranks_.traffic();
    of_launch_ = {(after.seconds - before.seconds) / static_cast<double>(launches),
                  (after.bytes - before.bytes) / launches, (after.messages - before.messages) / launches};
    return ranks_.max(own_seconds_);
  }

  // Results of the last batch on this rank.
  [[nodiscard]] double own_seconds() const { return own_seconds_; }
  [[nodiscard]] ranks::Traffic const& of_launch() const { return of_launch_; }

 private:
  RowRun& run_;
  Clock const& now_;
  ranks::Ranks const& ranks_;
  double own_seconds_ = 0;
  ranks::Traffic of_launch_ = {};
};

// Returns the number of launches per sample. `one` is the time of a launch and its fence in seconds.
std::size_t calibrate(Timer& timer, double one, Samples& samples) {
  // If both together are long, so is the launch, because a fence is short.
  if (one >= 5 * short_launch) return 1;
  double seconds = one;
  for (int trial = 0; trial < 3; ++trial) {
    seconds = std::min(seconds, timer.batch(trial_batch));
    samples.warmups += trial_batch;
  }
  if (seconds >= short_launch) return 1;
  return static_cast<std::size_t>(std::ceil(std::min(largest_batch, sample_length / std::max(seconds, 1e-9))));
}

}  // namespace

Samples sample(RowRun& run, SamplingOptions const& options, std::function<bool()> const& interrupted, Clock const& now,
               ranks::Ranks const& ranks, double known) {
  Samples result;
  Timer timer(run, now, ranks);
  double total = 0;
  double own = 0;
  double communication = 0;
  auto const keep = [&](double seconds) {
    result.seconds.push_back(seconds);
    total += seconds * static_cast<double>(result.batch);
    own += timer.own_seconds();
    communication += timer.of_launch().seconds;
  };
  // At least one launch remains, because the caller checks the results of a launch made here.
  if (known >= slow_launch && options.samples > 1 && !options.cold && ranks.count() == 1) {
    result.seconds.push_back(known);
    total = own = known;
  } else if (options.cold) {
    for (; result.warmups < options.warmup; ++result.warmups) run.enqueue();
  } else if (double const one = timer.batch(1); one >= long_launch) {
    keep(one);
  } else {
    for (result.warmups = 1; result.warmups < 1 + options.warmup; ++result.warmups) run.enqueue();
    result.batch = calibrate(timer, one, result);
  }
  if (!result.seconds.empty()) result.interrupted = interrupted && interrupted();

  auto const enough = [&] {
    bool const as_asked = result.seconds.size() >= options.samples;
    bool const too_long = result.seconds.size() >= fewest_timed_samples && total >= options.max_time;
    return (as_asked || too_long) && total >= options.min_time;
  };
  auto const take = [&] {
    if (options.cold) run.evict_cache();
    keep(timer.batch(result.batch));
    result.interrupted = interrupted && interrupted();
  };
  while (!enough() && !result.interrupted) take();
  result.few = !result.interrupted && result.seconds.size() < options.samples;

  // Limited by the clock, which includes the eviction of caches. The number of samples is the same on all ranks.
  std::size_t const most = most_samples_of_noise * result.seconds.size();
  std::size_t judged_at = result.seconds.size();
  double const measured = total;
  double const begin = is_noisy(result.seconds) ? now() : 0;
  while (!result.interrupted && result.seconds.size() < most) {
    if (result.seconds.size() >= judged_at) {
      if (!is_noisy(result.seconds)) break;
      judged_at = result.seconds.size() + 1 + result.seconds.size() / 10;  // is_noisy() sorts all samples
    }
    bool const is_over = ranks.max(measured + now() - begin) >= options.max_time;
    if (is_over && result.seconds.size() > fewest_timed_samples) break;
    take();
  }
  auto const count = static_cast<double>(std::max<std::size_t>(1, result.seconds.size()));
  result.own_seconds = own / count;
  result.of_launch = timer.of_launch();
  result.of_launch.seconds = communication / count;
  return result;
}

double quantile(std::vector<double> const& sorted, double q) {
  if (sorted.empty()) throw std::invalid_argument("quantile of nothing (no samples); take at least one sample");
  double const position = q * static_cast<double>(sorted.size() - 1);
  auto const below = static_cast<std::size_t>(position);
  std::size_t const above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], position - static_cast<double>(below));
}

Statistics statistics(std::vector<double> values) {
  std::ranges::sort(values);
  if (values.size() == 2) return {values[0], values[0], quantile(values, 0.5), values[1], values[1]};
  return {quantile(values, 0), quantile(values, 0.25), quantile(values, 0.5), quantile(values, 0.75),
          quantile(values, 1)};
}

bool is_noisy(std::vector<double> const& samples) {
  if (samples.empty()) return false;
  Statistics const of = statistics(samples);
  return of.third_quartile > noisy_ratio * of.first_quartile;
}

}  // namespace tessera
