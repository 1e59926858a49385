#pragma once
/// \file
/// The largest magnitude in a View; the host waits for it. It shows whether data fit into an arithmetic with a smaller
/// range than float.
///
/// Example: [3, -7, NaN] -> 7.
///
/// Use:  float const largest = largest_magnitude(exec, w);

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <type_traits>

#include <tessera/core/spaces.hpp>
#include <tessera/kernels/detail/launch/views.hpp>

namespace tessera::kernels {

namespace detail {

template <class T>
struct LargestMagnitude {
  T const* elements;

  KOKKOS_FUNCTION void operator()(std::size_t i, T& largest) const {
    T const value = elements[i];
    T const magnitude = value < T(0) ? -value : value;
    if (magnitude > largest) largest = magnitude;
  }
};

}  // namespace detail

/// Returns the largest magnitude of the elements of a View of floats or doubles, of any rank. NaN is ignored; without
/// other elements the result is 0. Enqueues and waits. Throws std::invalid_argument if there are gaps between elements.
template <ExecutionSpace Exec, class V>
  requires std::is_floating_point_v<typename V::non_const_value_type> &&
           Readable<V, Exec, typename V::non_const_value_type, static_cast<int>(V::rank())>
[[nodiscard]] typename V::non_const_value_type largest_magnitude(Exec const& exec, V const& view) {
  using T = typename V::non_const_value_type;
  if (view.size() == 0) return 0;  // Kokkos' maximum of no elements is the lowest number
  if (!view.span_is_contiguous()) {
    detail::refuse(view.label(), "has gaps between its elements", "this kernel reads them one after the other",
                   "copy it first");
  }
  T largest = 0;
  Kokkos::parallel_reduce("tessera::largest_magnitude", over(exec, view.size()),
                          detail::LargestMagnitude<T>{view.data()}, Kokkos::Max<T>(largest));
  // 0 also if all elements are NaN.
  return largest > T(0) ? largest : T(0);
}

}  // namespace tessera::kernels
