/// \file
/// cublasSgemm and cublasDgemm without the rounding of tensor cores. Row-major matrices are transposed column-major
/// ones, so the call computes c^T = b^T a^T.

#include <concepts>
#include <type_traits>

#include "../../../apps/matmul/problem.hpp"
#include "../cuda_library.hpp"
#include "../peers.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::compare {
namespace {

using matmul::Matmul;

struct CublasGemm {
  static constexpr VariantInfo info{.name = "cublas", .level = Level::library, .summary = "cublasSgemm, cublasDgemm"};

  template <ExecutionSpace Exec, class T>
    requires std::same_as<Exec, Kokkos::Cuda> && std::is_floating_point_v<T>
  class Plan {
   public:
    Plan(Exec const&, InputOn<Matmul, Exec, T> const& input) {
      if (input.a.size() == 0 || input.b.size() == 0) throw Skip("nothing to compare (an extent is 0)");
    }

    void operator()(Exec const& exec, InputOn<Matmul, Exec, T> const& input,
                    OutputOn<Matmul, Exec, T> const& output) const {
      auto const m = static_cast<std::int64_t>(input.a.extent(0));
      auto const k = static_cast<std::int64_t>(input.a.extent(1));
      auto const n = static_cast<std::int64_t>(input.b.extent(1));
      T const one = 1;
      T const zero = 0;
      cublasHandle_t const handle = cublas_.on(exec);
      if constexpr (std::is_same_v<T, float>) {
        check(cublasSgemm_64(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, input.b.data(), n, input.a.data(), k,
                             &zero, output.c.data(), n));
      } else {
        check(cublasDgemm_64(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, input.b.data(), n, input.a.data(), k,
                             &zero, output.c.data(), n));
      }
    }

   private:
    Cublas cublas_;
  };
};

}  // namespace

Peer cublas_matmul() { return {"matmul", {rows<Matmul, CublasGemm>()}}; }

}  // namespace tessera::compare
