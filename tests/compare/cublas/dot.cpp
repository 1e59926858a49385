/// \file
/// cublasSdot and cublasDdot; the result stays on the GPU.

#include <concepts>
#include <type_traits>

#include "../../../apps/dot/problem.hpp"
#include "../cuda_library.hpp"
#include "../peers.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::compare {
namespace {

using dot::Dot;

struct CublasDot {
  static constexpr VariantInfo info{.name = "cublas", .level = Level::library, .summary = "cublasSdot, cublasDdot"};

  template <ExecutionSpace Exec, class T>
    requires std::same_as<Exec, Kokkos::Cuda> && std::is_floating_point_v<T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<Dot, Exec, T> const&) {
      check(cublasSetPointerMode(cublas_.on(exec), CUBLAS_POINTER_MODE_DEVICE));
    }

    void operator()(Exec const& exec, InputOn<Dot, Exec, T> const& input, OutputOn<Dot, Exec, T> const& output) const {
      auto const n = static_cast<std::int64_t>(input.a.extent(0));
      cublasHandle_t const handle = cublas_.on(exec);
      if constexpr (std::is_same_v<T, float>) {
        check(cublasSdot_64(handle, n, input.a.data(), 1, input.b.data(), 1, output.out.data()));
      } else {
        check(cublasDdot_64(handle, n, input.a.data(), 1, input.b.data(), 1, output.out.data()));
      }
    }

   private:
    Cublas cublas_;
  };
};

}  // namespace

Peer cublas_dot() { return {"dot", {rows<Dot, CublasDot>()}}; }

}  // namespace tessera::compare
