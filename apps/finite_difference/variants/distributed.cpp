/// \file
/// On several ranks: each rank applies the stencil to its own block while it receives the first elements of the next
/// ranks; then to its border, the elements whose results need the received elements. Segments may cross ranks. By lanes
/// on a GPU, through scratch on a host (kernels/stencil.hpp).

#include "../problem.hpp"

#include <tessera/kernels/stencil.hpp>
#include <tessera/ranks/border.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::finite_difference {

struct Distributed {
  static constexpr VariantInfo info{.name = "distributed",
                                    .level = Level::ranks,
                                    .summary = "one block per rank, the elements after it from the next ranks"};

  template <ExecutionSpace Exec, class T>
  using Kernel = kernels::StencilKernel<Exec, T, Difference<T>>;

  template <ExecutionSpace Exec, class T>
  using Plan = ranks::StencilPlanOnRanks<FiniteDifference, Distributed, Exec, T, Kernel<Exec, T>>;
};

VariantRows distributed() { return rows<FiniteDifference, Distributed>(); }

}  // namespace tessera::finite_difference
