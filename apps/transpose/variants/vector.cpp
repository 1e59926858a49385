/// \file
/// 16-byte accesses to both matrices. A lane loads square blocks, one pack from each of their rows, with all loads in
/// flight at once. It transposes the blocks in registers into packs of the output's rows and writes these to team
/// scratch. From there neighbouring lanes take neighbouring packs of a row of the output and store them. On a host,
/// blocks are stored as whole cache lines. The kernel is kernels/transpose.hpp.

#include "../problem.hpp"

#include <tessera/kernels/transpose.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::transpose {

struct Vector {
  static constexpr VariantInfo info{.name = "vector",
                                    .level = Level::team,
                                    .summary = "blocks turned in registers, 16-byte accesses to memory and scratch"};

  template <ExecutionSpace Exec, class T>
  struct Plan : kernels::Transpose<Exec, T> {
    Plan(Exec const& exec, InputOn<Transpose, Exec, T> const& input)
        : Plan::Transpose(exec, input.a.extent(0), input.a.extent(1), input.parameters.team,
                          "tessera::transpose::vector::move") {}
  };
};

VariantRows vector() { return rows<Transpose, Vector>(); }

}  // namespace tessera::transpose
