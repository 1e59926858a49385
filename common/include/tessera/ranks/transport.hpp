#pragma once
/// \file
/// How bulk data (all-to-alls, panels) get from the memory of one rank's execution space to that of another's. Halos and totals,
/// which are small, always go through host memory.

#include <optional>
#include <string>
#include <string_view>

namespace tessera::ranks {

enum class Transport {
  host,    ///< MPI reads and writes the data where they lie: host memory
  staged,  ///< through pinned host memory, in blocks, copied while others are on their way
  device,  ///< MPI is given pointers to device memory
  nccl     ///< NCCL or RCCL, from GPU to GPU
};

/// "host", "staged", "device" or "nccl".
[[nodiscard]] std::string_view name_of(Transport transport);

/// Decides for this run: `word` is auto, staged, device or nccl. `shared_gpus`: ranks share a GPU, which NCCL refuses. All ranks
/// call it, before the first Plan.
/// Throws UserError for what this build or this MPI does not have.
void choose_transport(std::string_view word, bool shared_gpus);

/// What was chosen, for data in a host's memory or in a GPU's.
[[nodiscard]] Transport transport(bool gpu);

/// True if the MPI library says that it takes pointers to device memory, or the user does: TESSERA_MPI_GPU_AWARE=1. A wrong word is
/// a segmentation fault. Nothing if the library says nothing.
[[nodiscard]] std::optional<bool> mpi_is_gpu_aware();

/// True if the build has NCCL or RCCL (TESSERA_ENABLE_NCCL).
[[nodiscard]] bool has_nccl();

}  // namespace tessera::ranks
