#pragma once
/// \file
/// From an Array to a kernel on Views: Kokkos' start, the execution space of an array's memory, its dtype as a type.

#include <Kokkos_Core.hpp>

#include <array>
#include <mutex>
#include <string>

#include <tessera/core/config.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/type_list.hpp>

#include "array.hpp"

namespace tessera::python {

/// Held while a kernel runs: kernels use all cores or the whole GPU, and Kokkos' default instance serves one thread at
/// a time. Starts Kokkos at the first use. Throws std::runtime_error in a process that was forked after that.
[[nodiscard]] std::unique_lock<std::mutex> running();

/// Throws std::invalid_argument: this build cannot reach the array's memory.
[[noreturn]] void refuse_memory(Array const& array);

/// Throws std::invalid_argument: Kokkos uses another GPU.
[[noreturn]] void refuse_device(Array const& array, int ours);

/// Throws WrongType: the dtype is none of `known`.
[[noreturn]] void refuse_dtype(Array const& array, std::string const& known);

using Floats = TypeList<float, double>;
using Numbers = TypeList<float, double, std::int32_t>;

/// Returns a View of the array's memory.
template <class DataType, class Exec>
[[nodiscard]] auto view_of(Array const& array) {
  using View = Kokkos::View<DataType, Kokkos::LayoutRight, typename Exec::memory_space, Kokkos::MemoryUnmanaged>;
  auto* const data = static_cast<typename View::pointer_type>(array.data);
  if constexpr (View::rank() == 0) {
    return View(data);
  } else if constexpr (View::rank() == 1) {
    return View(data, array.count());
  } else {
    // Leading dimensions are rows.
    std::size_t const cols = array.shape.back();
    std::size_t rows = 1;
    for (std::size_t i = 0; i + 1 < array.shape.size(); ++i) rows *= array.shape[i];
    return View(data, rows, cols);
  }
}

namespace detail {

template <class Exec, class Body>
void run(Array const& array, Body const& body) {
  auto const lock = running();
  if (array.memory != Memory::host && array.device != Kokkos::device_id()) refuse_device(array, Kokkos::device_id());
  Exec const exec;
  body.template operator()<Exec>(exec);
  // Until here the arrays of Python and the workspace are in use.
  exec.fence("tessera: python");
}

}  // namespace detail

/// Calls `body.template operator()<Exec>(exec)` on the space of the array's memory, and waits. `body` constructs a
/// kernel on `exec`, calls it, and waits for it if the kernel owns memory.
template <class Body>
void on_space_of(Array const& array, Body const& body) {
  if (array.memory == Memory::host) return detail::run<Kokkos::DefaultHostExecutionSpace>(array, body);
#if defined(KOKKOS_ENABLE_CUDA)
  if (array.memory == Memory::cuda) return detail::run<Kokkos::Cuda>(array, body);
#elif defined(KOKKOS_ENABLE_HIP)
  if (array.memory == Memory::hip) return detail::run<Kokkos::HIP>(array, body);
#endif
  refuse_memory(array);
}

namespace detail {

template <class T, class Body>
bool try_type(Array const& array, Body const& body, std::string& known) {
  if constexpr (contains<T>(EnabledDTypes{})) {
    if (array.dtype == dtype_of<T>) {
      body.template operator()<T>();
      return true;
    }
    known += (known.empty() ? "" : ", ") + numpy_name(dtype_of<T>);
  }
  return false;
}

}  // namespace detail

/// Calls `body.template operator()<T>()` with the array's type, which must be one of the types that both the kernel and
/// this build have.
template <class... Types, class Body>
void with_type_of(Array const& array, TypeList<Types...>, Body const& body) {
  std::string known;
  if ((detail::try_type<Types>(array, body, known) || ...)) return;
  refuse_dtype(array, known);
}

}  // namespace tessera::python
