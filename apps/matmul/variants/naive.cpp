/// \file
/// The plain Kokkos answer: one index an element of c, which sums its K products.

#include <cstdint>

#include "../problem.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::matmul {

struct Naive {
  static constexpr VariantInfo info{
      .name = "naive", .level = Level::range, .summary = "Kokkos::parallel_for over the elements of c, the baseline"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    Plan(Exec const&, InputOn<Matmul, Exec, T> const&) {}

    void operator()(Exec const& exec, InputOn<Matmul, Exec, T> const& input,
                    OutputOn<Matmul, Exec, T> const& output) const {
      using Sum = Accumulator<T>;
      // Columns are the first, fastest index: neighbouring threads of a GPU read neighbouring columns of b.
      using Policy = Kokkos::MDRangePolicy<Exec, Kokkos::Rank<2, Kokkos::Iterate::Left, Kokkos::Iterate::Left>,
                                           Kokkos::IndexType<std::int64_t>>;
      Operands<Sum> const of = operands(input, output);
      if (of.m == 0 || of.n == 0) return;
      auto const m = static_cast<std::int64_t>(of.m);
      auto const n = static_cast<std::int64_t>(of.n);
      auto const k = static_cast<std::int64_t>(of.k);
      Kokkos::parallel_for(
          "tessera::matmul::naive::product", Policy(exec, {0, 0}, {n, m}, {32, 8}),
          KOKKOS_LAMBDA(std::int64_t col, std::int64_t row) {
            Sum const* const a = of.a + row * k;
            Sum const* const b = of.b + col;
            Sum sum = 0;
            for (std::int64_t i = 0; i < k; ++i) sum += a[i] * b[i * n];
            of.c[row * n + col] = sum;
          });
    }
  };
};

VariantRows naive() { return rows<Matmul, Naive>(); }

}  // namespace tessera::matmul
