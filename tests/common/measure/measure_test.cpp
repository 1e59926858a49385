// Sampling with a fake clock that only launches advance, and order statistics on known numbers.

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <tessera/measure/load.hpp>
#include <tessera/measure/repeat.hpp>
#include <tessera/measure/roofs.hpp>
#include <tessera/measure/sampling.hpp>

namespace tessera {
namespace {

// Records all calls. Each launch takes `launch_seconds` on the fake clock, each fence `fence_seconds`.
class Recorder final : public RowRun {
 public:
  explicit Recorder(double launch_seconds, double fence_seconds = 0)
      : launch_seconds_(launch_seconds), fence_seconds_(fence_seconds) {}

  void poison() override { log += 'p'; }
  void enqueue() override {
    log += 'e';
    // The time passes at the fence: without a fence the work is not measured.
    pending_ += in_turns.empty() ? launch_seconds_ : in_turns[launches % in_turns.size()];
    ++launches;
  }
  void fence() override {
    log += 'f';
    time += pending_ + fence_seconds_;
    pending_ = 0;
  }
  void evict_cache() override {
    log += 'c';
    time += 1;
  }
  [[nodiscard]] std::vector<HostField> fetch() override { return {}; }
  [[nodiscard]] double rounding_steps() const override { return 0; }
  [[nodiscard]] std::string note() const override { return {}; }

  [[nodiscard]] Clock clock() {
    return [this] {
      log += 't';
      return time;
    };
  }

  std::string log;
  double time = 0;
  std::size_t launches = 0;
  std::vector<double> in_turns;  // seconds of the launches, repeated in turn; empty: all launches take the same time

