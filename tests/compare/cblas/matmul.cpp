/// \file
/// cblas_sgemm and cblas_dgemm of the BLAS that CMake found.

#include <concepts>
#include <type_traits>

#include "../../../apps/matmul/problem.hpp"
#include "../peers.hpp"
#include "extents.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::compare {
namespace {

using matmul::Matmul;

struct Cblas {
  static constexpr VariantInfo info{.name = "cblas", .level = Level::library, .summary = "cblas_sgemm, cblas_dgemm"};

  template <ExecutionSpace Exec, class T>
    requires(!is_gpu<Exec> && std::is_floating_point_v<T>)
  class Plan {
   public:
    Plan(Exec const&, InputOn<Matmul, Exec, T> const& input) {
      needs_blas_extents({input.a.extent(0), input.a.extent(1), input.b.extent(1)});
    }

    void operator()(Exec const&, InputOn<Matmul, Exec, T> const& input, OutputOn<Matmul, Exec, T> const& output) const {
      auto const m = static_cast<blasint>(input.a.extent(0));
      auto const k = static_cast<blasint>(input.a.extent(1));
      auto const n = static_cast<blasint>(input.b.extent(1));
      if constexpr (std::is_same_v<T, float>) {
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, input.a.data(), k, input.b.data(), n, 0,
                    output.c.data(), n);
      } else {
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, input.a.data(), k, input.b.data(), n, 0,
                    output.c.data(), n);
      }
    }
  };
};

}  // namespace

Peer cblas_matmul() { return {"matmul", {rows<Matmul, Cblas>()}}; }

}  // namespace tessera::compare
