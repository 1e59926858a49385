#pragma once
/// \file
/// What the peers on NVIDIA's libraries have in common: errors, CUB's temporary memory, a handle of cuBLAS.

#include <cublas_v2.h>
#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
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

/// What a function of CUB needs: called without memory, it says how much. `call(memory, bytes)` calls it.
template <class Call>
[[nodiscard]] Workspace workspace_of(Call const& call) {
  std::size_t bytes = 0;
  check(call(nullptr, bytes));
  // Never nothing: without memory it would only say again what it needs.
  return Workspace(Kokkos::view_alloc(Kokkos::WithoutInitializing, "tessera::compare: workspace"),
                   std::max<std::size_t>(bytes, 1));
}

/// A handle of cuBLAS, with its default settings: scalars come from the host, floats are not rounded to tf32.
class Cublas {
 public:
  Cublas() { check(cublasCreate(&handle_)); }
  ~Cublas() { (void)cublasDestroy(handle_); }
  Cublas(Cublas const&) = delete;
  Cublas& operator=(Cublas const&) = delete;

  /// For what is enqueued next.
  [[nodiscard]] cublasHandle_t on(Kokkos::Cuda const& exec) const {
    check(cublasSetStream(handle_, exec.cuda_stream()));
    return handle_;
  }

 private:
  cublasHandle_t handle_ = nullptr;
};

}  // namespace tessera::compare