 private:
  double launch_seconds_;
  double fence_seconds_;
  double pending_ = 0;
};

SamplingOptions options(std::size_t warmup, std::size_t samples, double min_time, bool cold = false) {
  return {.warmup = warmup, .samples = samples, .min_time = min_time, .cold = cold};
}

TEST(sampling, launches_of_a_batch_of_one_are_sampled_one_by_one) {
  Recorder run(0.0078125);
  Samples const samples = sample(run, options(2, 4, 0), {}, run.clock());
  EXPECT_EQ(samples.seconds, std::vector<double>(4, 0.0078125));
  EXPECT_EQ(samples.batch, 1u);
  EXPECT_EQ(samples.warmups, 3u);  // one of them measures the length of a launch
  EXPECT_FALSE(samples.interrupted);
  EXPECT_EQ(run.launches, 7u);
  // One launch that measures the length, the warm-up, the samples: a fence before each start and each stop of the
  // clock.
  EXPECT_EQ(run.log,
            "fteft"
            "ee"
            "fteft"
            "fteft"
            "fteft"
            "fteft");
}

TEST(sampling, at_least_min_time) {
  Recorder run(0.0625);
  EXPECT_EQ(sample(run, options(0, 3, 0.5), {}, run.clock()).seconds.size(), 8u);
  EXPECT_EQ(sample(run, options(0, 10, 0.5), {}, run.clock()).seconds.size(), 10u);
}

TEST(sampling, slow_launches_are_few) {
  Recorder run(0.3);
  Samples const samples = sample(run, options(3, 10, 0.02), {}, run.clock());
  EXPECT_EQ(samples.seconds.size(), 4u);  // 0.9 s is less than the default of 1 s
  EXPECT_TRUE(samples.few);
  EXPECT_EQ(samples.warmups, 0u);
  EXPECT_EQ(run.launches, 4u);
  Recorder longer(60);
  EXPECT_EQ(sample(longer, options(3, 10, 0.02), {}, longer.clock()).seconds.size(), fewest_timed_samples);
  EXPECT_EQ(longer.launches, fewest_timed_samples);
  // If fewer samples or a time are requested, the request is honoured.
  EXPECT_EQ(sample(longer, options(0, 1, 0), {}, longer.clock()).seconds.size(), 1u);
  EXPECT_FALSE(sample(longer, options(0, 1, 0), {}, longer.clock()).few);
  EXPECT_EQ(sample(longer, options(0, 10, 300), {}, longer.clock()).seconds.size(), 5u);
}

TEST(sampling, launches_below_a_tenth_of_a_second_have_all_samples) {
  Recorder run(0.099);
  Samples const samples = sample(run, options(3, 10, 0.02), {}, run.clock(), {}, 0.099);
  EXPECT_EQ(samples.seconds.size(), 10u);
  EXPECT_FALSE(samples.few);
  EXPECT_EQ(samples.warmups, 0u);
  EXPECT_EQ(run.launches, 10u);
}

TEST(sampling, launches_below_a_hundredth_of_a_second_have_the_warm_up) {
  Recorder run(0.0099);
  EXPECT_EQ(sample(run, options(3, 10, 0.02), {}, run.clock(), {}, 0.0099).warmups, 4u);
  EXPECT_EQ(run.launches, 14u);
}

TEST(sampling, a_long_launch_that_was_timed_before_is_a_sample) {
  Recorder run(60);
  EXPECT_EQ(sample(run, options(3, 10, 0), {}, run.clock(), {}, 61).seconds, (std::vector<double>{61, 60}));
  EXPECT_EQ(run.launches, 1u);
  // It must not be the only sample, because the result of one of these launches is checked. A short launch is no
  // sample, because loading its kernels may be a large part of it.
  EXPECT_EQ(sample(run, options(3, 1, 0), {}, run.clock(), {}, 61).seconds, (std::vector<double>{60}));
  Recorder quick(0.09);
  EXPECT_EQ(sample(quick, options(1, 3, 0), {}, quick.clock(), {}, 0.09).seconds.size(), 3u);
  EXPECT_EQ(quick.launches, 3u);
}

TEST(sampling, cold_evicts_before_each_sample_outside_of_the_clock) {
  Recorder run(1e-6);
  Samples const samples = sample(run, options(1, 3, 0, true), {}, run.clock());
  EXPECT_EQ(samples.batch, 1u);
  EXPECT_EQ(samples.warmups, 1u);
  EXPECT_EQ(run.log,
            "e"
            "cfteft"
            "cfteft"
            "cfteft");
  for (double const seconds : samples.seconds) EXPECT_NEAR(seconds, 1e-6, 1e-12);
}

TEST(sampling, short_launches_go_in_batches_of_200_us) {
  Recorder run(2e-6);
  Samples const samples = sample(run, options(1, 10, 0), {}, run.clock());
  EXPECT_GE(samples.batch, 100u);
  EXPECT_LE(samples.batch, 101u);
  EXPECT_EQ(samples.seconds.size(), 10u);
  for (double const seconds : samples.seconds) EXPECT_NEAR(seconds, 2e-6, 1e-12);  // per launch, not per batch
  EXPECT_EQ(run.launches, samples.warmups + 10 * samples.batch);
}

TEST(sampling, an_expensive_fence_does_not_hide_a_short_launch) {
  // A launch with its fence takes 33 us, the launch without it 3 us.
  Recorder run(3e-6, 30e-6);
  Samples const samples = sample(run, options(0, 10, 0), {}, run.clock());
  EXPECT_GT(samples.batch, 10u);
}

TEST(sampling, the_threshold_is_20_us) {
  Recorder above(21e-6);
  EXPECT_EQ(sample(above, options(0, 10, 0), {}, above.clock()).batch, 1u);
  Recorder below(19e-6);
  EXPECT_EQ(sample(below, options(0, 10, 0), {}, below.clock()).batch, 11u);
}

TEST(sampling, nothing_to_launch_ends) {
  Recorder run(0);
  Samples const samples = sample(run, options(0, 10, 0), {}, run.clock());
  EXPECT_EQ(samples.batch, 10000u);
  EXPECT_EQ(samples.seconds, std::vector<double>(10, 0.0));
}

TEST(sampling, an_interruption_ends_after_the_sample) {
  Recorder run(0.0625);
  int asked = 0;
  Samples const samples = sample(run, options(0, 10, 0), [&] { return ++asked == 3; }, run.clock());
  EXPECT_TRUE(samples.interrupted);
  EXPECT_EQ(samples.seconds.size(), 3u);
  // Also after a sample that needed no launch of its own.
  EXPECT_TRUE(sample(run, options(0, 10, 0), [] { return true; }, run.clock(), {}, 60).interrupted);
  EXPECT_EQ(run.launches, 3u);
}

TEST(sampling, the_real_clock_moves_forward) {
  double const before = steady_seconds();
  Recorder run(0);
  (void)sample(run, options(0, 10, 1e-3));
  EXPECT_GE(steady_seconds() - before, 1e-3);
}

TEST(noise, quartiles_further_apart_than_half_as_much_again) {
  // Three noisy samples from real rows.
  EXPECT_TRUE(is_noisy({97e-3, 19e-3, 38e-3}));
  EXPECT_TRUE(is_noisy({555e-3, 37e-3, 27e-3}));
  EXPECT_FALSE(is_noisy({38e-3, 37e-3, 40e-3, 41e-3, 555e-3}));  // a single outlier does not make the samples noisy
  // A ratio of exactly 1.5 between the quartiles is not noisy.
  EXPECT_FALSE(is_noisy({2, 2, 3, 3}));
  EXPECT_TRUE(is_noisy({2, 2, 3.001, 3.001}));
  EXPECT_FALSE(is_noisy({}));
  EXPECT_FALSE(is_noisy({5}));
  EXPECT_FALSE(is_noisy({0, 0, 0}));
  EXPECT_TRUE(is_noisy({0, 0, 1, 1}));
  // The quartiles of a pair are its two samples.
  EXPECT_FALSE(is_noisy({3, 2}));
  EXPECT_TRUE(is_noisy({3.001, 2}));
}

TEST(noise, that_stays_takes_ten_times_the_samples) {
  Recorder run(0);
  run.in_turns = {1e-3, 1e-3, 5e-3, 5e-3};
  Samples const samples = sample(run, options(0, 10, 0), {}, run.clock());
  EXPECT_EQ(samples.seconds.size(), 100u);
  EXPECT_TRUE(is_noisy(samples.seconds));
}

TEST(noise, that_stays_takes_no_longer_than_max_time) {
  Recorder run(0);
  run.in_turns = {1e-3, 1e-3, 5e-3, 5e-3};
  SamplingOptions asked = options(0, 10, 0);
  asked.max_time = 0.045;
  // Ten samples take 30 ms or slightly less, each further sample 3 ms on average.
  std::size_t const taken = sample(run, asked, {}, run.clock()).seconds.size();
  EXPECT_GE(taken, 14u);
  EXPECT_LE(taken, 17u);
  asked.max_time = 0.01;
  EXPECT_LE(sample(run, asked, {}, run.clock()).seconds.size(), 4u);  // the time is already over
}

TEST(noise, of_few_samples_is_seen) {
  Recorder run(0);
  run.in_turns = {0.9, 0.4, 1.2};
  Samples const samples = sample(run, options(0, 10, 0), {}, run.clock());
  EXPECT_EQ(samples.seconds, (std::vector<double>{0.9, 0.4, 1.2}));  // the time is over, but two are not enough
  EXPECT_TRUE(samples.few);
  EXPECT_TRUE(is_noisy(samples.seconds));
  Recorder slow(60);
  EXPECT_EQ(sample(slow, options(3, 10, 0), {}, slow.clock(), {}, 100).seconds, (std::vector<double>{100, 60, 60}));
  // Noise of samples that are too slow for more leaves no doubt about their number; that of quick ones asks for more.
  run.in_turns = {0.04, 0.08};
  Samples const quick = sample(run, options(0, 10, 0), {}, run.clock());
  EXPECT_FALSE(quick.few);
  EXPECT_GT(quick.seconds.size(), 14u);
}

TEST(noise, that_passes_is_outweighed) {
  Recorder run(0);
  run.in_turns.assign(200, 1e-3);
  std::fill_n(run.in_turns.begin(), 8, 9e-3);  // one of these determines the length of a launch
  Samples const samples = sample(run, options(0, 10, 0), {}, run.clock());
  EXPECT_FALSE(is_noisy(samples.seconds));
  EXPECT_GT(samples.seconds.size(), 20u);
  EXPECT_LT(samples.seconds.size(), 40u);
}

TEST(noise, of_cold_launches_is_timed_with_the_eviction) {
  Recorder run(0);
  run.in_turns = {1e-6, 9e-6};
  // Each eviction takes a second: three more samples fit into 3 s.
  SamplingOptions asked = options(0, 10, 0, true);
  asked.max_time = 3;
  EXPECT_EQ(sample(run, asked, {}, run.clock()).seconds.size(), 13u);
}

TEST(noise, can_be_interrupted) {
  Recorder run(0);
  run.in_turns = {1e-3, 5e-3};
  int asked = 0;
  Samples const samples = sample(run, options(0, 4, 0), [&] { return ++asked == 6; }, run.clock());
  EXPECT_TRUE(samples.interrupted);
  EXPECT_EQ(samples.seconds.size(), 6u);
}

TEST(load, of_all_processors_as_linux_has_it) {
  // user, nice, system, idle, iowait, irq, softirq, steal, guest, guest_nice: guests are part of user.
  auto const times = processor_times(
      "cpu  1000 200 300 99999 88888 40 50 600 70 80\ncpu0 1 2 3\ncpu1 1 2 3\nintr 5\ncpu2 not of the list\n", 100);
  ASSERT_TRUE(times);
  EXPECT_DOUBLE_EQ(times->busy, 21.9);
  EXPECT_EQ(times->processors, 2);
  EXPECT_FALSE(processor_times("", 100));
  EXPECT_FALSE(processor_times("cpu  1 2 3 4\n", 100));
  EXPECT_FALSE(processor_times("no such file", 100));
}

TEST(load, is_that_of_others) {
  if (!std::filesystem::exists("/proc/stat")) GTEST_SKIP() << "this system does not tell";
  LoadMeter const meter;
  EXPECT_FALSE(meter.others({}));  // too early to know
  pid_t const child = ::fork();
  if (child == 0) {
    for (unsigned volatile counter = 0;; counter = counter + 1) {
    }
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(800));
  auto const others = meter.others({});
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ASSERT_TRUE(others);
  EXPECT_GT(others->busy, 0.2);
  EXPECT_GE(others->processors, others->busy - 0.1);
}

TEST(statistics, of_known_numbers) {
  Statistics const s = statistics({7, 15, 36, 39, 40, 41});  // as NumPy's percentile(x, [25, 50, 75])
  EXPECT_EQ(s.min, 7);
  EXPECT_DOUBLE_EQ(s.first_quartile, 20.25);
  EXPECT_DOUBLE_EQ(s.median, 37.5);
  EXPECT_DOUBLE_EQ(s.third_quartile, 39.75);
  EXPECT_EQ(s.max, 41);
}

TEST(statistics, of_unsorted_and_few) {
  Statistics const five = statistics({5, 1, 4, 2, 3});
  EXPECT_EQ(five.first_quartile, 2);
  EXPECT_EQ(five.median, 3);
  EXPECT_EQ(five.third_quartile, 4);
  Statistics const one = statistics({2.5});
  EXPECT_EQ(one.min, 2.5);
  EXPECT_EQ(one.first_quartile, 2.5);
  EXPECT_EQ(one.median, 2.5);
  EXPECT_EQ(one.max, 2.5);
  Statistics const two = statistics({1, 2});
  EXPECT_DOUBLE_EQ(two.median, 1.5);
  EXPECT_EQ(two.first_quartile, 1);
  EXPECT_EQ(two.third_quartile, 2);
  EXPECT_THROW((void)statistics({}), std::invalid_argument);
}

// Runs that take these times in sequence; the last time repeats.
Timings repeated(std::vector<double> const& seconds, std::size_t fewest, double until, std::size_t* runs = nullptr) {
  std::size_t count = 0;
  double now = 0;
  Timings const result = repeat(
      [&] {
        double const of_run = seconds[std::min(count, seconds.size() - 1)];
        now += of_run;
        ++count;
        return Timing{of_run, of_run < 1 ? 0.5 : 1, now};
      },
      fewest, until);
  if (runs != nullptr) *runs = count;
  return result;
}

TEST(repeat, until_the_best_time_is_reproduced) {
  std::size_t runs = 0;
  Timings result = repeated({5, 4, 3, 9, 3.1, 8, 3.14, 1}, 3, 1e9, &runs);
  EXPECT_EQ(result.best, 3);
  EXPECT_TRUE(result.reproduced);
  EXPECT_EQ(runs, 7u);
  // A single fast run is not accepted until similar ones confirm it.
  result = repeated({3, 3, 2, 3, 3, 3, 2.09, 2.05}, 3, 1e9, &runs);
  EXPECT_EQ(result.best, 2);
  EXPECT_EQ(runs, 8u);
  EXPECT_EQ(repeated({2}, 7, 1e9, &runs).median, 2);
  EXPECT_EQ(runs, 7u);
}

TEST(repeat, ends_in_time_and_says_that_it_is_not_sure) {
  std::size_t runs = 0;
  Timings const result = repeated({5, 4, 3, 2, 1}, 7, 14, &runs);
  EXPECT_EQ(runs, 4u);
  EXPECT_EQ(result.best, 2);
  EXPECT_FALSE(result.reproduced);
  EXPECT_EQ(repeated({5}, 7, 0, &runs).best, 5);  // there is always a figure, whatever the time limit
  EXPECT_EQ(runs, 1u);
}

TEST(repeat, tells_whether_the_best_run_was_undisturbed) {
  EXPECT_EQ(repeated({2, 0.9, 2, 0.91}, 3, 1e9).at_work, 0.5);
  EXPECT_EQ(repeated({2, 3, 2}, 3, 1e9).at_work, 1);
}

TEST(roofs, implausible_ones_are_seen) {
  // Measured on a machine that was compiling at the same time.
  Roofs roofs{.copy_bytes_per_second = 2e10, .triad_bytes_per_second = 2.2e10, .read_bytes_per_second = 1.9e10};
  roofs.peak_operations_per_second = {48e9, 188e9, 27e9};
  EXPECT_EQ(implausible(roofs), "the double peak is above the float peak");
  roofs.peak_operations_per_second = {292e9, 156e9, 106e9};  // values of a Xeon
  EXPECT_EQ(implausible(roofs), "");
  roofs.peak_operations_per_second = {55e12, 1e12, 27e12};  // graphics GPUs are slow in double
  EXPECT_EQ(implausible(roofs), "");
  roofs.read_bytes_per_second = 6e10;
  roofs.triad_bytes_per_second = 0.9e10;
  EXPECT_EQ(implausible(roofs), "read bandwidth is far above copy, triad is far below copy");
  EXPECT_EQ(implausible(Roofs()), "");  // unknown roofs are plausible
}

}  // namespace
}  // namespace tessera
