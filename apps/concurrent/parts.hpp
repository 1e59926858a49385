#pragma once
/// \file
/// The parts of a row that may overlap, each timed by itself. The prediction is longest part <= time <= sum of all.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>

#include <tessera/core/info.hpp>
#include <tessera/core/spaces.hpp>

namespace tessera::concurrent {

/// Seconds for timing all parts of a row, if single calls do not take longer.
inline constexpr double seconds_for_parts = 0.1;

/// Returns the seconds of one call of `enqueue`: the best of five batches, of fewer if they take longer than this
/// part's share, seconds_for_parts / `parts`. A batch has as many calls as take 200 us, so that its fence does not
/// count. Waits.
template <ExecutionSpace Exec, class Enqueue>
[[nodiscard]] double seconds_alone(Exec const& exec, std::int64_t parts, Enqueue const& enqueue) {
  using Clock = std::chrono::steady_clock;
  auto const seconds_of = [&](int calls) {
    auto const begin = Clock::now();
    for (int i = 0; i < calls; ++i) enqueue();
    exec.fence("tessera::concurrent: a part by itself");
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  (void)seconds_of(1);  // the first launch loads the kernel
  double best = std::numeric_limits<double>::infinity();
  double total = 0;
  int calls = 1;
  double const share = seconds_for_parts / static_cast<double>(parts);
  for (int batches = 0; batches == 0 || (batches < 5 && total < share);) {
    double const seconds = seconds_of(calls);
    total += seconds;
    if (seconds < 200e-6 && calls < 1024) {
      calls *= 2;
    } else {
      best = std::min(best, seconds / calls);
      ++batches;
    }
  }
  return best;
}

/// Adds a part to a prediction.
inline void add_part(Prediction& prediction, double seconds) {
  prediction.longest_seconds = std::max(prediction.longest_seconds, seconds);
  prediction.sum_seconds += seconds;
}

}  // namespace tessera::concurrent
