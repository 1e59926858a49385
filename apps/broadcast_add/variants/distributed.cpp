/// \file
/// On several ranks: each rank has its rows of the output, the block of b for these rows, and the whole of a. Ranks
/// exchange nothing. The kernel is kernels/broadcast_add.hpp.

#include "../problem.hpp"

#include <tessera/kernels/broadcast_add.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::broadcast_add {

struct Distributed {
  static constexpr VariantInfo info{.name = "distributed",
                                    .level = Level::ranks,
                                    .summary = "rows split over the ranks, a on every rank, no communication"};

  template <ExecutionSpace Exec, class T>
  struct Plan : kernels::BroadcastAdd<Exec, T> {
    Plan(Exec const& exec, InputOn<BroadcastAdd, Exec, T> const& input, ranks::Part const&)
        : Plan::BroadcastAdd(exec, input.b.extent(0), input.a.extent(0), input.parameters.team,
                             "tessera::broadcast_add::distributed") {}
  };
};

VariantRows distributed() { return rows<BroadcastAdd, Distributed>(); }

}  // namespace tessera::broadcast_add
