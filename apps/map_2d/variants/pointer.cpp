/// \file
/// Raw pointers and row * cols + col, in 32 bits if the matrix is small enough, as in the book's kernels.

#include "../problem.hpp"

#include <tessera/kernels/detail/launch/row_tiles.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::map_2d {

struct Pointer {
  static constexpr VariantInfo info{
      .name = "pointer", .level = Level::range, .summary = "raw pointers, row * cols + col in 32 bits where that fits"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    Plan(Exec const&, InputOn<Map2d, Exec, T> const& input)
        : add_{static_cast<T>(input.parameters.c)},
          tiles_(kernels::mdrange_tiles<Exec>(input.a.extent(0), input.a.extent(1))) {}

    void operator()(Exec const& exec, InputOn<Map2d, Exec, T> const& input,
                    OutputOn<Map2d, Exec, T> const& output) const {
      if (input.a.size() <= std::size_t{1} << 30) {
        enqueue<std::int32_t>(exec, input.a.data(), output.out.data());
      } else {
        enqueue<std::int64_t>(exec, input.a.data(), output.out.data());
      }
    }

    // Public because CUDA allows no device lambda in a private function.
    template <class Index>
    void enqueue(Exec const& exec, T const* a, T* out) const {
      if (tiles_.rows == 0 || tiles_.cols == 0) return;
      auto const cols = static_cast<Index>(tiles_.cols);
      auto const add = add_;
      Kokkos::parallel_for(
          "tessera::map_2d::pointer::add", kernels::columns_first<Index>(exec, tiles_),
          KOKKOS_LAMBDA(Index col, Index row) { out[row * cols + col] = add(a[row * cols + col]); });
    }

   private:
    AddConstant<T> add_;
    collective::MatrixTiles tiles_;
  };
};

VariantRows pointer() { return rows<Map2d, Pointer>(); }

}  // namespace tessera::map_2d
