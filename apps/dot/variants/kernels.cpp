/// \file
/// KokkosBlas::dot of Kokkos Kernels: a host BLAS where it was built with one, else its own loop; the note says which.
/// For float and double; a build without Kokkos Kernels skips the rows and says so.

#include "../problem.hpp"

#include <tessera/table/make_app.hpp>

#ifdef TESSERA_HAVE_KOKKOS_KERNELS
#include <KokkosKernels_config.h>
#include <KokkosBlas1_dot.hpp>
#endif

namespace tessera::dot {

struct Kernels {
  static constexpr VariantInfo info{.name = "kernels",
                                    .level = Level::library,
                                    .summary = "KokkosBlas::dot (a host BLAS or Kokkos Kernels' own loop)"};

  template <ExecutionSpace Exec, class T>
    requires std::is_floating_point_v<T>
  class Plan {
   public:
#ifdef TESSERA_HAVE_KOKKOS_KERNELS
    Plan(Exec const&, InputOn<Dot, Exec, T> const&) {}

    void operator()(Exec const& exec, InputOn<Dot, Exec, T> const& input, OutputOn<Dot, Exec, T> const& output) const {
      KokkosBlas::dot(exec, output.out, input.a, input.b);
    }

    /// Whose code runs. Kokkos Kernels hands a dot to a vendor only if the result lies in host memory: never on a GPU
    /// here, where nothing is to wait for the host.
    [[nodiscard]] std::string note() const {
#if defined(KOKKOSKERNELS_ENABLE_TPL_BLAS)
      if (!is_gpu<Exec>) return "vendor BLAS";
#endif
      return "Kokkos Kernels' own loop";
    }
#else
    Plan(Exec const&, InputOn<Dot, Exec, T> const&) { throw Skip("built without Kokkos Kernels"); }

    void operator()(Exec const&, InputOn<Dot, Exec, T> const&, OutputOn<Dot, Exec, T> const&) const {}
#endif
  };
};

VariantRows kernels() { return rows<Dot, Kernels>(); }

}  // namespace tessera::dot
