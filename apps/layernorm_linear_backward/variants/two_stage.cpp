/// \file
/// Deterministic, in few sweeps (two_stage_gradients.hpp):
///   1. q = G w.
///   2. One sweep over x and q makes dx, ln and the column sums of each chunk of rows, which are added in their order.
///   3. dw = G^T ln, whose k is split over teams if dw is small.

#include <string>
#include <type_traits>

#include "../problem.hpp"
#include "../two_stage_gradients.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::layernorm_linear_backward {

struct TwoStage {
  static constexpr VariantInfo info{.name = "two_stage",
                                    .level = Level::lane,
                                    .summary = "row work fused, sums of columns in chunks that are added in order"};

  template <ExecutionSpace Exec, class T>
    requires std::is_floating_point_v<T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<LayernormLinearBackward, Exec, T> const& input)
        : gradients_(exec, input, "tessera::layernorm_linear_backward::two_stage") {}

    void operator()(Exec const& exec, InputOn<LayernormLinearBackward, Exec, T> const& input,
                    OutputOn<LayernormLinearBackward, Exec, T> const& output) const {
      gradients_.rows_and_columns(exec, input, output);
      gradients_.weights(exec, input, output);
    }

    [[nodiscard]] double rounding_steps() const { return LayernormLinearBackward::chain(gradients_.steps()); }
    [[nodiscard]] std::string note() const { return gradients_.note(); }

   private:
    TwoStageGradients<Exec, T> gradients_;
  };
};

VariantRows two_stage() { return rows<LayernormLinearBackward, TwoStage>(); }

}  // namespace tessera::layernorm_linear_backward
