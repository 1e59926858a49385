#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <tessera/collective/lane/matrix_unit.hpp>
#include <tessera/core/config.hpp>
#include <tessera/core/half.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/type_list.hpp>
#include <tessera/measure/repeat.hpp>
#include <tessera/measure/roof_kernels.hpp>
#include <tessera/measure/roofs.hpp>
#include <tessera/measure/sampling.hpp>
#include <tessera/ranks/ranks.hpp>
#include <tessera/table/runtime.hpp>

namespace tessera {

namespace {

double processor_seconds() {
  struct timespec time{};
  (void)::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Below this share of the time the threads of the best run shared the processors with others.
constexpr double undisturbed = 0.85;
constexpr std::size_t fewest_runs = 7;
// Time limit of one run of a kernel. A build with sanitizers is much slower, and would spend minutes on meaningless
// figures: it uses a small problem.
constexpr double most_seconds = 0.3;

// Times work of all ranks together: a run lasts as long as on the slowest rank, so that all ranks make the same
// decisions. Each figure gets an equal share of the remaining time.
template <class Exec>
class Bench {
 public:
  Bench(Exec const& exec, double seconds, int figures, ranks::Ranks const& ranks)
      : exec_(exec), end_(seconds), figures_(figures), ranks_(ranks) {}

  // Returns the seconds for the next figure.
  [[nodiscard]] double share() const { return std::max(0.0, end_ - now_) / std::max(1, figures_); }

  // A step that may fail on one rank (for lack of memory) then fails on all.
  template <class Step>
  void together(Step const& step) const {
    ranks::together(ranks_, step);
  }

  template <class Body>
  Timing run(Body const& body) {
    struct Own {
      Timing timing;
      double begin = 0;
      double end = 0;
      bool failed = false;
    } own;
    ranks_.barrier();
    exec_.fence("tessera: roof sample");
    double const worked = processor_seconds();
    own.begin = steady_seconds();
    try {
      body();
      exec_.fence("tessera: roof sample");
    } catch (std::exception const&) {
      if (ranks_.count() == 1) throw;
      own.failed = true;
    }
    own.end = steady_seconds();
    own.timing.seconds = own.end - own.begin;
    own.timing.now = own.end - start_;
    if constexpr (!is_gpu<Exec>) {
      own.timing.at_work = (processor_seconds() - worked) / (own.timing.seconds * exec_.concurrency());
    }
    Own all = ranks_.fold(own, [](Own const& a, Own const& b) {
      return Own{{std::max(a.timing.seconds, b.timing.seconds), std::min(a.timing.at_work, b.timing.at_work),
                  std::max(a.timing.now, b.timing.now)},
                 std::min(a.begin, b.begin),
                 std::max(a.end, b.end),
                 a.failed || b.failed};
    });
    if (all.failed) throw std::runtime_error("a kernel failed on one of the ranks");
    // Ranks that share processors may run one after the other. Ranks of one node have the same clock.
    if (ranks_.count_on_node() == ranks_.count()) all.timing.seconds = all.end - all.begin;
    now_ = all.timing.now;
    return all.timing;
  }

  // Returns the shortest of a few runs, to estimate their length.
  template <class Body>
  double probe(Body const& body) {
    (void)run(body);  // lazy allocations, cold instructions
    return std::min(run(body).seconds, run(body).seconds);
  }

  template <class Body>
  Timings figure(Body const& body, std::size_t fewest = fewest_runs) {
    (void)run(body);
    Timings const timings = repeat([&] { return run(body); }, fewest, now_ + share());
    --figures_;
    return timings;
  }

  // A roof is what the machine can reach: other work during some of the runs does not lower it.
  double sure(std::string const& name, Timings const& timings) {
    if (!timings.reproduced) not_reproduced_ += (not_reproduced_.empty() ? "" : ", ") + name;
    least_at_work_ = std::min(least_at_work_, timings.at_work);
    return timings.best;
  }

  [[nodiscard]] std::string doubts(Roofs const& roofs) const {
    std::vector<std::string> all;
    if (least_at_work_ < undisturbed) {
      all.push_back("other work used " + std::to_string(std::lround(100 * (1 - least_at_work_))) +
                    "% of the processors");
    }
    if (!not_reproduced_.empty()) all.push_back(not_reproduced_ + " not reproduced");
    if (std::string const why = implausible(roofs); !why.empty()) all.push_back(why);
    std::string text;
    for (std::string const& one : all) text += (text.empty() ? "" : "; ") + one;
    return text;
  }

 private:
  Exec const& exec_;
  double const start_ = steady_seconds();
  double end_;
  double now_ = 0;
  int figures_;
  ranks::Ranks const& ranks_;
  std::string not_reproduced_;
  double least_at_work_ = 1;
};

template <class Exec, class Buffer>
void touch(Exec const& exec, Buffer const& buffer) {
  Kokkos::parallel_for(
      "tessera::roofs::first_touch", over(exec, buffer.extent(0)),
      KOKKOS_LAMBDA(std::size_t i) { buffer(i) = static_cast<float>(i % 256); });
}

// Measures copy, triad and read, all in one buffer.
template <class Exec>
void measure_bandwidths(Exec const& exec, Bench<Exec>& bench, std::size_t bytes, Roofs& roofs) {
  using Buffer = Kokkos::View<float*, typename Exec::memory_space>;
  std::size_t n = std::max<std::size_t>(64, bytes / 2 / sizeof(float) / 64 * 64);
  std::size_t const few = std::min<std::size_t>(n, std::size_t{1} << 20);
  Buffer buffer;
  bench.together([&] { buffer = Buffer("tessera::roofs::probe", 2 * few); });
  auto const part = [&](std::size_t begin, std::size_t end) {
    return Kokkos::subview(buffer, Kokkos::pair<std::size_t, std::size_t>(begin, end));
  };
  double const of_few = bench.probe([&] { measure::copy(exec, part(0, few), part(few, 2 * few)); });
  double const most = std::min(most_seconds, bench.share() / 5) / of_few * static_cast<double>(few);
  if (static_cast<double>(n) > most) n = std::max(few, static_cast<std::size_t>(most) / 64 * 64);
  bench.together([&] {
    buffer = Buffer();
    buffer = Buffer(unset("tessera::roofs::buffer"), 2 * n);
  });
  (void)bench.run([&] { touch(exec, buffer); });
  auto const rate = [](std::size_t elements, double seconds) {
    return static_cast<double>(elements * sizeof(float)) / seconds;
  };
  roofs.working_set_bytes = 2 * static_cast<double>(n * sizeof(float));

  auto const source = part(0, n);
  auto const target = part(n, 2 * n);
  Timings const kernel = bench.figure([&] { measure::copy(exec, source, target); });
  Timings library = bench.figure([&] { Kokkos::deep_copy(exec, target, source); });
  library.at_work = 1;  // unknown: it may use one thread
  roofs.copy_bytes_per_second = rate(2 * n, bench.sure("copy", kernel.best <= library.best ? kernel : library));

  std::size_t const half = n / 2;  // triad uses three of the buffer's four quarters
  auto const triad = [&] { measure::triad(exec, part(0, half), part(half, n), part(n, n + half), 0.5F); };
  roofs.triad_bytes_per_second = rate(3 * half, bench.sure("triad", bench.figure(triad)));

  Kokkos::View<float, typename Exec::memory_space> const sum("tessera::roofs::sum");
  std::optional<measure::Read<Exec, float>> read;
  bench.together([&] { read.emplace(exec, 2 * n, 0, "tessera::roofline::read"); });
  roofs.read_bytes_per_second = rate(2 * n, bench.sure("read", bench.figure([&] { (*read)(exec, buffer, sum); })));
}

// Returns the number of iterations of a chain that take a part of a figure's share of the time, at most `most`.
template <class Exec, class Run>
std::int32_t iterations_in_time(Bench<Exec>& bench, std::int32_t most, Run const& run) {
  std::int32_t const few = std::max(1, most / 64);
  double const seconds = bench.probe([&] { run(few); });
  double const fit = few * std::min(most_seconds, bench.share() / 8) / seconds;
  return fit < most ? std::max(few, static_cast<std::int32_t>(fit)) : most;
}

template <class Exec, class T>
double peak(Exec const& exec, Bench<Exec>& bench, std::string const& name) {
  constexpr std::int32_t count = measure::most_chains;
  Kokkos::View<T*, typename Exec::memory_space> out;
  bench.together([&] { out = decltype(out)("tessera::roofs::chains", count); });
  auto const run = [&](std::int32_t iterations) { measure::chains(exec, out, iterations); };
  std::int32_t const iterations = iterations_in_time(bench, measure::chain_iterations<Exec>, run);
  return 2.0 * count * iterations / bench.sure(name + " peak", bench.figure([&] { run(iterations); }));
}

template <class Exec, class Factor>
double matrix_peak(Exec const& exec, Bench<Exec>& bench, std::string const& name) {
  // Each multiprocessor gets half of its resident warps.
  std::int32_t const count =
      exec.concurrency() / (2 * collective::matrix_lanes<Exec>)*measure::MatrixChainKernel<Exec, Factor>::width;
  Kokkos::View<float*, typename Exec::memory_space> out;
  bench.together([&] { out = decltype(out)("tessera::roofs::matrix_chains", count); });
  auto const run = [&](std::int32_t iterations) { measure::matrix_chains<Factor>(exec, out, iterations); };
  std::int32_t const iterations = iterations_in_time(bench, measure::matrix_chain_iterations, run);
  return measure::matrix_chain_operations<Exec, Factor> * count * iterations /
         bench.sure(name + " peak", bench.figure([&] { run(iterations); }));
}

template <class Exec>
[[nodiscard]] bool measures_matrix_units([[maybe_unused]] Exec const& exec) {
  if constexpr (is_gpu<Exec> && collective::can_have_matrix_units<Exec>) {
    return collective::has_matrix_units(exec);
  } else {
    return false;
  }
}

template <class Exec>
void measure_matrix_units(Exec const& exec, Bench<Exec>& bench, Roofs& roofs) {
  if constexpr (is_gpu<Exec> && collective::can_have_matrix_units<Exec>) {
    for_each_type(TypeList<collective::Tf32, Half, BFloat16>{}, [&]<class Factor>() {
      Unit const unit = measure::unit_of<Factor>;
      roofs.matrix_peak(unit) = matrix_peak<Exec, Factor>(exec, bench, std::string(name_of(unit)));
    });
  }
}

// The cost of a launch is a typical time instead of a limit: the median.
template <class Exec>
void measure_launches(Exec const& exec, Bench<Exec>& bench, Roofs& roofs) {
  constexpr std::size_t most = 200;
  Kokkos::View<float, typename Exec::memory_space> const out("tessera::roofs::mark");
  roofs.launch_and_fence_seconds = bench.figure([&] { measure::mark(exec, out); }, most).median;
  double const fit = bench.share() / 8 / roofs.launch_and_fence_seconds;
  auto const batch = fit < most ? std::max<std::size_t>(1, static_cast<std::size_t>(fit)) : most;
  auto const launches = [&] {
    for (std::size_t i = 0; i < batch; ++i) measure::mark(exec, out);
  };
  roofs.launch_seconds = bench.figure(launches, 5).median / static_cast<double>(batch);
}

// Returns one enabled dtype for each arithmetic dtype whose peak is measured.
std::vector<DType> measured_dtypes() {
  std::vector<DType> dtypes;
  for_each_type(EnabledDTypes{}, [&]<class T>() {
    DType const of = arithmetic_of(dtype_of<T>);
    if (std::ranges::find(dtypes, of) == dtypes.end()) dtypes.push_back(of);
  });
  return dtypes;
}

}  // namespace

Roofs measure_roofs(std::string const& space, RoofLimits const& limits, ranks::Ranks const& ranks) {
  Roofs roofs;
  bool const found = with_space(space, [&]<class Exec>() {
    Exec const exec;
    bool const with_matrices = measures_matrix_units(exec);
    // Two copies, triad, read; peaks; one launch, and many launches.
    int const figures = 6 + static_cast<int>(measured_dtypes().size() + (with_matrices ? matrix_units.size() : 0));
    Bench<Exec> bench(exec, limits.seconds, figures, ranks);
    measure_bandwidths(exec, bench, limits.bytes, roofs);
    for_each_type(EnabledDTypes{}, [&]<class T>() {
      DType const dtype = arithmetic_of(dtype_of<T>);
      double& known = roofs.peak_operations_per_second.at(static_cast<std::size_t>(dtype));
      if (!(known > 0)) known = peak<Exec, Arithmetic<T>>(exec, bench, std::string(name_of(dtype)));
    });
    if (with_matrices) measure_matrix_units(exec, bench, roofs);
    measure_launches(exec, bench, roofs);
    roofs.unsure = bench.doubts(roofs);
  });
  if (!found) throw std::runtime_error("no execution space '" + space + "' in this build");
  return roofs;
}

}  // namespace tessera
