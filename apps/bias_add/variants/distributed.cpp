/// \file
/// On several ranks: each rank has its rows of x and the whole bias. Ranks exchange nothing. The kernel is
/// kernels/bias_add.hpp, as in `vector`.

#include "../problem.hpp"

#include <tessera/kernels/bias_add.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::bias_add {

struct Distributed {
  static constexpr VariantInfo info{.name = "distributed",
                                    .level = Level::ranks,
                                    .summary = "rows split over the ranks, bias on every rank, no communication"};

  template <ExecutionSpace Exec, class T>
  struct Plan : kernels::BiasAdd<Exec, T> {
    Plan(Exec const& exec, InputOn<BiasAdd, Exec, T> const& input, ranks::Part const&)
        : Plan::BiasAdd(exec, input.x.extent(0), input.x.extent(1), "tessera::bias_add::distributed") {}
  };
};

VariantRows distributed() { return rows<BiasAdd, Distributed>(); }

}  // namespace tessera::bias_add
