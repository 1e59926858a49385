#pragma once
/// \file
/// A loop over packs of elements, in one launch: each index handles one pack; the remainder is handled element by
/// element.

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <string>
#include <type_traits>

#include <tessera/collective/pack.hpp>
#include <tessera/core/spaces.hpp>

namespace tessera::kernels {

/// The number of elements of a call of a pack kernel, as a type, so that the kernel's loop is unrolled.
template <int N>
using Width = std::integral_constant<int, N>;

/// Elements per pack for kernels that also compute: 16 bytes on a GPU, a cache line on a host.
template <ExecutionSpace Exec, class T>
inline constexpr int natural_pack = (is_gpu<Exec> ? 1 : 4) * collective::pack_width<T>;

namespace detail {

template <int N, class Body>
struct PackKernel {
  Body body;
  std::size_t packs;

  // The indices after the packs are the remaining elements.
  KOKKOS_FUNCTION void operator()(std::size_t i) const {
    if (i < packs) {
      body(Width<N>{}, i * N);
    } else {
      body(Width<1>{}, packs * N + (i - packs));
    }
  }
};

}  // namespace detail

/// Enqueues `body(Width<N>, begin)` for each whole pack of N of n elements, and `body(Width<1>, begin)` for each
/// remaining element. If packs cannot be accessed (`aligned` is false), it calls the latter for all elements.
///
/// The body is a functor with `template <int N> void operator()(kernels::Width<N>, std::size_t begin) const`, which
/// handles the elements from `begin` up to `begin + N`; see collective::pack_at.
///
/// Example, N = 4, n = 6: 4 elements from 0, 1 from 4, 1 from 5: three indices.
template <int N, ExecutionSpace Exec, class Body>
void for_each_pack(std::string const& label, Exec const& exec, std::size_t n, bool aligned, Body const& body) {
  std::size_t const packs = aligned ? n / N : 0;
  std::size_t const rest = n - packs * N;
  Kokkos::parallel_for(label, over(exec, packs + rest), detail::PackKernel<N, Body>{body, packs});
}

}  // namespace tessera::kernels
