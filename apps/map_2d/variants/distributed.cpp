/// \file
/// On several ranks: each rank adds the constant to its own rows. Ranks exchange nothing. The kernel is
/// kernels/transform.hpp.

#include "../problem.hpp"

#include <tessera/kernels/transform.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::map_2d {

struct Distributed {
  static constexpr VariantInfo info{.name = "distributed",
                                    .level = Level::ranks,
                                    .summary = "rows split over the ranks, 16-byte accesses, no communication"};

  template <ExecutionSpace Exec, class T>
  struct Plan : kernels::Transform<Exec, T, AddConstant<T>> {
    Plan(Exec const&, InputOn<Map2d, Exec, T> const& input, ranks::Part const&)
        : Plan::Transform({static_cast<T>(input.parameters.c)}, "tessera::map_2d::distributed::add") {}
  };
};

VariantRows distributed() { return rows<Map2d, Distributed>(); }

}  // namespace tessera::map_2d
