/// \file
/// One launch: the product of kernels/gemm.hpp normalises x as it loads it, and computes the row's statistics itself
/// whenever it begins a row. On a GPU a lane does so once per row of its tile that it loads; on a host a thread does so
/// for every step along k. Only y is stored; a row's statistics are computed again for each tile of outputs.

#include <type_traits>

#include "../fused_product.hpp"
#include "../problem.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::layernorm_linear {

struct Fused {
  static constexpr VariantInfo info{
      .name = "fused",
      .level = Level::team,
      .summary = "one launch: a tiled product that takes the rows' statistics and normalises what it loads"};

  template <ExecutionSpace Exec, class T>
    requires std::is_floating_point_v<T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<LayernormLinear, Exec, T> const& input)
        : product_(exec, input, "tessera::layernorm_linear::fused::product") {}

    void operator()(Exec const& exec, InputOn<LayernormLinear, Exec, T> const& input,
                    OutputOn<LayernormLinear, Exec, T> const& output) const {
      product_(exec, input, output);
    }

    [[nodiscard]] double rounding_steps() const { return product_.rounding_steps(); }

   private:
    FusedProduct<Exec, T> product_;
  };
};

VariantRows fused() { return rows<LayernormLinear, Fused>(); }

}  // namespace tessera::layernorm_linear
