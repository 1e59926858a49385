/// \file
/// A thread takes one piece of a row at a time. It holds the row's element of b in a register and adds it to the
/// elements of a, which its lanes read in 16-byte packs. The kernel is kernels/broadcast_add.hpp.

#include "../problem.hpp"

#include <tessera/kernels/broadcast_add.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::broadcast_add {

struct TeamRows {
  static constexpr VariantInfo info{
      .name = "team_rows", .level = Level::team, .summary = "a piece of a row per thread, b[row] in a register"};

  template <ExecutionSpace Exec, class T>
  struct Plan : kernels::BroadcastAdd<Exec, T> {
    Plan(Exec const& exec, InputOn<BroadcastAdd, Exec, T> const& input)
        : Plan::BroadcastAdd(exec, input.b.extent(0), input.a.extent(0), input.parameters.team,
                             "tessera::broadcast_add::team_rows") {}
  };
};

VariantRows team_rows() { return rows<BroadcastAdd, TeamRows>(); }

}  // namespace tessera::broadcast_add
