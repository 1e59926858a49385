/// \file
/// On several ranks: each rank adds the constant to its own block. Ranks exchange nothing. The kernel is
/// kernels/transform.hpp.

#include "../problem.hpp"

#include <tessera/kernels/transform.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::map {

struct Distributed {
  static constexpr VariantInfo info{.name = "distributed",
                                    .level = Level::ranks,
                                    .summary = "one block per rank, 16-byte accesses, no communication"};

  template <ExecutionSpace Exec, class T>
  struct Plan : kernels::Transform<Exec, T, AddConstant<T>> {
    Plan(Exec const&, InputOn<Map, Exec, T> const& input, ranks::Part const&)
        : Plan::Transform({static_cast<T>(input.parameters.c)}, "tessera::map::distributed::add") {}
  };
};

VariantRows distributed() { return rows<Map, Distributed>(); }

}  // namespace tessera::map
