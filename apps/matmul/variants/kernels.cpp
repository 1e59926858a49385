/// \file
/// KokkosBlas::gemm of Kokkos Kernels: the vendor's BLAS if Kokkos Kernels was built with it, else its own kernel; the
/// note says which. For float and double.

#include "../problem.hpp"

#include <tessera/table/make_app.hpp>

#include <tessera/table/kokkos_blas.hpp>

namespace tessera::matmul {

struct Kernels {
  static constexpr VariantInfo info{.name = "kernels",
                                    .level = Level::library,
                                    .summary = "KokkosBlas::gemm (the vendor's BLAS or Kokkos Kernels' own kernel)"};

  template <ExecutionSpace Exec, std::floating_point T>
  class Plan {
   public:
    Plan(Exec const&, InputOn<Matmul, Exec, T> const& input) : one_column_(input.b.extent(1) == 1) {
      needs_int_extents({input.a.extent(0), input.a.extent(1), input.b.extent(1)});
    }

    void operator()(Exec const& exec, InputOn<Matmul, Exec, T> const& input,
                    OutputOn<Matmul, Exec, T> const& output) const {
      if (input.a.extent(1) == 0) {
        // If k is 0, gemm would scale c by 0, outside this instance's queue; and 0 * NaN is NaN.
        Kokkos::deep_copy(exec, output.c, T(0));
        return;
      }
      KokkosBlas::gemm(exec, "N", "N", T(1), input.a, input.b, T(0), output.c);
    }

    /// Returns whose code runs. gemm passes a single column to gemv, which makes its own choice.
    [[nodiscard]] std::string note() const {
      if (one_column_) return gemv_is_vendors ? "vendor BLAS, gemv" : "Kokkos Kernels' own gemv";
      return whose_gemm<Exec, T>();
    }

   private:
    static constexpr bool gemv_is_vendors =
        KokkosBlas::Impl::gemv_tpl_spec_avail<Exec, BlasView<Exec, T const**>, BlasView<Exec, T const*>,
                                              BlasView<Exec, T*>>::value;

    bool one_column_;
  };
};

VariantRows kernels() { return rows<Matmul, Kernels>(); }

}  // namespace tessera::matmul
