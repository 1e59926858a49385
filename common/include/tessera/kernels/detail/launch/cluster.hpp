#pragma once
/// \file
/// Launches a kernel on clusters of teams (collective/team/cluster.hpp), or on single teams, with up to 227 KB of
/// scratch per team. CUDA only; clusters need compute capability 9.0. Kokkos has no clusters, and grants a team 48 KB.
/// A kernel that Kokkos can launch on other spaces has LargeScratchLaunch (large_scratch.hpp).
///
/// The kernel is the functor of a TeamPolicy: it takes its team as a template argument, and the team that it gets is a
/// Kokkos team with the functions of a cluster. So team_scratch(), TeamVectorRange, single and the collectives work as
/// in any other launch:
///
///     struct Kernel {
///       template <team::Cluster Member>
///       KOKKOS_FUNCTION void operator()(Member const& team) const;
///     };
///     ClusterLaunch<Exec, Kernel> launch(exec, {.size = 4, .threads = 8, .lanes = 32, .scratch_bytes = bytes});
///     launch("tessera::...", exec, clusters, Kernel{...});
///
/// The league has clusters * size teams. Those of a cluster follow each other, so that league_rank() / cluster_size()
/// is the cluster. Scratch level 1 and Kokkos' work tags are not supported.

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include <tessera/collective/team/cluster.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>
#include <tessera/kernels/detail/launch/instances.hpp>

namespace tessera::kernels {

/// The teams of a launch on clusters.
struct ClusterShape {
  int size;                   ///< teams per cluster; 8 on every device with clusters, up to 16 on some; 1: no clusters
  int threads;                ///< per team
  int lanes;                  ///< vector lanes per thread
  std::size_t scratch_bytes;  ///< per team: the sum of shmem_size() of the kernel's Views
};

/// A kernel's launches on clusters. This is the one for spaces without clusters: its constructor throws Skip.
/// \tparam most_lanes lanes that a team may have; 512 leave each of them 128 registers
/// \tparam teams_together teams that should share a multiprocessor's registers; 0: the compiler chooses
template <ExecutionSpace Exec, class Kernel, int most_lanes = 512, int teams_together = 0>
class ClusterLaunch {
 public:
  ClusterLaunch(Exec const&, ClusterShape const&) {
    throw Skip("no clusters of teams (CUDA has them from compute capability 9.0; " + std::string(space_name<Exec>()) +
               " has none)");
  }
  [[nodiscard]] std::size_t resident() const { return 1; }
  void operator()(std::string const&, Exec const&, int, Kernel const&) const {}
};

#if defined(KOKKOS_ENABLE_CUDA) && CUDART_VERSION >= 11080

/// Kokkos' team with the functions of a cluster. Constructed by the launch. Device code only.
class ClusterTeam : public Kokkos::TeamPolicy<Kokkos::Cuda>::member_type {
  using KokkosTeam = Kokkos::TeamPolicy<Kokkos::Cuda>::member_type;

 public:
  /// Bytes in front of a team's scratch in which Kokkos reduces and scans, as in Kokkos' own launches.
  [[nodiscard]] KOKKOS_FUNCTION static constexpr std::size_t bytes_of_kokkos(int threads) {
    return sizeof(double) * (static_cast<std::size_t>(threads) + 2);
  }

#if defined(__CUDACC__)
  __device__ ClusterTeam(char* memory, std::size_t scratch_bytes)
      : KokkosTeam(memory, bytes_of_kokkos(static_cast<int>(blockDim.y)), scratch_bytes, nullptr, 0,
                   static_cast<int>(blockIdx.x), static_cast<int>(gridDim.x)) {}
#endif

