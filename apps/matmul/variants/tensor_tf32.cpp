/// \file
/// On matrix units (tensor cores), with factors rounded to tf32 (11 significant bits). A result may be off by 2^-10 of
/// the sum of its terms' magnitudes. The kernel is kernels/tf32_gemm.hpp.

#include "../problem.hpp"
#include "../tf32_plan.hpp"

#include <concepts>

#include <tessera/table/make_app.hpp>
#include <tessera/table/on_matrix_units.hpp>

namespace tessera::matmul {

struct TensorTf32 {
  static constexpr VariantInfo info{.name = "tensor_tf32",
                                    .level = Level::lane,
                                    .summary = "matrix units, factors rounded to tf32 (11 bits), sums in float",
                                    .unit = Unit::tf32};

  template <ExecutionSpace Exec, class T>
    requires std::same_as<T, float>
  class Plan : public OnMatrixUnits<Exec, Tf32Plan<Exec, 1>> {
   public:
    Plan(Exec const& exec, InputOn<Matmul, Exec, T> const& input)
        : OnMatrixUnits<Exec, Tf32Plan<Exec, 1>>(exec, input, "tessera::matmul::tensor_tf32::product") {}
  };
};

VariantRows tensor_tf32() { return rows<Matmul, TensorTf32>(); }

}  // namespace tessera::matmul
