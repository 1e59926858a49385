#pragma once
/// \file
/// The execution spaces of this Kokkos, as types and by name; arrays in their memory, flat loops on them.

#include <Kokkos_Core.hpp>

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>

#include <tessera/core/type_list.hpp>

namespace tessera {

template <class Exec>
concept ExecutionSpace = Kokkos::is_execution_space_v<Exec>;

/// An array in C order: the type of every field of an Input or Output, in every memory space.
template <class DataType, class Memory>
using Array = Kokkos::View<DataType, Kokkos::LayoutRight, Memory>;

/// An Array in the memory of an execution space.
template <class DataType, ExecutionSpace Exec>
using ArrayOn = Array<DataType, typename Exec::memory_space>;

/// The first argument of a View whose elements are written before they are read: Kokkos does not fill it with zeros.
[[nodiscard]] inline auto unset(std::string const& label) {
  return Kokkos::view_alloc(Kokkos::WithoutInitializing, label);
}

/// Returns an array of n elements in memory that is owned elsewhere.
template <class Memory, class T>
[[nodiscard]] auto unmanaged(T* data, std::size_t n) {
  return Kokkos::View<T*, Memory, Kokkos::MemoryUnmanaged>(data, n);
}

/// Returns the policy of a flat loop over [0, n). It names the index type: Kokkos' default has 32 bits on a GPU.
template <class Index = std::size_t, ExecutionSpace Exec>
[[nodiscard]] Kokkos::RangePolicy<Exec, Kokkos::IndexType<Index>> over(Exec const& exec, std::integral auto n) {
  return Kokkos::RangePolicy<Exec, Kokkos::IndexType<Index>>(exec, 0, n);
}

namespace detail {

template <class Exec>
inline constexpr std::string_view name_of_space = "serial";

#ifdef KOKKOS_ENABLE_CUDA
using CudaSpaces = TypeList<Kokkos::Cuda>;
template <>
inline constexpr std::string_view name_of_space<Kokkos::Cuda> = "cuda";
#else
using CudaSpaces = TypeList<>;
#endif
#ifdef KOKKOS_ENABLE_HIP
using HipSpaces = TypeList<Kokkos::HIP>;
template <>
inline constexpr std::string_view name_of_space<Kokkos::HIP> = "hip";
#else
using HipSpaces = TypeList<>;
#endif
#ifdef KOKKOS_ENABLE_OPENMP
using OpenMPSpaces = TypeList<Kokkos::OpenMP>;
template <>
inline constexpr std::string_view name_of_space<Kokkos::OpenMP> = "openmp";
#else
using OpenMPSpaces = TypeList<>;
#endif
#ifdef KOKKOS_ENABLE_THREADS
using ThreadsSpaces = TypeList<Kokkos::Threads>;
template <>
inline constexpr std::string_view name_of_space<Kokkos::Threads> = "threads";
#else
using ThreadsSpaces = TypeList<>;
#endif
#ifdef KOKKOS_ENABLE_SERIAL
using SerialSpaces = TypeList<Kokkos::Serial>;
#else
using SerialSpaces = TypeList<>;
#endif

}  // namespace detail

/// The spaces of this Kokkos: GPU first, in the order of reports.
using EnabledSpaces = decltype(detail::CudaSpaces{} + detail::HipSpaces{} + detail::OpenMPSpaces{} +
                               detail::ThreadsSpaces{} + detail::SerialSpaces{});

/// Returns "cuda", "hip", "openmp", "threads" or "serial".
template <ExecutionSpace Exec>
[[nodiscard]] constexpr std::string_view space_name() {
  return detail::name_of_space<Exec>;
}

/// True for AMD GPUs.
template <ExecutionSpace Exec>
inline constexpr bool is_hip = space_name<Exec>() == "hip";

/// True for GPUs, where lanes are the lanes of a warp or wavefront.
template <ExecutionSpace Exec>
inline constexpr bool is_gpu = space_name<Exec>() == "cuda" || is_hip<Exec>;

/// Returns the number of a GPU's multiprocessors, as its driver reports it (compute units on AMD GPUs), or the number
/// of threads of a host. concurrency() is not used: for a GPU it counts threads, and the number of threads per
/// multiprocessor differs.
template <ExecutionSpace Exec>
[[nodiscard]] int multiprocessors(Exec const& exec) {
  if constexpr (space_name<Exec>() == "cuda") {
    return exec.cuda_device_prop().multiProcessorCount;
  } else if constexpr (is_hip<Exec>) {
    return exec.hip_device_prop().multiProcessorCount;
  } else {
    return exec.concurrency();
  }
}

/// Returns the bytes of a GPU's last-level cache, which its multiprocessors share; 0 on a host.
template <ExecutionSpace Exec>
[[nodiscard]] std::size_t last_cache_of_gpu([[maybe_unused]] Exec const& exec) {
  if constexpr (space_name<Exec>() == "cuda") {
    return static_cast<std::size_t>(exec.cuda_device_prop().l2CacheSize);
  } else if constexpr (is_hip<Exec>) {
    return static_cast<std::size_t>(exec.hip_device_prop().l2CacheSize);
  } else {
    return 0;
  }
}

/// Calls `body.template operator()<Exec>()` for the enabled space with that name. Returns false if there is none.
template <class Body>
bool with_space(std::string_view name, Body&& body) {
  bool found = false;
  for_each_type(EnabledSpaces{}, [&]<class Exec>() {
    if (space_name<Exec>() == name) {
      found = true;
      body.template operator()<Exec>();
    }
  });
  return found;
}

}  // namespace tessera
