#pragma once
/// \file
/// The transport of bulk data (all-to-alls, panels) between the memory of ranks' execution spaces. Halos and totals are
/// small, and always go through host memory.

#include <optional>
#include <string_view>

namespace tessera::ranks {

enum class Transport {
  host,    ///< MPI reads and writes the data in place, in host memory
  staged,  ///< through pinned host memory, in blocks: copies overlap with messages
  device,  ///< MPI is given pointers to device memory
  nccl     ///< NCCL or RCCL, from GPU to GPU
};

/// Returns "host", "staged", "device" or "nccl".
[[nodiscard]] std::string_view name_of(Transport transport);

/// Chooses the transport of this run: `word` is auto, staged, device or nccl. `shared_gpus`: ranks share a GPU, which
/// NCCL does not support. Must be called by all ranks before the first Plan. Throws UserError if this build or this MPI
/// does not support the transport.
void choose_transport(std::string_view word, bool shared_gpus);

/// Returns the chosen transport, for data in host memory or in GPU memory.
[[nodiscard]] Transport transport(bool gpu);

/// True if the MPI library reports that it accepts pointers to device memory, or if the user sets
/// TESSERA_MPI_GPU_AWARE=1. A wrong setting leads to a segmentation fault. Returns nothing if the library does not
/// report it.
[[nodiscard]] std::optional<bool> mpi_is_gpu_aware();

/// True if the build has NCCL or RCCL (TESSERA_ENABLE_NCCL).
[[nodiscard]] bool has_nccl();

}  // namespace tessera::ranks
