/// \file
/// On several ranks: each rank makes its own rows as `stored_rows` does, with the layer's parameters on all ranks.
/// Ranks exchange nothing.

#include <type_traits>

#include "../problem.hpp"
#include "../stored_rows_product.hpp"

#include <tessera/ranks/part.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::layernorm_linear {

struct Distributed {
  static constexpr VariantInfo info{.name = "distributed",
                                    .level = Level::ranks,
                                    .summary = "each rank its rows, as stored_rows; w on all, no communication"};

  template <ExecutionSpace Exec, class T>
    requires std::is_floating_point_v<T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<LayernormLinear, Exec, T> const& input, ranks::Part const&)
        : product_(exec, input, "tessera::layernorm_linear::distributed") {}

    void operator()(Exec const& exec, InputOn<LayernormLinear, Exec, T> const& input,
                    OutputOn<LayernormLinear, Exec, T> const& output) const {
      product_(exec, input, output);
    }

    [[nodiscard]] double rounding_steps() const { return product_.rounding_steps(); }

   private:
    StoredRowsProduct<Exec, T> product_;
  };
};

VariantRows distributed() { return rows<LayernormLinear, Distributed>(); }

}  // namespace tessera::layernorm_linear
