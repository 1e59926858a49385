/// \file
/// cblas_sgemv and cblas_dgemv of the BLAS that CMake found: the product of the matrix, or of its transpose, with ones.

#include <concepts>
#include <type_traits>
#include <vector>

#include "../../../apps/axis_sum/problem.hpp"
#include "../peers.hpp"
#include "extents.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::compare {
namespace {

using axis_sum::AxisSum;

struct Cblas {
  static constexpr VariantInfo info{
      .name = "cblas", .level = Level::library, .summary = "cblas_sgemv, cblas_dgemv: the product with ones"};

  template <ExecutionSpace Exec, class T>
    requires(!is_gpu<Exec> && std::is_floating_point_v<T>)
  class Plan {
   public:
    Plan(Exec const&, InputOn<AxisSum, Exec, T> const& input)
        : along_rows_(input.parameters.axis == 1), ones_(input.a.extent(along_rows_ ? 1 : 0), T(1)) {
      needs_blas_extents({input.a.extent(0), input.a.extent(1)});
    }

    void operator()(Exec const&, InputOn<AxisSum, Exec, T> const& input,
                    OutputOn<AxisSum, Exec, T> const& output) const {
      auto const rows = static_cast<blasint>(input.a.extent(0));
      auto const cols = static_cast<blasint>(input.a.extent(1));
      CBLAS_TRANSPOSE const operation = along_rows_ ? CblasNoTrans : CblasTrans;
      if constexpr (std::is_same_v<T, float>) {
        cblas_sgemv(CblasRowMajor, operation, rows, cols, 1, input.a.data(), cols, ones_.data(), 1, 0,
                    output.out.data(), 1);
      } else {
        cblas_dgemv(CblasRowMajor, operation, rows, cols, 1, input.a.data(), cols, ones_.data(), 1, 0,
                    output.out.data(), 1);
      }
    }

   private:
    bool along_rows_;
    std::vector<T> ones_;
  };
};

}  // namespace

Peer cblas_axis_sum() { return {"axis_sum", {rows<AxisSum, Cblas>()}}; }

}  // namespace tessera::compare