  [[nodiscard]] KOKKOS_FUNCTION int cluster_rank() const {
    unsigned rank = 0;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
#endif
    return static_cast<int>(rank);
  }
  [[nodiscard]] KOKKOS_FUNCTION int cluster_size() const {
    unsigned size = 1;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
#endif
    return static_cast<int>(size);
  }
  /// Not the form for converged warps (.aligned): lanes may come from a loop with different trip counts.
  KOKKOS_FUNCTION void cluster_barrier() const {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.release;" : : : "memory");
    asm volatile("barrier.cluster.wait.acquire;" : : : "memory");
#endif
  }
  template <class T>
  [[nodiscard]] KOKKOS_FUNCTION T* scratch_of([[maybe_unused]] int rank, T* own) const {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    std::uint64_t mapped;
    asm("mapa.u64 %0, %1, %2;" : "=l"(mapped) : "l"(own), "r"(rank));
    return reinterpret_cast<T*>(mapped);
#else
    return own;
#endif
  }
  /// Names the instruction for scratch, because an atomic on a generic address tests the kind of address each time.
  KOKKOS_FUNCTION void add_to([[maybe_unused]] int rank, [[maybe_unused]] std::uint32_t* own,
                              [[maybe_unused]] std::uint32_t value) const {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    std::uint32_t mapped;
    asm("mapa.shared::cluster.u32 %0, %1, %2;"
        : "=r"(mapped)
        : "r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(own))), "r"(rank));
    asm volatile("red.relaxed.cluster.shared::cluster.add.u32 [%0], %1;" : : "r"(mapped), "r"(value) : "memory");
#endif
  }
};

namespace detail {

/// The entry of a launch on clusters.
template <class Kernel, int most_lanes, int teams_together>
__global__ __launch_bounds__(most_lanes, teams_together)  //
    void run_in_cluster(Kernel const kernel, std::size_t scratch_bytes) {
  extern __shared__ __align__(128) char memory_of_team[];
  kernel(ClusterTeam(memory_of_team, scratch_bytes));
}

}  // namespace detail

/// The constructor checks that the device can run the shape, and throws Skip if it cannot. A call only enqueues.
template <class Kernel, int most_lanes, int teams_together>
class ClusterLaunch<Kokkos::Cuda, Kernel, most_lanes, teams_together> {
  static_assert(sizeof(Kernel) <= 4000, "Tessera: a kernel is an argument of its launch, at most 4 KB");

 public:
  ClusterLaunch(Kokkos::Cuda const& exec, ClusterShape const& shape) : shape_(shape) {
    int const device = exec.cuda_device();
    check_cuda(cudaSetDevice(device), "cudaSetDevice");
    cudaFuncAttributes code{};
    check_cuda(cudaFuncGetAttributes(&code, entry_), "cudaFuncGetAttributes");
    // Code for older devices has no instructions for clusters, even if it runs on a newer one.
    if (shape.size > 1 && (attribute(cudaDevAttrClusterLaunch, device) == 0 || code.ptxVersion < 90)) {
      throw Skip("no clusters of teams (CUDA has them from compute capability 9.0, in a build for 9.0 or higher)");
    }
    if (shape.threads * shape.lanes > most_lanes) {
      throw Skip("a team of " + std::to_string(shape.threads) + " threads (it has at most " +
                 std::to_string(most_lanes / shape.lanes) + " here)");
    }
    int const most = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    std::size_t const bytes = bytes_per_team();
    if (bytes > static_cast<std::size_t>(most) - code.sharedSizeBytes) {
      throw Skip("a team's scratch of " + std::to_string(bytes) + " bytes (there are " + std::to_string(most) + ")");
    }
    // The limits of a function, for all of its launches: other objects may need more than this one.
    check_cuda(cudaFuncSetAttribute(entry_, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    most - static_cast<int>(code.sharedSizeBytes)),
               "cudaFuncSetAttribute");
    if (teams_together > 0) {
      // The part of the first-level cache that becomes scratch, in percent: as much as the teams need.
      auto const whole = static_cast<std::size_t>(attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor, device));
      auto const reserved = static_cast<std::size_t>(attribute(cudaDevAttrReservedSharedMemoryPerBlock, device));
      std::size_t const percent = (100 * teams_together * (bytes + reserved) + whole - 1) / whole;
      check_cuda(cudaFuncSetAttribute(entry_, cudaFuncAttributePreferredSharedMemoryCarveout,
                                      static_cast<int>(std::min<std::size_t>(percent, 100))),
                 "cudaFuncSetAttribute");
    }
    int resident = 0;
    cudaError_t error = cudaSuccess;
    if (shape.size > 1) {
      check_cuda(cudaFuncSetAttribute(entry_, cudaFuncAttributeNonPortableClusterSizeAllowed, 1),
                 "cudaFuncSetAttribute");
      cudaLaunchAttribute cluster;
      cudaLaunchConfig_t const launch = configured(exec, 1, cluster);
      error = cudaOccupancyMaxActiveClusters(&resident, entry_, &launch);
    } else {
      error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, entry_, shape.threads * shape.lanes, bytes);
      resident *= attribute(cudaDevAttrMultiProcessorCount, device);
    }
    if (error != cudaSuccess || resident < 1) {
      (void)cudaGetLastError();  // otherwise the next call that asks for an error would find it
      std::string const whose = shape.size > 1 ? "clusters of " + std::to_string(shape.size) + " teams" : "teams";
      throw Skip(whose + " of " + std::to_string(bytes) + " bytes of scratch (the device has no room for one)");
    }
    resident_ = static_cast<std::size_t>(resident);
  }

