#pragma once
/// \file
/// Common parts of the peers on NVIDIA's libraries: errors, CUB's temporary memory, a cuBLAS handle.

#include <cublas_v2.h>
#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

namespace tessera::compare {

inline void check(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(std::string("CUDA: ") + cudaGetErrorString(error));
}

inline void check(cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw std::runtime_error(std::string("cuBLAS: ") + cublasGetStatusString(status));
}

using Workspace = Kokkos::View<unsigned char*, Kokkos::CudaSpace>;

/// Allocates the temporary memory of a CUB function, whose size the function returns if it is called without memory.
/// `call(memory, bytes)` calls the function.
template <class Call>
[[nodiscard]] Workspace workspace_of(Call const& call) {
  std::size_t bytes = 0;
  check(call(nullptr, bytes));
  // At least one byte: with a null pointer the function would only return the size again.
  return Workspace(Kokkos::view_alloc(Kokkos::WithoutInitializing, "tessera::compare: workspace"),
                   std::max<std::size_t>(bytes, 1));
}

/// Returns call(n) with an int if the number fits into it, as most programs call CUB, whose offsets have 32 bits then.
template <class Call>
[[nodiscard]] cudaError_t with_count(std::size_t n, Call const& call) {
  if (n <= static_cast<std::size_t>(std::numeric_limits<int>::max())) return call(static_cast<int>(n));
  return call(static_cast<std::int64_t>(n));
}

/// A cuBLAS handle with default settings: scalars are on the host, and floats are not rounded to tf32.
class Cublas {
 public:
  Cublas() { check(cublasCreate(&handle_)); }
  ~Cublas() { (void)cublasDestroy(handle_); }
  Cublas(Cublas const&) = delete;
  Cublas& operator=(Cublas const&) = delete;

  /// Sets the stream of the following calls.
  [[nodiscard]] cublasHandle_t on(Kokkos::Cuda const& exec) const {
    check(cublasSetStream(handle_, exec.cuda_stream()));
    return handle_;
  }

 private:
  cublasHandle_t handle_ = nullptr;
};

}  // namespace tessera::compare
