/// \file
/// The plain Kokkos answer: an MDRange over the output, with the column as the first index; each element runs the loops
/// of the formula. Every element of the input is read Ky * Kx times, mostly from a cache.

#include "../problem.hpp"

#include <tessera/collective/accumulator.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::conv2d {

struct Direct {
  static constexpr VariantInfo info{.name = "direct",
                                    .level = Level::range,
                                    .summary = "Kokkos::MDRangePolicy over the output, the baseline",
                                    .lesson = true};
  template <ExecutionSpace Exec, class T>
  static void run(Exec const& exec, ArrayOn<T const**, Exec> const& in, ArrayOn<T const**, Exec> const& k,
                  ArrayOn<T**, Exec> const& out) {
    using Policy = Kokkos::MDRangePolicy<Exec, Kokkos::Rank<2, Kokkos::Iterate::Left, Kokkos::Iterate::Left>,
                                         Kokkos::IndexType<std::int64_t>>;
    Kokkos::parallel_for(
        "tessera::conv2d::direct::sum", Policy(exec, {0, 0}, {in.extent(1), in.extent(0)}),
        KOKKOS_LAMBDA(std::size_t x, std::size_t y) {
          collective::Accumulator<T> sum = 0;
          for (std::size_t ky = 0; ky < k.extent(0) && y + ky < in.extent(0); ++ky)
            for (std::size_t kx = 0; kx < k.extent(1) && x + kx < in.extent(1); ++kx)
              sum += collective::product(in(y + ky, x + kx), k(ky, kx));
          out(y, x) = static_cast<T>(sum);
        });
  }
};
VariantRows direct() { return rows<Conv2d, Direct>(); }

}  // namespace tessera::conv2d
