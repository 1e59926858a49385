#pragma once
/// \file
/// The execution spaces of this Kokkos, as types and by name; arrays in their memory, flat loops on them.

#include <Kokkos_Core.hpp>

#include <concepts>
#include <cstddef>
#include <string_view>
#include <type_traits>

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

// A type list without the spaces that Kokkos was not built with; GPU first, in the order of reports.
template <class... Lists>
struct Concatenated;
template <class... Types>
struct Concatenated<TypeList<Types...>> {
  using type = TypeList<Types...>;
};
template <class... First, class... Second, class... Rest>
struct Concatenated<TypeList<First...>, TypeList<Second...>, Rest...> {
  using type = typename Concatenated<TypeList<First..., Second...>, Rest...>::type;
};

#ifdef KOKKOS_ENABLE_CUDA
using CudaSpaces = TypeList<Kokkos::Cuda>;
#else
using CudaSpaces = TypeList<>;
#endif
#ifdef KOKKOS_ENABLE_HIP
using HipSpaces = TypeList<Kokkos::HIP>;
#else
using HipSpaces = TypeList<>;
#endif
#ifdef KOKKOS_ENABLE_OPENMP
using OpenMPSpaces = TypeList<Kokkos::OpenMP>;
#else
using OpenMPSpaces = TypeList<>;
#endif
#ifdef KOKKOS_ENABLE_THREADS
using ThreadsSpaces = TypeList<Kokkos::Threads>;
#else
using ThreadsSpaces = TypeList<>;
#endif
#ifdef KOKKOS_ENABLE_SERIAL
using SerialSpaces = TypeList<Kokkos::Serial>;
#else
using SerialSpaces = TypeList<>;
#endif

template <class Exec, class List>
struct Contains;
template <class Exec, class... Types>
struct Contains<Exec, TypeList<Types...>> : std::bool_constant<(std::is_same_v<Exec, Types> || ...)> {};

}  // namespace detail

using EnabledSpaces = typename detail::Concatenated<detail::CudaSpaces, detail::HipSpaces, detail::OpenMPSpaces,
                                                    detail::ThreadsSpaces, detail::SerialSpaces>::type;

/// True for GPUs, where lanes are the lanes of a warp or wavefront.
template <ExecutionSpace Exec>
inline constexpr bool is_gpu =
    detail::Contains<Exec, detail::CudaSpaces>::value || detail::Contains<Exec, detail::HipSpaces>::value;

/// True for AMD GPUs.
template <ExecutionSpace Exec>
inline constexpr bool is_hip = detail::Contains<Exec, detail::HipSpaces>::value;

/// Returns the number of a GPU's multiprocessors, as its driver reports it (compute units on AMD GPUs), or the number
/// of threads of a host. concurrency() is not used: for a GPU it counts threads, and the number of threads per
/// multiprocessor differs.
template <ExecutionSpace Exec>
[[nodiscard]] int multiprocessors(Exec const& exec) {
  if constexpr (detail::Contains<Exec, detail::CudaSpaces>::value) {
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
  if constexpr (detail::Contains<Exec, detail::CudaSpaces>::value) {
    return static_cast<std::size_t>(exec.cuda_device_prop().l2CacheSize);
  } else if constexpr (is_hip<Exec>) {
    return static_cast<std::size_t>(exec.hip_device_prop().l2CacheSize);
  } else {
    return 0;
  }
}

/// Returns "cuda", "hip", "openmp", "threads" or "serial".
template <ExecutionSpace Exec>
[[nodiscard]] constexpr std::string_view space_name() {
  if constexpr (detail::Contains<Exec, detail::CudaSpaces>::value) {
    return "cuda";
  } else if constexpr (detail::Contains<Exec, detail::HipSpaces>::value) {
    return "hip";
  } else if constexpr (detail::Contains<Exec, detail::OpenMPSpaces>::value) {
    return "openmp";
  } else if constexpr (detail::Contains<Exec, detail::ThreadsSpaces>::value) {
    return "threads";
  } else {
    return "serial";
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
