/// \file
/// The same memory through a View whose two strides are known only at run time, as in a subview: the compiler does not
/// know that one stride is 1, and an index costs two multiplications.

#include "../problem.hpp"

#include <tessera/kernels/detail/launch/row_tiles.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::map_2d {

struct LayoutStride {
  static constexpr VariantInfo info{
      .name = "layout_stride", .level = Level::range, .summary = "a View of the same memory with strides of the run"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    template <class Value>
    using View = Kokkos::View<Value**, Kokkos::LayoutStride, typename Exec::memory_space,
                              Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
    Plan(Exec const&, InputOn<Map2d, Exec, T> const& input)
        : add_{static_cast<T>(input.parameters.c)},
          tiles_(kernels::mdrange_tiles<Exec>(input.a.extent(0), input.a.extent(1))) {}

    void operator()(Exec const& exec, InputOn<Map2d, Exec, T> const& input,
                    OutputOn<Map2d, Exec, T> const& output) const {
      if (input.a.size() == 0) return;
      Kokkos::LayoutStride const layout(tiles_.rows, tiles_.cols, tiles_.cols, 1);
      View<T const> const a(input.a.data(), layout);
      View<T> const out(output.out.data(), layout);
      auto const add = add_;
      Kokkos::parallel_for(
          "tessera::map_2d::layout_stride::add", kernels::columns_first<std::int64_t>(exec, tiles_),
          KOKKOS_LAMBDA(std::int64_t col, std::int64_t row) { out(row, col) = add(a(row, col)); });
    }

   private:
    AddConstant<T> add_;
    collective::MatrixTiles tiles_;
  };
};

VariantRows layout_stride() { return rows<Map2d, LayoutStride>(); }

}  // namespace tessera::map_2d
