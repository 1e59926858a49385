/// \file
/// Every output folds its window from memory. On a host an index takes a run of outputs, tap by tap, because a compiler
/// vectorises over neighbouring outputs but does not vectorise a single fold.

#include "../problem.hpp"

#include <tessera/core/tiles.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::pooling {

struct Direct {
  static constexpr VariantInfo info{.name = "direct",
                                    .level = Level::range,
                                    .summary = "every output folds its window, on a host in runs of outputs"};

  template <ExecutionSpace Exec, class T>
  static void run(Exec const& exec, ArrayOn<T const*, Exec> const& a, ArrayOn<T*, Exec> const& out,
                  Parameters const& parameters) {
    auto const finish = finish_of<T>(a.extent(0), parameters);
    with_operator<T>(parameters.op, [&]<class Op>(Op const& op) { enqueue<Exec, T, Op>(exec, a, out, op, finish); });
  }

  template <class Exec, class T, class Op>
  static void enqueue(Exec const& exec, ArrayOn<T const*, Exec> const& a, ArrayOn<T*, Exec> const& out, Op const& op,
                      thread::FinishWindow<T> const& finish) {
    constexpr int most = is_gpu<Exec> ? 1 : 256;  // outputs per index
    std::size_t const n = a.extent(0);
    Kokkos::parallel_for(
        "tessera::pooling::direct::fold", over(exec, tiles_of(n, most)), KOKKOS_LAMBDA(std::size_t index) {
          std::size_t const begin = index * most;
          int const count = n - begin < most ? static_cast<int>(n - begin) : most;
          T folded[most];
          for (int t = 0; t < most; ++t) folded[t] = op.identity();
          // The oldest element comes first. The first windows are clipped at the array's begin.
          for (std::size_t tap = Kokkos::min<std::size_t>(finish.window, begin + count); tap-- > 0;) {
            int const first = tap > begin ? static_cast<int>(tap - begin) : 0;
            for (int t = first; t < count; ++t) folded[t] = op(folded[t], a(begin + t - tap));
          }
          finish(thread::RunOf<most>{}, begin, folded, count, a.data(), count);
          for (int t = 0; t < count; ++t) out(begin + t) = folded[t];
        });
  }
};

VariantRows direct() { return rows<Pooling, Direct>(); }

}  // namespace tessera::pooling