  /// Returns the number of clusters that the device runs at the same time, at least one.
  [[nodiscard]] std::size_t resident() const { return resident_; }

  /// Enqueues the kernel on `clusters` clusters. Kokkos Tools see it under its label, as a parallel_for.
  void operator()(std::string const& label, Kokkos::Cuda const& exec, int clusters, Kernel const& kernel) const {
    if (clusters == 0) return;
    check_cuda(cudaSetDevice(exec.cuda_device()), "cudaSetDevice");
    cudaLaunchAttribute cluster;
    cudaLaunchConfig_t const launch = configured(exec, clusters, cluster);
    bool const heard = Kokkos::Tools::profileLibraryLoaded();
    std::uint64_t id = 0;
    if (heard) Kokkos::Tools::beginParallelFor(label, Kokkos::Tools::Experimental::device_id(exec), &id);
    check_cuda(cudaLaunchKernelEx(&launch, entry_, kernel, shape_.scratch_bytes), "cudaLaunchKernelEx");
    if (heard) Kokkos::Tools::endParallelFor(id);
  }

 private:
  [[nodiscard]] static int attribute(cudaDeviceAttr which, int device) {
    int value = 0;
    check_cuda(cudaDeviceGetAttribute(&value, which, device), "cudaDeviceGetAttribute");
    return value;
  }
  [[nodiscard]] std::size_t bytes_per_team() const {
    return ClusterTeam::bytes_of_kokkos(shape_.threads) + shape_.scratch_bytes;
  }
  [[nodiscard]] cudaLaunchConfig_t configured(Kokkos::Cuda const& exec, int clusters,
                                              cudaLaunchAttribute& cluster) const {
    auto const size = static_cast<unsigned>(shape_.size);
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim.x = size;
    cluster.val.clusterDim.y = 1;
    cluster.val.clusterDim.z = 1;
    cudaLaunchConfig_t launch{};
    launch.gridDim = dim3(static_cast<unsigned>(clusters) * size);
    launch.blockDim = dim3(static_cast<unsigned>(shape_.lanes), static_cast<unsigned>(shape_.threads));
    launch.dynamicSmemBytes = bytes_per_team();
    launch.stream = exec.cuda_stream();
    launch.attrs = &cluster;
    launch.numAttrs = size > 1 ? 1 : 0;
    return launch;
  }

  // With CUDA 13 each translation unit has an address of its own for the entry. The attributes hold for the address on
  // which they were set, so a launch takes this one, whatever unit its code comes from.
  void (*entry_)(Kernel const, std::size_t) = &detail::run_in_cluster<Kernel, most_lanes, teams_together>;
  ClusterShape shape_;
  std::size_t resident_ = 1;
};

#endif

}  // namespace tessera::kernels
