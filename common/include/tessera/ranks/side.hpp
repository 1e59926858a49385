#pragma once
/// \file
/// An instance of an execution space whose work runs concurrently with another instance's work.
///
/// A GPU starts the teams of a kernel when the teams of earlier kernels, on any stream, have started. Teams on a stream
/// of higher priority start as soon as a multiprocessor has room. So communication, and work that waits for it, does
/// not have to wait for the end of a kernel that fills the GPU.

#include <Kokkos_Core.hpp>

#include <memory>
#include <stdexcept>
#include <type_traits>

#include <tessera/core/spaces.hpp>

namespace tessera::ranks {

/// On a GPU: a separate stream of the highest priority. On a host: the other instance, which has all threads. A copy
/// uses the same stream.
template <ExecutionSpace Exec>
class Side {
 public:
  /// Throws std::runtime_error if the GPU's driver cannot create another stream.
  explicit Side(Exec const& exec) : stream_(new_stream()), exec_(on(exec, stream_.get())) {}

  [[nodiscard]] Exec const& exec() const { return exec_; }

 private:
#if defined(KOKKOS_ENABLE_CUDA)
  using Stream = std::remove_pointer_t<cudaStream_t>;
#elif defined(KOKKOS_ENABLE_HIP)
  using Stream = std::remove_pointer_t<hipStream_t>;
#else
  using Stream = void;
#endif

  [[nodiscard]] static std::shared_ptr<Stream> new_stream() {
    if constexpr (!is_gpu<Exec>) return nullptr;
    [[maybe_unused]] int least = 0;
    [[maybe_unused]] int greatest = 0;
    [[maybe_unused]] Stream* stream = nullptr;
#if defined(KOKKOS_ENABLE_CUDA)
    bool const is_made = cudaDeviceGetStreamPriorityRange(&least, &greatest) == cudaSuccess &&
                         cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest) == cudaSuccess;
    if (is_made) return {stream, [](Stream* made) { (void)cudaStreamDestroy(made); }};
#elif defined(KOKKOS_ENABLE_HIP)
    bool const is_made = hipDeviceGetStreamPriorityRange(&least, &greatest) == hipSuccess &&
                         hipStreamCreateWithPriority(&stream, hipStreamNonBlocking, greatest) == hipSuccess;
    if (is_made) return {stream, [](Stream* made) { (void)hipStreamDestroy(made); }};
#endif
    throw std::runtime_error("the GPU gives no further stream");
  }
  [[nodiscard]] static Exec on(Exec const& exec, [[maybe_unused]] Stream* stream) {
    if constexpr (is_gpu<Exec>) {
      return Exec(stream);
    } else {
      return exec;
    }
  }

  std::shared_ptr<Stream> stream_;
  Exec exec_;  // destroyed before the stream
};

}  // namespace tessera::ranks
