/// \file
/// On matrix units (tensor cores), factors rounded to bfloat16: 8 significant bits. The launches are in tensor_layer.hpp.

#include "../problem.hpp"
#include "../tensor_layer.hpp"

#include <concepts>

#include <tessera/table/make_app.hpp>

namespace tessera::layernorm_linear {

struct FusedTensor {
  static constexpr VariantInfo info{
      .name = "fused_tensor",
      .level = Level::lane,
      .summary = "statistics of rows, then a product on matrix units, factors rounded to bfloat16 (8 bits)",
      .unit = Unit::bfloat16};

  template <ExecutionSpace Exec, class T>
    requires std::same_as<T, float>
  class Plan : public TensorLayer<Exec> {
   public:
    Plan(Exec const& exec, InputOn<LayernormLinear, Exec, T> const& input)
        : TensorLayer<Exec>(collective::require_matrix_units(exec), input) {}

    // Hosts have emulated units alone: there is nothing to compile for them.
    void operator()([[maybe_unused]] Exec const& exec, [[maybe_unused]] InputOn<LayernormLinear, Exec, T> const& input,
                    [[maybe_unused]] OutputOn<LayernormLinear, Exec, T> const& output) const {
      if constexpr (is_gpu<Exec>) TensorLayer<Exec>::operator()(exec, input, output);
    }
  };
};

VariantRows fused_tensor() { return rows<LayernormLinear, FusedTensor>(); }

}  // namespace tessera::layernorm_linear
