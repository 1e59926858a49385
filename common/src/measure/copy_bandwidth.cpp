#include <Kokkos_Core.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include <tessera/app/runtime.hpp>
#include <tessera/core/spaces.hpp>

namespace tessera {

namespace {

// 16 bytes: the widest access of a thread on the GPUs that Kokkos runs on.
struct alignas(16) Chunk {
  std::uint64_t words[2];
};

template <class Exec, class Body>
double median_seconds(Exec const& exec, int samples, Body&& body) {
  using Clock = std::chrono::steady_clock;
  body();  // first touch, lazy allocations
  std::vector<double> seconds;
  for (int i = 0; i < std::max(1, samples); ++i) {
    exec.fence("tessera: copy sample");
    auto const begin = Clock::now();
    body();
    exec.fence("tessera: copy sample");
    seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
  }
  auto const middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
  std::nth_element(seconds.begin(), middle, seconds.end());
  return *middle;
}

template <class Exec>
double copy_bandwidth(std::size_t bytes, int samples) {
  using Buffer = Kokkos::View<Chunk*, typename Exec::memory_space>;
  std::size_t const count = std::max<std::size_t>(1, bytes / sizeof(Chunk));
  Buffer const source(Kokkos::view_alloc(Kokkos::WithoutInitializing, "tessera::copy::source"), count);
  Buffer const target(Kokkos::view_alloc(Kokkos::WithoutInitializing, "tessera::copy::target"), count);
  Exec const exec;
  Kokkos::parallel_for(
      "tessera::copy::first_touch", Kokkos::RangePolicy<Exec>(exec, 0, count), KOKKOS_LAMBDA(std::size_t i) {
        source(i) = Chunk{{i, ~i}};
        target(i) = Chunk{};
      });
  exec.fence("tessera: copy buffers touched");

  Chunk const* const from = source.data();
  Chunk* const to = target.data();
  double const kernel = median_seconds(exec, samples, [&] {
    Kokkos::parallel_for(
        "tessera::copy::kernel", Kokkos::RangePolicy<Exec>(exec, 0, count),
        KOKKOS_LAMBDA(std::size_t i) { to[i] = from[i]; });
  });
  double const library = median_seconds(exec, samples, [&] { Kokkos::deep_copy(exec, target, source); });
  return 2.0 * static_cast<double>(count * sizeof(Chunk)) / std::min(kernel, library);
}

}  // namespace

double measure_copy_bandwidth(std::string const& space, std::size_t bytes, int samples) {
  double result = 0;
  if (!with_space(space, [&]<class Exec>() { result = copy_bandwidth<Exec>(bytes, samples); })) {
    throw std::runtime_error("no execution space '" + space + "' in this build");
  }
  return result;
}

}  // namespace tessera
