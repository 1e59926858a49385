#pragma once
/// \file
/// How a row is timed: the definition of a sample, the number of samples, and their statistics.

#include <chrono>
#include <cstddef>
#include <functional>
#include <vector>

#include <tessera/ranks/ranks.hpp>
#include <tessera/table/app.hpp>

namespace tessera {

class EnergyMeter;  // measure/energy.hpp

/// The values of --warmup, --samples, --min-time, --max-time and --cold.
struct SamplingOptions {
  std::size_t warmup = 3;    ///< launches before the first sample, not counted
  std::size_t samples = 10;  ///< at least this many samples
  double min_time = 0.02;    ///< continue until the samples add up to this many seconds
  double max_time = 1;       ///< stop after this many seconds if fewest_timed_samples exist; min_time has priority
  bool cold = false;         ///< evict the caches before each sample
  /// The meter of the row's space, with --energy: launches after the samples are then measured by it.
  EnergyMeter* energy = nullptr;
};

/// The least number of samples if more were requested, however long a launch takes. A noisy pair gets a third one.
inline constexpr std::size_t fewest_timed_samples = 2;

/// A row is noisy if the third quartile of its samples exceeds the first quartile by this factor. Its median is then
/// not reliable.
inline constexpr double noisy_ratio = 1.5;

/// The number of samples of a noisy row is increased by at most this factor. More samples would not remove the noise.
inline constexpr std::size_t most_samples_of_noise = 10;

/// The result of sampling.
struct Samples {
  std::vector<double> seconds;  ///< per sample, the seconds of one launch
  std::size_t batch = 1;        ///< launches per sample
  std::size_t warmups = 0;      ///< launches that were not counted: warm-up and calibration
  bool interrupted = false;     ///< stopped early, after a complete sample
  bool few = false;             ///< max_time ended them before the requested number
  /// This rank's means over the samples: seconds per launch, and the communication in them.
  double own_seconds = 0;
  ranks::Traffic of_launch = {};
};

/// Returns seconds since a fixed moment.
using Clock = std::function<double()>;

/// std::chrono::steady_clock.
[[nodiscard]] inline double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Times a run.
///
/// A sample is: fence, read the clock, enqueue `batch` times, fence, read the clock.
///
/// `batch` is 1 unless a launch takes less than 20 us. For shorter launches the clock's resolution and the fence (up to
/// 10 us on a GPU) would distort the result. A sample then contains enough launches to last about 200 us, so that the
/// fence is less than 5%. With `cold` the caches are evicted before each sample and `batch` is 1, because a second
/// launch would not be cold.
///
/// A launch of 0.01 s or more is not warmed up, because earlier launches were checked. Every row stops at `max_time`:
/// more samples would not change its figures. A noisy row is sampled further. It stops when it is no longer noisy, has
/// most_samples_of_noise times as many samples, or has taken `max_time` on the clock. `known` is the time in seconds of
/// an earlier launch, or 0: from 0.1 s it counts as the first sample.
///
/// Must be called by all ranks. A sample begins at a barrier and lasts as long as on the slowest rank, so that all
/// ranks make the same decisions.
///
/// `interrupted` is called after each sample, and must return the same on all ranks. It may be empty.
[[nodiscard]] Samples sample(RowRun& run, SamplingOptions const& options, std::function<bool()> const& interrupted = {},
                             Clock const& now = steady_seconds, ranks::Ranks const& ranks = {}, double known = 0);

/// Order statistics of samples, in the samples' unit.
struct Statistics {
  double min = 0;
  double first_quartile = 0;
  double median = 0;
  double third_quartile = 0;
  double max = 0;
};

/// The q-quantile of `sorted` (ascending, not empty), q in [0, 1], linear between neighbours: at position q*(n-1), as
/// NumPy's default and R's type 7.
[[nodiscard]] double quantile(std::vector<double> const& sorted, double q);

/// Statistics of at least one value. Two values are their own quartiles.
[[nodiscard]] Statistics statistics(std::vector<double> values);

/// True if the samples' quartiles are further apart than noisy_ratio; false of no samples.
[[nodiscard]] bool is_noisy(std::vector<double> const& samples);

}  // namespace tessera
