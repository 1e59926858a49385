/// \file
/// On several ranks: each rank adds the constant to its own planes. Ranks exchange nothing. The kernel is
/// kernels/transform.hpp.

#include "../problem.hpp"

#include <tessera/kernels/transform.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::map_3d {

struct Distributed {
  static constexpr VariantInfo info{.name = "distributed",
                                    .level = Level::ranks,
                                    .summary = "planes split over the ranks, 16-byte accesses, no communication"};

  template <ExecutionSpace Exec, class T>
  struct Plan : kernels::Transform<Exec, T, AddConstant<T>> {
    Plan(Exec const&, InputOn<Map3d, Exec, T> const& input, ranks::Part const&)
        : Plan::Transform({static_cast<T>(input.parameters.c)}, "tessera::map_3d::distributed::add") {}
  };
};

VariantRows distributed() { return rows<Map3d, Distributed>(); }

}  // namespace tessera::map_3d
