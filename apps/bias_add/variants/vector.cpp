/// \file
/// One index per pack of x; its column is found without a division. The kernel is kernels/bias_add.hpp.

#include "../problem.hpp"

#include <tessera/kernels/bias_add.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::bias_add {

struct Vector {
  static constexpr VariantInfo info{
      .name = "vector", .level = Level::range, .summary = "16-byte packs of x, columns without a division"};

  template <ExecutionSpace Exec, class T>
  struct Plan : kernels::BiasAdd<Exec, T> {
    Plan(Exec const& exec, InputOn<BiasAdd, Exec, T> const& input)
        : Plan::BiasAdd(exec, input.x.extent(0), input.x.extent(1), "tessera::bias_add::vector") {}
  };
};

VariantRows vector() { return rows<BiasAdd, Vector>(); }

}  // namespace tessera::bias_add
