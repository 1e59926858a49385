/// \file
/// cublasSgeam and cublasDgeam: the sum of a transposed matrix and zero.

#include <concepts>
#include <type_traits>

#include "../../../apps/transpose/problem.hpp"
#include "../cuda_library.hpp"
#include "../peers.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::compare {
namespace {

using transpose::Transpose;

struct CublasGeam {
  static constexpr VariantInfo info{.name = "cublas", .level = Level::library, .summary = "cublasSgeam, cublasDgeam"};

  template <ExecutionSpace Exec, class T>
    requires std::same_as<Exec, Kokkos::Cuda> && std::is_floating_point_v<T>
  class Plan {
   public:
    Plan(Exec const&, InputOn<Transpose, Exec, T> const& input) {
      if (input.a.size() == 0) throw Skip("nothing to compare (an extent is 0)");
    }

    void operator()(Exec const& exec, InputOn<Transpose, Exec, T> const& input,
                    OutputOn<Transpose, Exec, T> const& output) const {
      auto const rows = static_cast<std::int64_t>(input.a.extent(0));
      auto const cols = static_cast<std::int64_t>(input.a.extent(1));
      T const one = 1;
      T const zero = 0;
      cublasHandle_t const handle = cublas_.on(exec);
      // In column-major order `out` is rows x cols and `a` is cols x rows.
      if constexpr (std::is_same_v<T, float>) {
        check(cublasSgeam_64(handle, CUBLAS_OP_T, CUBLAS_OP_N, rows, cols, &one, input.a.data(), cols, &zero,
                             output.out.data(), rows, output.out.data(), rows));
      } else {
        check(cublasDgeam_64(handle, CUBLAS_OP_T, CUBLAS_OP_N, rows, cols, &one, input.a.data(), cols, &zero,
                             output.out.data(), rows, output.out.data(), rows));
      }
    }

   private:
    Cublas cublas_;
  };
};

}  // namespace

Peer cublas_transpose() { return {"transpose", {rows<Transpose, CublasGeam>()}}; }

}  // namespace tessera::compare
