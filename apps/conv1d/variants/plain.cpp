/// \file
/// The plain Kokkos answer: one index per output sums its products.

#include <cstddef>

#include "../problem.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::conv1d {

struct Plain {
  static constexpr VariantInfo info{
      .name = "plain", .level = Level::range, .summary = "one output an index, the baseline", .lesson = true};

  template <ExecutionSpace Exec, class T>
  struct Plan {
    Plan(Exec const&, InputOn<Conv1d, Exec, T> const&) {}

    void operator()(Exec const& exec, InputOn<Conv1d, Exec, T> const& input,
                    OutputOn<Conv1d, Exec, T> const& output) const {
      auto const a = input.a;
      auto const k = input.k;
      auto const out = output.out;
      Kokkos::parallel_for(
          "tessera::conv1d::plain::sum", over(exec, a.extent(0)), KOKKOS_LAMBDA(std::size_t i) {
            Accumulator<T> sum = 0;
            for (std::size_t j = 0; j < k.extent(0) && i + j < a.extent(0); ++j) sum += product(a(i + j), k(j));
            out(i) = static_cast<T>(sum);
          });
    }
  };
};

VariantRows plain() { return rows<Conv1d, Plain>(); }

}  // namespace tessera::conv1d
