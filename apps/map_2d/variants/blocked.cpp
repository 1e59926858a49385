/// \file
/// mdrange with explicit tiles, as wide as the rows allow: 256 threads on a GPU; on a host as much as a thread's caches
/// hold. Kokkos' default on CUDA can be 16 x 2 threads: with a single row half of them are idle.

#include "../problem.hpp"

#include <tessera/kernels/detail/launch/row_tiles.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::map_2d {

struct Blocked {
  static constexpr VariantInfo info{
      .name = "blocked", .level = Level::range, .summary = "mdrange with tiles of our own, as wide as the rows allow"};

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
          "tessera::map_2d::blocked::add", kernels::columns_first<std::int64_t>(exec, tiles_),
          KOKKOS_LAMBDA(std::int64_t col, std::int64_t row) { out(row, col) = add(a(row, col)); });
    }

   private:
    AddConstant<T> add_;
    collective::MatrixTiles tiles_;
  };
};

VariantRows blocked() { return rows<Map2d, Blocked>(); }

}  // namespace tessera::map_2d
