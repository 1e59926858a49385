#pragma once
/// \file
/// From an Array to a kernel on Views: Kokkos' start, the execution space of an array's memory, its dtype as a type.

#include <Kokkos_Core.hpp>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include <tessera/core/config.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/type_list.hpp>

#include "array.hpp"
#include "kept.hpp"
#include "kernels.hpp"

namespace tessera::python {

/// Held while a kernel runs: kernels use all cores or the whole GPU, and Kokkos' default instance serves one thread at
/// a time. Starts Kokkos at the first use. Throws std::runtime_error in a process that was forked after that.
[[nodiscard]] std::unique_lock<std::mutex> running();

/// Throws std::runtime_error in a process that was forked after Kokkos had started.
void require_own_process();

/// The same lock, without a start of Kokkos: no kernel runs. Throws like running() in a forked process.
[[nodiscard]] std::unique_lock<std::mutex> at_rest();

/// Measures how long calls take to launch their kernels: tests/compare/call_overhead.py asks. Guarded by the lock of
/// running().
class LaunchClock {
 public:
  /// The kernel object was found: its launches begin.
  static void begin() { began_ = std::chrono::steady_clock::now(); }
  /// They have ended.
  static void end() { total_ += std::chrono::steady_clock::now() - began_; }
  /// Returns the seconds since the last call.
  static double take();

 private:
  static inline std::chrono::steady_clock::time_point began_;
  static inline std::chrono::steady_clock::duration total_{};
};

/// Throws std::invalid_argument if this build cannot reach the array's memory.
void require_space(Array const& array);

/// Throws std::invalid_argument if the array is on another GPU than the one that Kokkos uses.
void require_our_device(Array const& array);

/// Throws std::invalid_argument if the array's stream, whose GPU is `device`, is on another GPU than the array.
void require_device_of_stream(Array const& array, int device);

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

/// The number of the stream on which the current call runs; ~0: Kokkos' own. Guarded by the lock of running().
inline std::uint64_t number_of_call = ~std::uint64_t{0};

/// Returns the instance on the stream of an array, which is constructed once.
template <class Exec>
[[nodiscard]] Exec instance_of([[maybe_unused]] Array const& array) {
  [[maybe_unused]] std::uintptr_t const stream = array.stream->address;
  KeptKey const key{&type_number<Exec>, array.stream->number, {}};
  if (void const* const found = find_kept(key)) return *static_cast<Exec const*>(found);
#if defined(KOKKOS_ENABLE_CUDA)
  if constexpr (is_gpu<Exec>) {
    auto const exec = std::make_shared<Exec>(reinterpret_cast<cudaStream_t>(stream));
    require_device_of_stream(array, exec->cuda_device());
    keep(key, exec, 0);
    return *exec;
  }
#elif defined(KOKKOS_ENABLE_HIP)
  if constexpr (is_gpu<Exec>) {
    auto const exec = std::make_shared<Exec>(reinterpret_cast<hipStream_t>(stream));
    require_device_of_stream(array, exec->hip_device());
    keep(key, exec, 0);
    return *exec;
  }
#endif
  return Exec();  // arrays on a host have no stream
}

template <class Exec, class Body>
void run(Array const& array, Body const& body) {
  require_own_process();
  CallersDevice callers;
  auto const lock = running();
  require_our_device(array);
  if (array.memory != Memory::host) callers.enter(array.device);  // a thread without any call of CUDA has no context
  if (!array.stream) wait_for_stream_of(array);                   // other libraries ordered their work behind that one
  Exec const exec = array.stream ? instance_of<Exec>(array) : Exec();
  number_of_call = array.stream ? array.stream->number : ~std::uint64_t{0};
  try {
    LaunchClock::begin();
    body.template operator()<Exec>(exec);
    LaunchClock::end();
    // Until here the arrays of Python and the workspace are in use; on a stream of the caller, still afterwards.
    if (!array.stream) exec.fence("tessera: python");
    keep_to_the_limits();
  } catch (...) {
    exec.fence("tessera: python");  // an earlier launch may still use the arrays, which the caller lets go now
    throw;
  }
}

}  // namespace detail

/// Returns *make(), a kernel object for calls on the `exec` of the body of on_space_of(): that of an earlier call with
/// the same numbers if it is still kept. The numbers are all that make() depends on. The object is valid until the body
/// ends.
template <class Kernel, class Exec, class Make>
[[nodiscard]] Kernel& kept_from(Exec const&, std::initializer_list<std::uint64_t> numbers, Make const& make) {
  KeptKey const key{&type_number<Kernel>, detail::number_of_call, {numbers.begin(), numbers.size()}};
  if (void* const found = find_kept(key)) {
    LaunchClock::begin();
    return *static_cast<Kernel*>(found);
  }
  AllocatedBytes const allocated;
  std::shared_ptr<Kernel> object = make();
  Kernel& kernel = *object;
  keep(key, std::move(object), allocated.count());
  return kernel;
}

/// Returns a kernel object that was constructed from (exec, extents...).
template <class Kernel, class Exec, std::integral... Extents>
[[nodiscard]] Kernel& kept(Exec const& exec, Extents... extents) {
  return kept_from<Kernel>(exec, {static_cast<std::uint64_t>(extents)...},
                           [&] { return std::make_shared<Kernel>(exec, extents...); });
}

/// Calls `body.template operator()<Exec>(exec)` on the space of the array's memory, and waits unless the array has a
/// stream of the caller. `body` only enqueues kernels that are kept(), because they own memory.
template <class Body>
void on_space_of(Array const& array, Body const& body) {
  require_space(array);
  if (array.memory == Memory::host) return detail::run<Kokkos::DefaultHostExecutionSpace>(array, body);
#if defined(KOKKOS_ENABLE_CUDA)
  return detail::run<Kokkos::Cuda>(array, body);
#elif defined(KOKKOS_ENABLE_HIP)
  return detail::run<Kokkos::HIP>(array, body);
#endif
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
