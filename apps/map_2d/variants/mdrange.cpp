/// \file
/// The plain Kokkos answer in two dimensions: parallel_for over an MDRange, elements by View access.
///
/// The column is the first index, the one that Kokkos gives to neighbouring threads of a GPU: the other way round every
/// access would be a row away from its neighbour's. The tiles are our own: Kokkos' default on CUDA has long been 16 x 2,
/// half of it idle where there is one row.

#include "../problem.hpp"

#include <tessera/kernels/row_tiles.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::map_2d {

struct Mdrange {
  static constexpr VariantInfo info{
      .name = "mdrange", .level = Level::range, .summary = "Kokkos::MDRangePolicy over tiles, the baseline"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    Plan(Exec const&, InputOn<Map2d, Exec, T> const& input)
        : add_{static_cast<T>(input.parameters.c)},
          tiles_(kernels::mdrange_tiles<Exec>(input.a.extent(0), input.a.extent(1))) {}

    void operator()(Exec const& exec, InputOn<Map2d, Exec, T> const& input,
                    OutputOn<Map2d, Exec, T> const& output) const {
      if (input.a.size() == 0) return;
      auto const a = input.a;
      auto const out = output.out;
      auto const add = add_;
      Kokkos::parallel_for(
          "tessera::map_2d::mdrange::add", kernels::columns_first<std::int64_t>(exec, tiles_),
          KOKKOS_LAMBDA(std::int64_t col, std::int64_t row) { out(row, col) = add(a(row, col)); });
    }

   private:
    AddConstant<T> add_;
    collective::MatrixTiles tiles_;
  };
};

VariantRows mdrange() { return rows<Map2d, Mdrange>(); }

}  // namespace tessera::map_2d
