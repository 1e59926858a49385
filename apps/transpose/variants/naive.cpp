/// \file
/// The plain Kokkos answer: parallel_for over an MDRange of the input. Neighbouring threads read neighbouring elements
/// and write elements that are a row of the output apart: a warp's stores are not coalesced, and a host accesses a
/// cache line of the output again for each of its elements.

#include "../problem.hpp"

#include <tessera/kernels/detail/launch/row_tiles.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::transpose {

struct Naive {
  static constexpr VariantInfo info{.name = "naive",
                                    .level = Level::range,
                                    .summary = "Kokkos::MDRangePolicy over the input, the baseline",
                                    .lesson = true};

  template <ExecutionSpace Exec, class T>
  struct Plan {
    collective::MatrixTiles tiles;

    Plan(Exec const&, InputOn<Transpose, Exec, T> const& input)
        : tiles(kernels::mdrange_tiles<Exec>(input.a.extent(0), input.a.extent(1))) {}

    void operator()(Exec const& exec, InputOn<Transpose, Exec, T> const& input,
                    OutputOn<Transpose, Exec, T> const& output) const {
      if (input.a.size() == 0) return;
      auto const a = input.a;
      auto const out = output.out;
      Kokkos::parallel_for(
          "tessera::transpose::naive::move", kernels::columns_first<std::int64_t>(exec, tiles),
          KOKKOS_LAMBDA(std::int64_t col, std::int64_t row) { out(col, row) = a(row, col); });
    }
  };
};

VariantRows naive() { return rows<Transpose, Naive>(); }

}  // namespace tessera::transpose
