#pragma once
/// \file
/// Arguments of kernels: Kokkos Views in any memory that the execution space can access. A View that a kernel cannot
/// use is a compile error if its type shows it (a column-major matrix, results in const elements, inaccessible memory),
/// and std::invalid_argument if it shows only at run time (a stride, a wrong extent, a result in an input's memory if
/// the kernel does not work in place). It never silently gives a wrong result.

#include <Kokkos_Core.hpp>

#include <concepts>
#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <type_traits>

#include <tessera/core/spaces.hpp>

namespace tessera::kernels {

/// A View of rank `rank` with elements T that `Exec` can read.
template <class V, class Exec, class T, int rank>
concept Readable = Kokkos::is_view_v<V> && V::rank() == rank && std::same_as<typename V::non_const_value_type, T> &&
                   static_cast<bool>(Kokkos::SpaceAccessibility<Exec, typename V::memory_space>::accessible);

/// As Readable; `Exec` can also write it.
template <class V, class Exec, class T, int rank>
concept Writable = Readable<V, Exec, T, rank> && !std::is_const_v<typename V::value_type>;

namespace detail {

[[noreturn]] inline void refuse(std::string const& label, std::string const& problem, std::string const& why,
                                std::string const& what_to_do) {
  throw std::invalid_argument("View '" + label + "' " + problem + " (" + why + "); " + what_to_do);
}

}  // namespace detail

/// Returns the elements of a contiguous array. `n`: its required length. Throws std::invalid_argument if the array has
/// another length or is strided.
template <class V>
  requires(V::rank() == 1)
[[nodiscard]] typename V::value_type* contiguous(V const& array, std::size_t n) {
  if (array.extent(0) != n) {
    detail::refuse(array.label(), "has " + std::to_string(array.extent(0)) + " elements",
                   "the kernel was made for " + std::to_string(n), "give as many, or make a kernel for these");
  }
  if (n > 1 && array.stride(0) != 1) {
    detail::refuse(array.label(), "has a stride of " + std::to_string(array.stride(0)),
                   "this kernel reads consecutive elements", "copy it first");
  }
  return array.data();
}

/// Returns the elements of a contiguous row-major matrix of `rows` x `cols`: LayoutRight, or a LayoutStride with the
/// same strides. Throws std::invalid_argument if it has other extents, or gaps between elements or rows.
template <class V>
  requires(V::rank() == 2)
[[nodiscard]] typename V::value_type* row_major(V const& matrix, std::size_t rows, std::size_t cols) {
  static_assert(!std::is_same_v<typename V::array_layout, Kokkos::LayoutLeft>,
                "Tessera: this kernel reads matrices row by row: give it Views of Kokkos::LayoutRight "
                "(Kokkos::LayoutLeft is the default on GPUs)");
  if (matrix.extent(0) != rows || matrix.extent(1) != cols) {
    detail::refuse(matrix.label(), "is " + std::to_string(matrix.extent(0)) + " x " + std::to_string(matrix.extent(1)),
                   "the kernel was made for " + std::to_string(rows) + " x " + std::to_string(cols),
                   "give such a matrix, or make a kernel for this one");
  }
  if ((cols > 1 && matrix.stride(1) != 1) || (rows > 1 && cols > 0 && matrix.stride(0) != cols)) {
    detail::refuse(matrix.label(),
                   "has strides of " + std::to_string(matrix.stride(0)) + " and " + std::to_string(matrix.stride(1)),
                   "this kernel reads whole rows, one after the other", "copy it first");
  }
  return matrix.data();
}

/// For kernels that read elements after others were written. Throws std::invalid_argument if `out` shares memory with
/// one of the inputs.
template <class Out, class... In>
void require_apart(Out const& out, In const&... in) {
  auto const check = [&](auto const& one) {
    auto const* const first = reinterpret_cast<char const*>(one.data());
    auto const* const to = reinterpret_cast<char const*>(out.data());
    std::size_t const bytes = one.span() * sizeof(*one.data());
    std::size_t const written = out.span() * sizeof(*out.data());
    if (bytes == 0 || written == 0 || !std::less<>{}(first, to + written) || !std::less<>{}(to, first + bytes)) return;
    detail::refuse(out.label(), "overlaps '" + one.label() + "'", "elements are read after others were written",
                   "give the result memory of its own");
  };
  (check(in), ...);
}

}  // namespace tessera::kernels
