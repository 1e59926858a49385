#include <tessera/measure/sampling.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <stdexcept>

namespace tessera {

namespace {

constexpr double short_launch = 20e-6;
constexpr double sample_length = 200e-6;
// A launch of nothing (n = 0) takes some ten nanoseconds: no more than this many of them.
constexpr double largest_batch = 10000;
constexpr std::size_t trial_batch = 8;

// Seconds of one launch in a batch, the fence included.
double time_batch(RowRun& run, std::size_t batch, Clock const& now) {
  run.fence();
  double const start = now();
  for (std::size_t i = 0; i < batch; ++i) run.enqueue();
  run.fence();
  return (now() - start) / static_cast<double>(batch);
}

std::size_t calibrate(RowRun& run, Samples& samples, Clock const& now) {
  // One launch and its fence. If both together are long, so is the launch: a fence is short.
  double const one = time_batch(run, 1, now);
  samples.warmups += 1;
  if (one >= 5 * short_launch) return 1;
  double seconds = one;
  for (int trial = 0; trial < 3; ++trial) {
    seconds = std::min(seconds, time_batch(run, trial_batch, now));
    samples.warmups += trial_batch;
  }
  if (seconds >= short_launch) return 1;
  return static_cast<std::size_t>(std::ceil(std::min(largest_batch, sample_length / std::max(seconds, 1e-9))));
}

}  // namespace

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Samples sample(RowRun& run, SamplingOptions const& options, std::function<bool()> const& interrupted,
               Clock const& now) {
  Samples result;
  for (; result.warmups < options.warmup; ++result.warmups) run.enqueue();
  if (!options.cold) result.batch = calibrate(run, result, now);

  double total = 0;
  while (result.seconds.size() < options.samples || total < options.min_time) {
    if (options.cold) run.evict_cache();
    double const seconds = time_batch(run, result.batch, now);
    result.seconds.push_back(seconds);
    total += seconds * static_cast<double>(result.batch);
    if (interrupted && interrupted()) {
      result.interrupted = true;
      break;
    }
  }
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
  return {quantile(values, 0), quantile(values, 0.25), quantile(values, 0.5), quantile(values, 0.75),
          quantile(values, 1)};
}

}  // namespace tessera
