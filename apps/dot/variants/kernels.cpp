/// \file
/// KokkosBlas::dot of Kokkos Kernels: a host BLAS if Kokkos Kernels was built with one, else its own loop; the note
/// says which. For float and double.

#include "../problem.hpp"

#include <tessera/table/make_app.hpp>

#include <tessera/table/kokkos_blas.hpp>

namespace tessera::dot {

struct Kernels {
  static constexpr VariantInfo info{.name = "kernels",
                                    .level = Level::library,
                                    .summary = "KokkosBlas::dot (a host BLAS or Kokkos Kernels' own loop)"};

  template <ExecutionSpace Exec, class T>
    requires std::is_floating_point_v<T>
  class Plan {
   public:
    Plan(Exec const&, InputOn<Dot, Exec, T> const&) {}

    void operator()(Exec const& exec, InputOn<Dot, Exec, T> const& input, OutputOn<Dot, Exec, T> const& output) const {
      KokkosBlas::dot(exec, output.out, input.a, input.b);
    }

    /// Returns whose code runs. Kokkos Kernels calls a vendor's dot only if the result lies in host memory. On a GPU
    /// the result is always in device memory here, because nothing may wait for the host.
    [[nodiscard]] std::string note() const {
#if defined(KOKKOSKERNELS_ENABLE_TPL_BLAS)
      if (!is_gpu<Exec>) return "vendor BLAS";
#endif
      return "Kokkos Kernels' own loop";
    }
  };
};

VariantRows kernels() { return rows<Dot, Kernels>(); }

}  // namespace tessera::dot
