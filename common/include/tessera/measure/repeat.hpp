#pragma once
/// \file
/// Repeats a measurement of the machine until its best time is reproduced. No Kokkos.

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <vector>

namespace tessera {

/// One timed run.
struct Timing {
  double seconds = 0;
  double at_work = 1;  ///< share of that time in which the threads had a processor; 1 if unknown
  double now = 0;      ///< seconds since the measurements began
};

/// The result of the repetitions.
struct Timings {
  double best = std::numeric_limits<double>::infinity();
  double median = std::numeric_limits<double>::infinity();
  double at_work = 1;       ///< of the best run
  bool reproduced = false;  ///< whether other runs were close to the best one
};

/// A best time is reproduced if at least alike_runs runs, itself included, are within the factor `alike` of it.
inline constexpr std::size_t alike_runs = 3;
inline constexpr double alike = 1.05;

/// Repeats `once` at least `fewest` times and until the best time is reproduced, but not later than `until` (in the
/// time of Timing::now). Calls `once` at least once.
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
