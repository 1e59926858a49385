#include <Kokkos_Core.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include <tessera/collective/lane/matrix_unit.hpp>
#include <tessera/core/config.hpp>
#include <tessera/core/half.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/type_list.hpp>
#include <tessera/measure/roof_kernels.hpp>
#include <tessera/measure/roofs.hpp>
#include <tessera/table/runtime.hpp>

namespace tessera {

namespace {

// Sorted.
template <class Exec, class Body>
std::vector<double> seconds_of(Exec const& exec, int samples, Body&& body) {
  using Clock = std::chrono::steady_clock;
  body();  // lazy allocations, cold instructions
  std::vector<double> seconds;
  for (int i = 0; i < std::max(1, samples); ++i) {
    exec.fence("tessera: roof sample");
    auto const begin = Clock::now();
    body();
    exec.fence("tessera: roof sample");
    seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds;
}

// A roof is what the machine can do: what else ran on it during some of the samples does not lower it.
template <class Exec, class Body>
double best_seconds(Exec const& exec, int samples, Body&& body) {
  return seconds_of(exec, samples, body).front();
}

// What a launch costs is no roof but a typical time.
template <class Exec, class Body>
double median_seconds(Exec const& exec, int samples, Body&& body) {
  std::vector<double> const seconds = seconds_of(exec, samples, body);
  return seconds[seconds.size() / 2];
}

// What one run of a kernel may take. A build with sanitizers takes longer, by far, and would spend minutes on figures that say
// nothing: it measures on little.
constexpr double most_seconds = 0.3;

// Copy, triad and read, all on one buffer of twice `bytes`.
template <class Exec>
void measure_bandwidths(Exec const& exec, std::size_t bytes, int samples, Roofs& roofs) {
  using Buffer = Kokkos::View<float*, typename Exec::memory_space>;
  std::size_t n = std::max<std::size_t>(64, bytes / sizeof(float) / 64 * 64);
  std::size_t const few = std::min<std::size_t>(n, std::size_t{1} << 20);
  {
    Buffer const from("tessera::roofs::probe", few);
    Buffer const to("tessera::roofs::probe", few);
    double const seconds = best_seconds(exec, 10, [&] { measure::copy(exec, from, to); });
    if (seconds * static_cast<double>(n / few) > most_seconds) n = few;
  }
  Buffer const buffer(Kokkos::view_alloc(Kokkos::WithoutInitializing, "tessera::roofs::buffer"), 2 * n);
  Kokkos::parallel_for(
      "tessera::roofs::first_touch", Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::size_t>>(exec, 0, 2 * n),
      KOKKOS_LAMBDA(std::size_t i) { buffer(i) = static_cast<float>(i % 256); });
  auto const rate = [](std::size_t elements, double seconds) {
    return static_cast<double>(elements * sizeof(float)) / seconds;
  };
  roofs.working_set_bytes = 2 * static_cast<double>(n * sizeof(float));

  auto const part = [&](std::size_t begin, std::size_t end) {
    return Kokkos::subview(buffer, Kokkos::pair<std::size_t, std::size_t>(begin, end));
  };
  auto const source = part(0, n);
  auto const target = part(n, 2 * n);
  double const kernel = best_seconds(exec, samples, [&] { measure::copy(exec, source, target); });
  double const library = best_seconds(exec, samples, [&] { Kokkos::deep_copy(exec, target, source); });
  roofs.copy_bytes_per_second = rate(2 * n, std::min(kernel, library));

  std::size_t const half = n / 2;  // three of the buffer's four quarters
  auto const triad = [&] { measure::triad(exec, part(0, half), part(half, n), part(n, n + half), 0.5F); };
  roofs.triad_bytes_per_second = rate(3 * half, best_seconds(exec, samples, triad));

  Kokkos::View<float, typename Exec::memory_space> const sum("tessera::roofs::sum");
  measure::Read<Exec, float> const read(exec, 2 * n, 0, "tessera::roofline::read");
  roofs.read_bytes_per_second = rate(2 * n, best_seconds(exec, samples, [&] { read(exec, buffer, sum); }));
}

template <class Exec, class T>
double peak(Exec const& exec, int samples) {
  constexpr std::int32_t count = measure::most_chains;
  Kokkos::View<T*, typename Exec::memory_space> const out("tessera::roofs::chains", count);
  auto const best_of = [&](std::int32_t iterations, int of) {
    return best_seconds(exec, of, [&] { measure::chains(exec, out, iterations); });
  };
  constexpr std::int32_t few = measure::chain_iterations<Exec> / 64;
  bool const slow = 64 * best_of(few, 10) > most_seconds;
  std::int32_t const iterations = slow ? few : measure::chain_iterations<Exec>;
  return 2.0 * count * iterations / best_of(iterations, samples);
}

template <class Exec, class Factor>
double matrix_peak(Exec const& exec, int samples) {
  // Every multiprocessor gets half of the warps that it holds.
  std::int32_t const count =
      exec.concurrency() / (2 * collective::matrix_lanes<Exec>)*measure::MatrixChainKernel<Exec, Factor>::width;
  Kokkos::View<float*, typename Exec::memory_space> const out("tessera::roofs::matrix_chains", count);
  auto const best_of = [&](std::int32_t iterations, int of) {
    return best_seconds(exec, of, [&] { measure::matrix_chains<Factor>(exec, out, iterations); });
  };
  constexpr std::int32_t few = measure::matrix_chain_iterations / 64;
  bool const slow = 64 * best_of(few, 3) > most_seconds;
  std::int32_t const iterations = slow ? few : measure::matrix_chain_iterations;
  return measure::matrix_chain_operations<Exec, Factor> * count * iterations / best_of(iterations, samples);
}

template <class Exec>
void measure_matrix_units(Exec const& exec, int samples, Roofs& roofs) {
  if constexpr (is_gpu<Exec> && collective::can_have_matrix_units<Exec>) {
    if (!collective::has_matrix_units(exec)) return;
    for_each_type(TypeList<collective::Tf32, Half, BFloat16>{}, [&]<class Factor>() {
      roofs.matrix_peak(measure::unit_of<Factor>) = matrix_peak<Exec, Factor>(exec, samples);
    });
  }
}

template <class Exec>
void measure_launches(Exec const& exec, Roofs& roofs) {
  constexpr int batch = 200;
  Kokkos::View<float, typename Exec::memory_space> const out("tessera::roofs::mark");
  roofs.launch_and_fence_seconds = median_seconds(exec, batch, [&] { measure::mark(exec, out); });
  roofs.launch_seconds = median_seconds(exec, 5,
                                        [&] {
                                          for (int i = 0; i < batch; ++i) measure::mark(exec, out);
                                        }) /
                         batch;
}

}  // namespace

Roofs measure_roofs(std::string const& space, std::size_t bytes, int samples) {
  Roofs roofs;
  bool const found = with_space(space, [&]<class Exec>() {
    Exec const exec;
    measure_bandwidths(exec, bytes, samples, roofs);
    for_each_type(EnabledDTypes{}, [&]<class T>() {
      double& known = roofs.peak_operations_per_second.at(static_cast<std::size_t>(arithmetic_of(dtype_of<T>)));
      if (!(known > 0)) known = peak<Exec, Arithmetic<T>>(exec, samples);
    });
    measure_matrix_units(exec, samples, roofs);
    measure_launches(exec, roofs);
  });
  if (!found) throw std::runtime_error("no execution space '" + space + "' in this build");
  return roofs;
}

}  // namespace tessera
