#pragma once
/// \file
/// The base of Plans that draw from one of Kokkos' pools of generators.

#include <Kokkos_Core.hpp>
#include <Kokkos_Random.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "problem.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::random {

/// Each index takes a state of the pool, draws its numbers and gives the state back.
template <class T, class Pool, class Out>
struct DrawFromPool {
  Pool pool;
  Out out;
  Distribution distribution;
  std::int64_t lo;
  std::int64_t hi;
  std::size_t threads;
  std::size_t step;  ///< from one number of a thread to its next: neighbouring threads of a GPU store side by side

  KOKKOS_FUNCTION void operator()(std::size_t thread) const {
    std::size_t const n = out.extent(0);
    std::size_t const run = (n + threads - 1) / threads;
    std::size_t const begin = step == 1 ? thread * run : thread;
    std::size_t const end = step == 1 ? Kokkos::min(begin + run, n) : n;
    auto generator = pool.get_state();
    for (std::size_t i = begin; i < end; i += step) out(i) = draw(generator);
    pool.free_state(generator);
  }

  template <class Generator>
  [[nodiscard]] KOKKOS_FUNCTION T draw(Generator& generator) const {
    if constexpr (std::is_integral_v<T>) {
      if (distribution == Distribution::integers) return static_cast<T>(generator.rand64(lo, hi));
      return static_cast<T>(generator.urand());
    } else {
      if (distribution == Distribution::normal) return static_cast<T>(generator.normal());
      return sizeof(T) == 8 ? static_cast<T>(generator.drand()) : static_cast<T>(generator.frand());
    }
  }
};

/// The states go on from launch to launch, so each launch gives other numbers.
template <ExecutionSpace Exec, class T, class Pool>
class PoolPlan {
 public:
  PoolPlan(Parameters const& parameters, std::string label) : parameters_(parameters), label_(std::move(label)) {
    if (parameters.distribution == Distribution::uniform_positive) {
      throw Skip("Kokkos' pools have no distribution on (0, 1]");
    }
    if (parameters.stream != 0 || parameters.offset != 0) {
      throw Skip("a pool has no streams and no positions (--stream and --offset must be 0)");
    }
    if (parameters.count < fewest_drawn) {
      throw Skip("its numbers have no reference, and " + std::to_string(fewest_drawn) +
                 " or more are needed for statistics");
    }
    auto const begin = std::chrono::steady_clock::now();
    pool_ = Pool(parameters.seed);  // on the host, state by state; waits
    seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

  void operator()(Exec const& exec, ArrayOn<T*, Exec> const& out) const {
    std::size_t const n = out.extent(0);
    auto const threads = Kokkos::min<std::size_t>(n, states());
    Kokkos::parallel_for(label_, over(exec, threads),
                         DrawFromPool<T, Pool, ArrayOn<T*, Exec>>{pool_, out, parameters_.distribution, parameters_.lo,
                                                                  parameters_.hi, threads, is_gpu<Exec> ? threads : 1});
  }

  [[nodiscard]] static std::vector<WrittenField> outputs() { return {{.field = "out", .own_values = true}}; }

  [[nodiscard]] std::string note() const {
    return "pool of " + std::to_string(states()) + " states, set up in " +
           shortest_text(static_cast<double>(static_cast<std::int64_t>(seconds_ * 1e6)) / 1e3) + " ms";
  }

 private:
  /// The default of Kokkos' pools: one for each thread that may run at a time.
  [[nodiscard]] static std::size_t states() { return static_cast<std::size_t>(Exec().concurrency()); }

  Parameters parameters_;
  std::string label_;
  Pool pool_;
  double seconds_ = 0;
};

}  // namespace tessera::random
