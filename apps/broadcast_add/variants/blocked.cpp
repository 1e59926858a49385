/// \file
/// mdrange with explicit tiles, as wide as the rows allow: 256 threads on a GPU; on a host as much as a thread's caches
/// hold. Kokkos' default on CUDA can be 16 x 2 threads: with a single row half of them are idle.

#include "../problem.hpp"

#include <tessera/kernels/detail/launch/row_tiles.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::broadcast_add {

struct Blocked {
  static constexpr VariantInfo info{
      .name = "blocked", .level = Level::range, .summary = "mdrange with tiles of our own, as wide as the rows allow"};

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
          "tessera::broadcast_add::blocked::add", kernels::columns_first<std::int64_t>(exec, tiles_),
          KOKKOS_LAMBDA(std::int64_t col, std::int64_t row) { out(row, col) = Add<T>{}(a(col), b(row)); });
    }

   private:
    collective::MatrixTiles tiles_;
  };
};

VariantRows blocked() { return rows<BroadcastAdd, Blocked>(); }

}  // namespace tessera::broadcast_add
