#pragma once
/// \file
/// The Plan of tensor_tf32 and tensor_3xtf32, with Tf32Gemm (kernels/tf32_gemm.hpp), and of warpgroup_tf32 and
/// warpgroup_3xtf32, with WarpgroupTf32Gemm (kernels/warpgroup_tf32_gemm.hpp); and the elements that they can take.

#include <Kokkos_Core.hpp>

#include <string>
#include <utility>

#include "factor_facts.hpp"
#include "problem.hpp"

#include <tessera/collective/lane/matrix_unit.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/kernels/tf32_gemm.hpp>
#include <tessera/table/make_app.hpp>
#include <tessera/table/on_matrix_units.hpp>
#include <tessera/table/shared_plan.hpp>

namespace tessera::matmul {

/// The rule for elements that tf32 represents. Two terms represent twice as many bits, but the product of two factors
/// omits the product of both low terms.
struct Tf32Rule {
  [[nodiscard]] KOKKOS_FUNCTION static Fit fit(float value, float magnitude) {
    using Unit = collective::MatrixUnit<collective::Tf32>;
    if (!(magnitude == 0 || (magnitude >= Unit::smallest && magnitude <= Unit::largest))) return Fit::outside;
    return collective::to_tf32(value) == value ? Fit::exactly : Fit::rounded;
  }
};

/// Emulates matrix units on hosts, for tests only; the variants skip hosts. Throws Skip for matrices with elements that
/// the terms do not represent, and on GPUs without matrix units. `Gemm`: a kernel object for floats with `Terms` terms.
template <ExecutionSpace Exec, int Terms, class Gemm = kernels::Tf32Gemm<Exec, Terms>>
class Tf32Plan : public Gemm {
 public:
  Tf32Plan(Exec const& exec, InputOn<Matmul, Exec, float> const& input, std::string const& label)
      : Gemm(exec, input.a.extent(0), input.b.extent(1), input.a.extent(1), label + "::product") {
    kernels::require_team_of_tile(input.parameters.team, Gemm::Tile::lanes);
    FactorFacts const a = facts_of<Tf32Rule>(exec, input.a);
    FactorFacts const b = facts_of<Tf32Rule>(exec, input.b);
    rounds_data_ = a.rounded + b.rounded > 0;
    if (a.outside + b.outside > 0) {
      throw Skip(
          "elements outside of 2^-50 to 2^126, and not 0 (the unit's products may underflow below, and tf32 may round "
          "to infinity above)");
    }
  }

  [[nodiscard]] ReducedPrecision reduced_precision() const {
    return {.relative = this->error(), .rounds_data = rounds_data_};
  }

 private:
  bool rounds_data_ = false;
};

}  // namespace tessera::matmul
