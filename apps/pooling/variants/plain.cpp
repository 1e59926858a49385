/// \file
/// The plain Kokkos answer: one index per output folds its window.

#include "../problem.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::pooling {

struct Plain {
  static constexpr VariantInfo info{
      .name = "plain", .level = Level::range, .summary = "one output per index, the baseline", .lesson = true};

  template <ExecutionSpace Exec, class T>
  static void run(Exec const& exec, ArrayOn<T const*, Exec> const& a, ArrayOn<T*, Exec> const& out,
                  Parameters const& parameters) {
    auto const finish = finish_of<T>(a.extent(0), parameters);
    bool const is_max = parameters.op == PoolingOp::max;
    collective::AnyOperator<T> const op{is_max ? collective::OperatorKind::max : collective::OperatorKind::sum};
    Kokkos::parallel_for(
        "tessera::pooling::plain::fold", over(exec, a.extent(0)), KOKKOS_LAMBDA(std::size_t i) {
          std::size_t const first = i + 1 < finish.window ? 0 : i + 1 - finish.window;
          T folded = a(first);
          for (std::size_t j = first + 1; j <= i; ++j) folded = op(folded, a(j));
          finish(thread::RunOf<1>{}, i, &folded, 1, a.data(), 1);
          out(i) = folded;
        });
  }
};
VariantRows plain() { return rows<Pooling, Plain>(); }

}  // namespace tessera::pooling
