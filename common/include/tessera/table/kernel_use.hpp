#pragma once
/// \file
/// What a row's kernels take of a GPU, as its own driver says it. Plain data, no Kokkos.

#include <cstddef>
#include <functional>
#include <vector>

namespace tessera {

/// A kernel that a row launched, with the team and the scratch that it was launched with.
struct KernelUse {
  std::size_t launches = 0;      ///< with this team and scratch, in one launch of the row
  std::size_t teams = 0;         ///< of its first launch
  std::size_t team_threads = 0;  ///< lanes included: CUDA's threads of a block
  int registers = 0;             ///< of a thread
  std::size_t local_bytes = 0;   ///< of a thread, in memory: spilled registers, and arrays with an index of the run
  std::size_t static_scratch_bytes = 0;   ///< of a team, that the kernel declares
  std::size_t dynamic_scratch_bytes = 0;  ///< of a team, that it was launched with: Kokkos' scratch of level 0
  int teams_per_multiprocessor = 0;       ///< that run at once; 0: the driver did not say
  double occupancy = 0;                   ///< their threads over those that a multiprocessor holds
};

/// Calls `launch` and says which kernels it launched on a GPU from this thread, in the order of their first launches. Waits
/// for none of them. Nothing in builds and rows of hosts.
///
/// Seen is what this program and its static libraries launch by CUDA's and HIP's ordinary call (Kokkos, CUB, Thrust); not
/// what shared libraries launch (cuBLAS), nor launches in clusters. docs/decisions/0017-kernels-as-launched.md says how.
[[nodiscard]] std::vector<KernelUse> kernels_of(std::function<void()> const& launch);

}  // namespace tessera
