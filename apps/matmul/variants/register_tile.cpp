/// \file
/// Two-dimensional tiles of c in registers. On a GPU: up to 8 x 16 sums per lane, 16-byte accesses, and two or three
/// slices in scratch. On a host: as many vectors of sums as there are registers, and copied panels. The kernel is
/// kernels/gemm.hpp.

#include "../problem.hpp"

#include <tessera/kernels/gemm.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::matmul {

struct RegisterTile {
  static constexpr VariantInfo info{.name = "register_tile",
                                    .level = Level::team,
                                    .summary = "2-D tiles in registers, 16-byte loads, several slices in scratch"};

  template <ExecutionSpace Exec, class T>
  struct Plan : kernels::Gemm<Exec, T> {
    Plan(Exec const& exec, InputOn<Matmul, Exec, T> const& input)
        : Plan::Gemm(exec, input.a.extent(0), input.b.extent(1), input.a.extent(1), input.parameters.team,
                     "tessera::matmul::register_tile::product") {}
  };
};

VariantRows register_tile() { return rows<Matmul, RegisterTile>(); }

}  // namespace tessera::matmul
