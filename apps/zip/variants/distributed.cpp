/// \file
/// On several ranks: each rank adds its own blocks. Ranks exchange nothing. The kernel is kernels/transform.hpp.

#include "../problem.hpp"

#include <tessera/kernels/transform.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::zip {

struct Distributed {
  static constexpr VariantInfo info{.name = "distributed",
                                    .level = Level::ranks,
                                    .summary = "one block per rank, 16-byte accesses, no communication"};

  template <ExecutionSpace Exec, class T>
  struct Plan : kernels::Transform<Exec, T, Add<T>> {
    Plan(Exec const&, InputOn<Zip, Exec, T> const&, ranks::Part const&)
        : Plan::Transform({}, "tessera::zip::distributed::add") {}
  };
};

VariantRows distributed() { return rows<Zip, Distributed>(); }

}  // namespace tessera::zip
