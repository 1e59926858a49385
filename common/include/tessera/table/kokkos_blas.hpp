#pragma once
/// \file
/// The functions of Kokkos Kernels that variants call, with helpers. Without the library they are declared only: the
/// variants are absent (why_absent of make_app.hpp), but the compiler reads their descriptions.

#if __has_include(<KokkosBlas3_gemm.hpp>)
#include <KokkosKernels_config.h>
#include <KokkosBlas1_dot.hpp>
#include <KokkosBlas2_gemv.hpp>
#include <KokkosBlas3_gemm.hpp>
#else
namespace KokkosBlas {
template <class... Arguments>
void dot(Arguments const&...);
template <class... Arguments>
void gemv(Arguments const&...);
template <class... Arguments>
void gemm(Arguments const&...);
namespace Impl {
template <class... Types>
struct gemv_tpl_spec_avail;
template <class... Types>
struct gemm_tpl_spec_avail;
}  // namespace Impl
}  // namespace KokkosBlas
#endif

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <limits>
#include <string>

#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>

namespace tessera {

/// An array with the type that Kokkos Kernels uses to decide which implementation runs.
template <class Exec, class DataType>
using BlasView =
    Kokkos::View<DataType, Kokkos::LayoutRight, typename Array<DataType, typename Exec::memory_space>::device_type,
                 Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

/// Returns which implementation gemm selects at compile time for these types, for a variant's note. Three row-major
/// matrices are passed to the vendor library as their transposes.
template <class Exec, class T>
[[nodiscard]] std::string whose_gemm() {
  constexpr bool is_vendors =
      KokkosBlas::Impl::gemm_tpl_spec_avail<Exec, BlasView<Exec, T const**>, BlasView<Exec, T const**>,
                                            BlasView<Exec, T**>>::value;
  return is_vendors ? "vendor BLAS" : "Kokkos Kernels' own kernel";
}

/// Throws Skip if the largest extent exceeds gemm's int.
inline void needs_int_extents(std::initializer_list<std::size_t> extents) {
  if (std::max(extents) > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    throw Skip("an extent above 2^31 - 1 (KokkosBlas::gemm counts in int)");
  }
}

}  // namespace tessera
