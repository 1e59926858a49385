/// \file
/// The same memory through a column-major View: a matrix [rows, cols] in C order is [cols, rows] in Fortran order. No
/// element moves; only the indices are exchanged.

#include "../problem.hpp"

#include <tessera/kernels/detail/launch/row_tiles.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::map_2d {

struct LayoutLeft {
  static constexpr VariantInfo info{
      .name = "layout_left", .level = Level::range, .summary = "a column-major View [cols, rows] of the same memory"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    template <class Value>
    using View =
        Kokkos::View<Value**, Kokkos::LayoutLeft, typename Exec::memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
    Plan(Exec const&, InputOn<Map2d, Exec, T> const& input)
        : add_{static_cast<T>(input.parameters.c)},
          tiles_(kernels::mdrange_tiles<Exec>(input.a.extent(0), input.a.extent(1))) {}

    void operator()(Exec const& exec, InputOn<Map2d, Exec, T> const& input,
                    OutputOn<Map2d, Exec, T> const& output) const {
      if (input.a.size() == 0) return;
      View<T const> const a(input.a.data(), tiles_.cols, tiles_.rows);
      View<T> const out(output.out.data(), tiles_.cols, tiles_.rows);
      auto const add = add_;
      Kokkos::parallel_for(
          "tessera::map_2d::layout_left::add", kernels::columns_first<std::int64_t>(exec, tiles_),
          KOKKOS_LAMBDA(std::int64_t x, std::int64_t y) { out(x, y) = add(a(x, y)); });
    }

   private:
    AddConstant<T> add_;
    collective::MatrixTiles tiles_;
  };
};

VariantRows layout_left() { return rows<Map2d, LayoutLeft>(); }

}  // namespace tessera::map_2d
