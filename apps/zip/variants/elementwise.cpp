/// \file
/// One index per pack makes one 16-byte access each to a, b and out; the remainder is done element by element in the
/// same launch. Neighbouring threads take neighbouring packs. The kernel is kernels/transform.hpp.

#include "../problem.hpp"

#include <tessera/kernels/transform.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::zip {

struct Elementwise {
  static constexpr VariantInfo info{.name = "elementwise",
                                    .level = Level::range,
                                    .summary = "one 16-byte pack per index, remainder element by element"};

  template <ExecutionSpace Exec, class T>
  struct Plan : kernels::Transform<Exec, T, Add<T>> {
    Plan(Exec const&, InputOn<Zip, Exec, T> const&) : Plan::Transform({}, "tessera::zip::elementwise::add") {}
  };
};

VariantRows elementwise() { return rows<Zip, Elementwise>(); }

}  // namespace tessera::zip
