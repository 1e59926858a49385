#pragma once
/// \file
/// Repeats what measures the machine until its best time is sure. No Kokkos.

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <vector>

namespace tessera {

/// One run that was timed.
struct Timing {
  double seconds = 0;
  double at_work = 1;  ///< share of that time in which the threads had a processor; 1 where it is not known
  double now = 0;      ///< seconds since the measurements began
};

/// What repetition brought.
struct Timings {
  double best = std::numeric_limits<double>::infinity();
  double median = std::numeric_limits<double>::infinity();
  double at_work = 1;       ///< of the best run
  bool reproduced = false;  ///< whether other runs came near the best one
};

/// A best time is reproduced when so many runs, itself included, lie within so much of it.
inline constexpr std::size_t alike_runs = 3;
inline constexpr double alike = 1.05;

/// Repeats `once` at least `fewest` times and until the best time is reproduced, but not beyond the moment `until` (of
/// Timing::now): then once at least.
[[nodiscard]] inline Timings repeat(std::function<Timing()> const& once, std::size_t fewest, double until) {
  std::vector<double> seconds;
  Timings result;
  Timing last;
  do {
    last = once();
    if (last.seconds < result.best) {
      result.best = last.seconds;
      result.at_work = last.at_work;
    }
    seconds.push_back(last.seconds);
    auto const near = std::ranges::count_if(seconds, [&](double of_run) { return of_run <= alike * result.best; });
    result.reproduced = static_cast<std::size_t>(near) >= alike_runs;
  } while ((seconds.size() < fewest || !result.reproduced) && last.now < until);
  auto const middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
  std::ranges::nth_element(seconds, middle);
  result.median = *middle;
  return result;
}

}  // namespace tessera
