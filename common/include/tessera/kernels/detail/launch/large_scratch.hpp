#pragma once
/// \file
/// Launches a kernel whose teams need more scratch than Kokkos grants on CUDA, 48 KB: there by CUDA's own call
/// (cluster.hpp, from CUDA 11.8), elsewhere by Kokkos.
///
/// The kernel is the functor of a TeamPolicy, with `Policy`, `Bounds` and `vector_length`. Scratch level 1 and Kokkos'
/// work tags are not supported.

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <string>

#include <tessera/core/scratch.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/kernels/detail/launch/cluster.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>

namespace tessera::kernels {

/// A kernel's launches. The constructor throws Skip if a team does not get `scratch_bytes`. A call only enqueues.
template <ExecutionSpace Exec, class Kernel>
class LargeScratchLaunch {
 public:
  LargeScratchLaunch(Exec const&, int threads, std::size_t scratch_bytes)
      : threads_(threads), scratch_bytes_(scratch_bytes) {
    require_scratch<Exec>(scratch_bytes);
  }
  /// Enqueues the kernel on `league` teams.
  void operator()(std::string const& label, Exec const& exec, int league, Kernel const& kernel) const {
    typename Kernel::Policy policy(exec, league, threads_, Kernel::vector_length);
    Kokkos::parallel_for(label, with_scratch(policy, scratch_bytes_), kernel);
  }

 private:
  int threads_;
  std::size_t scratch_bytes_;
};

// As in cluster.hpp. Before CUDA 11.8 no tile is large, and Kokkos launches all.
#if defined(KOKKOS_ENABLE_CUDA) && CUDART_VERSION >= 11080

// Both bounds of Kokkos' LaunchBounds<> are 0.
template <class Kernel>
class LargeScratchLaunch<Kokkos::Cuda, Kernel>
    : public ClusterLaunch<Kokkos::Cuda, Kernel, Kernel::Bounds::maxTperB == 0 ? 512 : Kernel::Bounds::maxTperB,
                           Kernel::Bounds::minBperSM> {
 public:
  LargeScratchLaunch(Kokkos::Cuda const& exec, int threads, std::size_t scratch_bytes)
      : LargeScratchLaunch::ClusterLaunch(
            exec, {.size = 1, .threads = threads, .lanes = Kernel::vector_length, .scratch_bytes = scratch_bytes}) {}
};

#endif

}  // namespace tessera::kernels
