/// \file
/// KokkosBlas::gemv of Kokkos Kernels with a vector of ones: the vendor's BLAS if Kokkos Kernels was built with it,
/// else its own loop; the note says which. For float and double.

#include <limits>

#include "../problem.hpp"

#include <tessera/table/make_app.hpp>

#include <tessera/table/kokkos_blas.hpp>

namespace tessera::axis_sum {

struct Kernels {
  static constexpr VariantInfo info{.name = "kernels",
                                    .level = Level::library,
                                    .summary = "KokkosBlas::gemv with ones (a vendor's BLAS or Kokkos Kernels' own)"};

  template <ExecutionSpace Exec, class T>
    requires std::is_floating_point_v<T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<AxisSum, Exec, T> const& input)
        : ones_(Kokkos::view_alloc(exec, Kokkos::WithoutInitializing, "tessera::axis_sum::kernels::ones"),
                input.a.size() == 0 ? 0 : input.a.extent(input.parameters.axis == 1 ? 1 : 0)) {
      constexpr auto most = static_cast<std::size_t>(std::numeric_limits<int>::max());
      if (is_vendor && (input.a.extent(0) > most || input.a.extent(1) > most)) {
        throw Skip("an extent beyond 2^31 - 1 (a BLAS counts in 32 bits)");
      }
      Kokkos::deep_copy(exec, ones_, T(1));
    }

    void operator()(Exec const& exec, InputOn<AxisSum, Exec, T> const& input,
                    OutputOn<AxisSum, Exec, T> const& output) const {
      if (output.out.extent(0) == 0) return;
      if (ones_.extent(0) == 0) {  // the library would wait here
        Kokkos::deep_copy(exec, output.out, T(0));
        return;
      }
      // The Views name this execution space. Given only the memory space, the library would use that memory's default
      // execution space and not find the BLAS.
      Kokkos::View<T const**, Kokkos::LayoutRight, Device, Unmanaged> const a(input.a.data(), input.a.extent(0),
                                                                              input.a.extent(1));
      Kokkos::View<T const*, Kokkos::LayoutRight, Device, Unmanaged> const ones(ones_.data(), ones_.extent(0));
      Kokkos::View<T*, Kokkos::LayoutRight, Device, Unmanaged> const out(output.out.data(), output.out.extent(0));
      KokkosBlas::gemv(exec, input.parameters.axis == 1 ? "N" : "T", T(1), a, ones, T(0), out);
    }

    /// Returns whose code runs. The library passes a matrix in C order to a BLAS as its transpose.
    [[nodiscard]] std::string note() const {
      if (!is_vendor) return "Kokkos Kernels' own loop";
      return is_gpu<Exec> ? "the GPU vendor's BLAS" : "a host BLAS";
    }

   private:
    using Device = Kokkos::Device<Exec, typename Exec::memory_space>;
    using Unmanaged = Kokkos::MemoryTraits<Kokkos::Unmanaged>;

#if defined(KOKKOSKERNELS_ENABLE_TPL_CUBLAS) || defined(KOKKOSKERNELS_ENABLE_TPL_ROCBLAS)
    static constexpr bool has_gpu_blas = true;
#else
    static constexpr bool has_gpu_blas = false;
#endif
#if defined(KOKKOSKERNELS_ENABLE_TPL_BLAS)
    static constexpr bool has_host_blas = true;
#else
    static constexpr bool has_host_blas = false;
#endif
    static constexpr bool is_vendor = is_gpu<Exec> ? has_gpu_blas : has_host_blas;

    Kokkos::View<T*, Kokkos::LayoutRight, typename Exec::memory_space> ones_;
  };
};

VariantRows kernels() { return rows<AxisSum, Kernels>(); }

}  // namespace tessera::axis_sum
