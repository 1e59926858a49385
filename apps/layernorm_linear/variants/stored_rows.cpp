/// \file
/// Two steps: ln = layernorm(x) to memory, then the product of ln and w transposed, which adds the bias as it stores.

#include <type_traits>

#include "../problem.hpp"
#include "../stored_rows_product.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::layernorm_linear {

struct StoredRows {
  static constexpr VariantInfo info{.name = "stored_rows",
                                    .level = Level::team,
                                    .summary = "layernorm to memory, then a tiled product with the bias"};

  template <ExecutionSpace Exec, class T>
    requires std::is_floating_point_v<T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<LayernormLinear, Exec, T> const& input)
        : product_(exec, input, "tessera::layernorm_linear::stored_rows") {}

    void operator()(Exec const& exec, InputOn<LayernormLinear, Exec, T> const& input,
                    OutputOn<LayernormLinear, Exec, T> const& output) const {
      product_(exec, input, output);
    }

    [[nodiscard]] double rounding_steps() const { return product_.rounding_steps(); }

   private:
    StoredRowsProduct<Exec, T> product_;
  };
};

VariantRows stored_rows() { return rows<LayernormLinear, StoredRows>(); }

}  // namespace tessera::layernorm_linear
