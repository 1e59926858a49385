/// \file
/// cublasSgemv and cublasDgemv: the product of the matrix, or of its transpose, with ones.

#include <algorithm>
#include <concepts>
#include <type_traits>

#include "../../../apps/axis_sum/problem.hpp"
#include "../cuda_library.hpp"
#include "../peers.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::compare {
namespace {

using axis_sum::AxisSum;

struct CublasGemv {
  static constexpr VariantInfo info{
      .name = "cublas", .level = Level::library, .summary = "cublasSgemv, cublasDgemv: the product with ones"};

  template <ExecutionSpace Exec, class T>
    requires std::same_as<Exec, Kokkos::Cuda> && std::is_floating_point_v<T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<AxisSum, Exec, T> const& input)
        : along_rows_(input.parameters.axis == 1),
          ones_(Kokkos::view_alloc(exec, Kokkos::WithoutInitializing, "tessera::compare: ones"),
                input.a.extent(along_rows_ ? 1 : 0)) {
      if (input.a.size() == 0) throw Skip("nothing to compare (an extent is 0)");
      Kokkos::deep_copy(exec, ones_, T(1));
    }

    void operator()(Exec const& exec, InputOn<AxisSum, Exec, T> const& input,
                    OutputOn<AxisSum, Exec, T> const& output) const {
      // In column-major order `a` is cols x rows.
      auto const rows = static_cast<std::int64_t>(input.a.extent(0));
      auto const cols = static_cast<std::int64_t>(input.a.extent(1));
      cublasOperation_t const operation = along_rows_ ? CUBLAS_OP_T : CUBLAS_OP_N;
      T const one = 1;
      T const zero = 0;
      cublasHandle_t const handle = cublas_.on(exec);
      if constexpr (std::is_same_v<T, float>) {
        check(cublasSgemv_64(handle, operation, cols, rows, &one, input.a.data(), cols, ones_.data(), 1, &zero,
                             output.out.data(), 1));
      } else {
        check(cublasDgemv_64(handle, operation, cols, rows, &one, input.a.data(), cols, ones_.data(), 1, &zero,
                             output.out.data(), 1));
      }
    }

   private:
    bool along_rows_;
    Kokkos::View<T*, typename Exec::memory_space> ones_;
    Cublas cublas_;
  };
};

}  // namespace

Peer cublas_axis_sum() { return {"axis_sum", {rows<AxisSum, CublasGemv>()}}; }

}  // namespace tessera::compare
