/// \file
/// On matrix units (tensor cores), factors rounded to tf32: 11 significant bits. The fastest product of floats, and the least
/// exact: a result may be off by 2^-10 of the sum of its terms' magnitudes. The kernel is kernels/tf32_gemm.hpp.

#include "../problem.hpp"
#include "../tf32_plan.hpp"

#include <concepts>

#include <tessera/table/make_app.hpp>

namespace tessera::matmul {

struct TensorTf32 {
  static constexpr VariantInfo info{.name = "tensor_tf32",
                                    .level = Level::lane,
                                    .summary = "matrix units, factors rounded to tf32 (11 bits), sums in float",
                                    .unit = Unit::tf32};

  template <ExecutionSpace Exec, class T>
    requires std::same_as<T, float>
  class Plan : public Tf32Plan<Exec, 1> {
   public:
    Plan(Exec const& exec, InputOn<Matmul, Exec, T> const& input)
        : Tf32Plan<Exec, 1>(collective::require_matrix_units(exec), input, "tessera::matmul::tensor_tf32::product") {}

    // Hosts have emulated units alone: there is nothing to compile for them.
    void operator()([[maybe_unused]] Exec const& exec, [[maybe_unused]] InputOn<Matmul, Exec, T> const& input,
                    [[maybe_unused]] OutputOn<Matmul, Exec, T> const& output) const {
      if constexpr (is_gpu<Exec>) Tf32Plan<Exec, 1>::operator()(exec, input, output);
    }
  };
};

VariantRows tensor_tf32() { return rows<Matmul, TensorTf32>(); }

}  // namespace tessera::matmul
