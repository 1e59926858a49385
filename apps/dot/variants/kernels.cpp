/// \file
/// KokkosBlas::dot of Kokkos Kernels: the vendor's BLAS where it was built with one and the types fit, else its own loop.
/// For float and double; a build without Kokkos Kernels skips the rows and says so.

#include "../problem.hpp"

#include <tessera/app/make_app.hpp>

#ifdef TESSERA_HAVE_KOKKOS_KERNELS
#include <KokkosBlas1_dot.hpp>
#include <KokkosKernels_config.h>
#endif

namespace tessera::dot {

struct Kernels {
  static constexpr VariantInfo info{
      .name = "kernels", .level = Level::library, .summary = "KokkosBlas::dot (vendor BLAS or Kokkos Kernels' own)"};

  template <ExecutionSpace Exec, class T>
    requires std::is_floating_point_v<T>
  class Plan {
   public:
#ifdef TESSERA_HAVE_KOKKOS_KERNELS
    Plan(Exec const&, InputOn<Dot, Exec, T> const&) {}

    void operator()(Exec const& exec, InputOn<Dot, Exec, T> const& input, OutputOn<Dot, Exec, T> const& output) const {
      KokkosBlas::dot(exec, output.out, input.a, input.b);
    }

    /// Which code this build of Kokkos Kernels takes for these types.
    [[nodiscard]] std::string note() const {
#if defined(KOKKOSKERNELS_ENABLE_TPL_CUBLAS)
      if (space_name<Exec>() == "cuda") return "built with cuBLAS";
#endif
#if defined(KOKKOSKERNELS_ENABLE_TPL_ROCBLAS)
      if (space_name<Exec>() == "hip") return "built with rocBLAS";
#endif
#if defined(KOKKOSKERNELS_ENABLE_TPL_BLAS)
      if (!is_gpu<Exec>) return "built with a host BLAS";
#endif
      return "native, no vendor BLAS";
    }
#else
    Plan(Exec const&, InputOn<Dot, Exec, T> const&) { throw Skip("built without Kokkos Kernels"); }

    void operator()(Exec const&, InputOn<Dot, Exec, T> const&, OutputOn<Dot, Exec, T> const&) const {}
#endif
  };
};

VariantRows kernels() { return rows<Dot, Kernels>(); }

}  // namespace tessera::dot
