/// \file
/// The plain Kokkos answer: parallel_for over an MDRange, elements by View access.
///
/// The column is the first index, the one that Kokkos gives to neighbouring threads of a GPU: the other way round every
/// access would be a row away from its neighbour's. The tiles are our own: Kokkos' default on CUDA has long been 16 x 2,
/// half of it idle where there is one row.

#include "../problem.hpp"

#include <tessera/kernels/row_tiles.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::broadcast_add {

struct Mdrange {
  static constexpr VariantInfo info{
      .name = "mdrange", .level = Level::range, .summary = "Kokkos::MDRangePolicy over tiles, the baseline"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    Plan(Exec const&, InputOn<BroadcastAdd, Exec, T> const& input)
        : tiles_(kernels::mdrange_tiles<Exec>(input.b.extent(0), input.a.extent(0))) {}

    void operator()(Exec const& exec, InputOn<BroadcastAdd, Exec, T> const& input,
                    OutputOn<BroadcastAdd, Exec, T> const& output) const {
      if (output.out.size() == 0) return;
      auto const a = input.a;
      auto const b = input.b;
      auto const out = output.out;
      Kokkos::parallel_for(
          "tessera::broadcast_add::mdrange::add", kernels::columns_first<std::int64_t>(exec, tiles_),
          KOKKOS_LAMBDA(std::int64_t col, std::int64_t row) { out(row, col) = Add<T>{}(a(col), b(row)); });
    }

   private:
    collective::MatrixTiles tiles_;
  };
};

VariantRows mdrange() { return rows<BroadcastAdd, Mdrange>(); }

}  // namespace tessera::broadcast_add
