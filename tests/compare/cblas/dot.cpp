/// \file
/// cblas_sdot and cblas_ddot of the BLAS that CMake found.

#include <concepts>
#include <type_traits>

#include "../../../apps/dot/problem.hpp"
#include "../peers.hpp"
#include "extents.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::compare {
namespace {

using dot::Dot;

struct Cblas {
  static constexpr VariantInfo info{.name = "cblas", .level = Level::library, .summary = "cblas_sdot, cblas_ddot"};

  template <ExecutionSpace Exec, class T>
    requires(!is_gpu<Exec> && std::is_floating_point_v<T>)
  class Plan {
   public:
    Plan(Exec const&, InputOn<Dot, Exec, T> const& input) { needs_blas_extents({input.a.extent(0), 1}); }

    void operator()(Exec const&, InputOn<Dot, Exec, T> const& input, OutputOn<Dot, Exec, T> const& output) const {
      auto const n = static_cast<blasint>(input.a.extent(0));
      if constexpr (std::is_same_v<T, float>) {
        output.out() = cblas_sdot(n, input.a.data(), 1, input.b.data(), 1);
      } else {
        output.out() = cblas_ddot(n, input.a.data(), 1, input.b.data(), 1);
      }
    }
  };
};

}  // namespace

Peer cblas_dot() { return {"dot", {rows<Dot, Cblas>()}}; }

}  // namespace tessera::compare
