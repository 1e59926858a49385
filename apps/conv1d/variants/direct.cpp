/// \file
/// Every output sums its products from memory. On a host an index takes a run of outputs, tap by tap, because a
/// compiler vectorises over neighbouring outputs but does not vectorise a single sum.

#include "../problem.hpp"

#include <tessera/core/tiles.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::conv1d {

struct Direct {
  static constexpr VariantInfo info{.name = "direct",
                                    .level = Level::range,
                                    .summary = "each output sums its products, on a host in runs of outputs"};

  template <ExecutionSpace Exec, class T>
  static void run(Exec const& exec, ArrayOn<T const*, Exec> const& a, ArrayOn<T const*, Exec> const& k,
                  ArrayOn<T*, Exec> const& out) {
    constexpr int most = is_gpu<Exec> ? 1 : 256;  // outputs per index
    std::size_t const n = a.extent(0);
    std::size_t const taps = taps_of(a, k);
    Kokkos::parallel_for(
        "tessera::conv1d::direct::sum", over(exec, tiles_of(n, most)), KOKKOS_LAMBDA(std::size_t index) {
          std::size_t const begin = index * most;
          std::size_t const left = n - begin;
          Accumulator<T> sums[most] = {};
          for (std::size_t j = 0; j < taps && j < left; ++j) {
            // Outputs whose element would lie past the array's end are skipped.
            int const count = left - j < most ? static_cast<int>(left - j) : most;
            T const factor = k(j);
            for (int t = 0; t < count; ++t) sums[t] += product(a(begin + j + t), factor);
          }
          for (int t = 0; t < most && static_cast<std::size_t>(t) < left; ++t) out(begin + t) = static_cast<T>(sums[t]);
        });
  }
};

VariantRows direct() { return rows<Conv1d, Direct>(); }

}  // namespace tessera::conv1d
