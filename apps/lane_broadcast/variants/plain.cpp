/// \file
/// The plain Kokkos answer: one index per element; each index folds the first elements of its segment again.

#include <cstddef>

#include "../problem.hpp"

#include <tessera/collective/accumulator.hpp>
#include <tessera/collective/operators.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::lane_broadcast {

struct Plain {
  static constexpr VariantInfo info{
      .name = "plain", .level = Level::range, .summary = "one element per index, the baseline", .lesson = true};

  template <ExecutionSpace Exec, class T>
  static void run(Exec const& exec, ArrayOn<T const*, Exec> const& in, ArrayOn<T*, Exec> const& out,
                  Parameters const& parameters) {
    auto const op = parameters.op;
    std::size_t const n = in.extent(0);
    std::size_t const length = parameters.segment > 0 ? parameters.segment : n;
    Kokkos::parallel_for(
        "tessera::lane_broadcast::plain::apply", over(exec, n), KOKKOS_LAMBDA(std::size_t i) {
          std::size_t const begin = i - i % length;
          std::size_t const end = Kokkos::min(begin + length, n);
          using A = Arithmetic<T>;
          T const x = in(i);
          A sum = in(begin);
          T max = in(begin);
          for (std::size_t j = begin + 1; j < Kokkos::min(begin + 4, end); ++j) sum = collective::Sum<A>{}(sum, in(j));
          for (std::size_t j = begin + 1; j < Kokkos::min(begin + 8, end); ++j) max = collective::Max<T>{}(max, in(j));
          if (op == BroadcastOp::basic) {
            out(i) = collective::Sum<A>{}(x, sum);
          } else if (op == BroadcastOp::shuffle) {
            A const pair = i + 1 < end ? collective::Sum<A>{}(x, in(i + 1)) : A(x);
            out(i) = static_cast<T>(collective::product(pair, static_cast<A>(sum / A(4))));
          } else {
            out(i) = is_half_at_least(x, max) ? static_cast<T>(collective::product(x, T(2))) : T(x / T(2));
          }
        });
  }
};

VariantRows plain() { return rows<LaneBroadcast, Plain>(); }

}  // namespace tessera::lane_broadcast
