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
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<BiasAdd, Exec, T> const& input)
        : add_(exec, input.x.extent(0), input.x.extent(1), "tessera::bias_add::vector") {}

    void operator()(Exec const& exec, InputOn<BiasAdd, Exec, T> const& input,
                    OutputOn<BiasAdd, Exec, T> const& output) const {
      add_(exec, input.x, input.bias, output.y);
    }

   private:
    kernels::BiasAdd<Exec, T> add_;
  };
};

VariantRows vector() { return rows<BiasAdd, Vector>(); }

}  // namespace tessera::bias_add
