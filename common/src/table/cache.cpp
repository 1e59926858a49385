#include <tessera/table/cache.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>

#include <tessera/core/spaces.hpp>
#include <tessera/table/runtime.hpp>

namespace tessera::measure {

namespace {

std::size_t eviction_bytes(bool host) {
  // 128 MiB is at least twice the L2 cache of any current GPU. Processors with stacked caches report their size.
  std::size_t const least = std::size_t{1} << 27;
  return std::max(least, host ? 2 * static_cast<std::size_t>(host_cache_bytes()) : 0);
}

template <class Exec>
void evict() {
  using Buffer = Kokkos::View<double*, typename Exec::memory_space>;
  static Buffer buffer;
  if (!buffer.is_allocated()) {
    buffer = Buffer("tessera::evict_cache", eviction_bytes(!is_gpu<Exec>) / sizeof(double));
    Kokkos::push_finalize_hook([] { buffer = Buffer(); });
  }
  Buffer const data = buffer;
  Kokkos::parallel_for(
      "tessera::evict_cache", over(Exec(), data.extent(0)), KOKKOS_LAMBDA(std::size_t i) { data(i) += 1.0; });
  Exec().fence("tessera: caches evicted");
}

}  // namespace

void evict_cache(std::string_view space) {
  with_space(space, []<class Exec>() { evict<Exec>(); });
}

}  // namespace tessera::measure
