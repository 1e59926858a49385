/// \file
/// 16-byte accesses on both sides of memory. A lane loads square blocks, one pack from each of their rows, all of them
/// under way at once; turns them in registers, so that it holds packs of the output's rows; and puts these into team
/// scratch. Another lane takes them from there: neighbouring packs of a row of the output, stored by neighbouring
/// lanes. On a host blocks leave their registers as whole cache lines. The kernel is kernels/transpose.hpp.

#include "../problem.hpp"

#include <tessera/kernels/transpose.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::transpose {

struct Vector {
  static constexpr VariantInfo info{.name = "vector",
                                    .level = Level::team,
                                    .summary = "blocks turned in registers, 16-byte accesses to memory and scratch"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<Transpose, Exec, T> const& input)
        : move_(exec, input.a.extent(0), input.a.extent(1), input.parameters.team, "tessera::transpose::vector::move") {
    }

    void operator()(Exec const& exec, InputOn<Transpose, Exec, T> const& input,
                    OutputOn<Transpose, Exec, T> const& output) const {
      move_(exec, input.a, output.out);
    }

   private:
    kernels::Transpose<Exec, T> move_;
  };
};

VariantRows vector() { return rows<Transpose, Vector>(); }

}  // namespace tessera::transpose
