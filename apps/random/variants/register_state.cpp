/// \file
/// Each thread has a state, as generators for GPUs do: a counter in its registers, which it advances. No state is kept
/// in memory, because the counter follows from the thread's number.

#include <cstdint>

#include "../problem.hpp"

#include <tessera/core/tiles.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::random {

struct RegisterState {
  static constexpr VariantInfo info{.name = "register_state",
                                    .level = Level::range,
                                    .summary = "a counter in each thread's registers, advanced from block to block",
                                    .lesson = true};

  template <ExecutionSpace Exec, class T>
  static void run(Exec const& exec, ArrayOn<T*, Exec> const& out, Parameters const& parameters) {
    with_elements<T>(parameters, [&](auto const& words, auto const& distribution) {
      fill(exec, words, distribution, parameters.offset, out);
    });
  }

  template <class Exec, class Words, class Distribution, class Out>
  static void fill(Exec const& exec, Words const& words, Distribution const& distribution, std::uint64_t offset,
                   Out const& out) {
    std::size_t const n = out.extent(0);
    std::size_t const counters = n == 0 ? 0 : (offset % 4 + n - 1) / 4 + 1;  // a counter may begin before the offset
    auto const threads = Kokkos::min<std::size_t>(counters, exec.concurrency());
    // Threads of a GPU take neighbouring counters, so that a warp's stores are coalesced; threads of a host take runs.
    std::size_t const step = is_gpu<Exec> ? threads : 1;
    std::size_t const run = threads == 0 ? 0 : tiles_of(counters, threads);
    Kokkos::parallel_for(
        "tessera::random::register_state::fill", over(exec, threads), KOKKOS_LAMBDA(std::size_t thread) {
          std::size_t counter = step == 1 ? thread * run : thread;
          std::size_t const end = step == 1 ? Kokkos::min(counter + run, counters) : counters;
          for (; counter < end; counter += step) {
            auto const four = distribution.four(words, offset / 4 + counter);
            for (std::size_t e = 0; e < 4; ++e) {
              std::size_t const i = 4 * counter + e - offset % 4;  // wraps to a large number before the offset
              if (i < n) out(i) = four[e];
            }
          }
        });
  }
};

VariantRows register_state() { return rows<Random, RegisterState>(); }

}  // namespace tessera::random
