#pragma once
/// \file
/// The parts of a row that may overlap, each timed by itself. The prediction is longest part <= time <= sum of all.

#include <algorithm>
#include <chrono>
#include <limits>
#include <string>
#include <utility>

#include <tessera/core/info.hpp>
#include <tessera/core/spaces.hpp>

namespace tessera::concurrent {

/// Returns the seconds of one call of `enqueue`: the best of five batches. A batch has as many calls as take 200 us, so
/// that its fence does not count. Waits.
template <ExecutionSpace Exec, class Enqueue>
[[nodiscard]] double seconds_alone(Exec const& exec, Enqueue const& enqueue) {
  using Clock = std::chrono::steady_clock;
  auto const seconds_of = [&](int calls) {
    auto const begin = Clock::now();
    for (int i = 0; i < calls; ++i) enqueue();
    exec.fence("tessera::concurrent: a part by itself");
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  (void)seconds_of(1);  // the first launch loads the kernel
  int calls = 1;
  while (calls < 1024 && seconds_of(calls) < 200e-6) calls *= 2;
  double best = std::numeric_limits<double>::infinity();
  for (int batch = 0; batch < 5; ++batch) best = std::min(best, seconds_of(calls) / calls);
  return best;
}

/// Adds a part to a prediction.
inline void add_part(Prediction& prediction, double seconds) {
  prediction.longest_seconds = std::max(prediction.longest_seconds, seconds);
  prediction.sum_seconds += seconds;
}

}  // namespace tessera::concurrent
