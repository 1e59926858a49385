/// \file
/// mdrange with explicit tiles, as wide as the rows allow: 256 threads on a GPU; on a host as much as a thread's caches
/// hold.

#include "../problem.hpp"

#include <tessera/kernels/detail/launch/row_tiles.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::bias_add {

struct Blocked {
  static constexpr VariantInfo info{
      .name = "blocked", .level = Level::range, .summary = "mdrange with tiles of our own, as wide as the rows allow"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    Plan(Exec const&, InputOn<BiasAdd, Exec, T> const& input)
        : tiles_(kernels::mdrange_tiles<Exec>(input.x.extent(0), input.x.extent(1))) {}

    void operator()(Exec const& exec, InputOn<BiasAdd, Exec, T> const& input,
                    OutputOn<BiasAdd, Exec, T> const& output) const {
      if (input.x.size() == 0) return;
      auto const x = input.x;
      auto const bias = input.bias;
      auto const y = output.y;
      Kokkos::parallel_for(
          "tessera::bias_add::blocked::add", kernels::columns_first<std::int64_t>(exec, tiles_),
          KOKKOS_LAMBDA(std::int64_t col, std::int64_t row) { y(row, col) = Add<T>{}(x(row, col), bias(col)); });
    }

   private:
    collective::MatrixTiles tiles_;
  };
};

VariantRows blocked() { return rows<BiasAdd, Blocked>(); }

}  // namespace tessera::bias_add
