#pragma once
/// \file
/// The GPU resources of a row's kernels, as reported by the GPU's driver. Plain data, no Kokkos.

#include <cstddef>
#include <functional>
#include <vector>

namespace tessera {

/// A kernel that a row launched, with its team size and scratch.
struct KernelUse {
  std::size_t launches = 0;      ///< with this team size and scratch, per launch of the row
  std::size_t teams = 0;         ///< of its first launch
  std::size_t team_threads = 0;  ///< including lanes: CUDA's threads per block
  int registers = 0;             ///< per thread
  std::size_t local_bytes = 0;   ///< per thread, in memory: spilled registers, and arrays that are indexed at run time
  std::size_t static_scratch_bytes = 0;   ///< per team, declared by the kernel
  std::size_t dynamic_scratch_bytes = 0;  ///< per team, set at the launch: Kokkos' scratch of level 0
  int teams_per_multiprocessor = 0;       ///< resident teams; 0: the driver did not report it
  double occupancy = 0;                   ///< threads of the resident teams divided by the multiprocessor's maximum
};

/// Calls `launch` and returns the kernels that it launched on a GPU from this thread, in the order of their first
/// launches. Does not wait for the kernels. Returns nothing in host builds and for host rows.
///
/// Detects launches by this program and its static libraries through CUDA's and HIP's ordinary launch call (Kokkos,
/// CUB, Thrust), and CUDA's launches in clusters. Does not detect launches by shared libraries (cuBLAS). See
/// docs/decisions/0017-kernels-as-launched.md.
[[nodiscard]] std::vector<KernelUse> kernels_of(std::function<void()> const& launch);

}  // namespace tessera
