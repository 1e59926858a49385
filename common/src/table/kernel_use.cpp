#include <tessera/table/kernel_use.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>

// Kokkos hides its __global__ functions, and CUDA reports a kernel's resources only for its address. The linker
// therefore inserts our function before the launch call (--wrap, see common/CMakeLists.txt): calls of `f` go to
// `__wrap_f`, and `__real_f` is the original function.

namespace tessera {

#if defined(KOKKOS_ENABLE_CUDA) || defined(KOKKOS_ENABLE_HIP)

namespace {

struct Launch {
  void const* kernel;
  dim3 teams;
  dim3 threads;
  std::size_t scratch;
};

// The list for the launches of this thread; nullptr outside kernels_of.
thread_local std::vector<Launch>* noted = nullptr;

// Notes one call: a statically linked runtime library may call one launch function from another.
class Note {
 public:
  Note(void const* kernel, dim3 teams, dim3 threads, std::size_t scratch) : before_(noted) {
    if (noted != nullptr) noted->push_back({kernel, teams, threads, scratch});
    noted = nullptr;
  }
  Note(Note const&) = delete;
  Note& operator=(Note const&) = delete;
  ~Note() { noted = before_; }

 private:
  std::vector<Launch>* before_;
};

std::size_t count(dim3 extent) { return std::size_t{extent.x} * extent.y * extent.z; }

// Queries the driver. Unknown values stay 0: additional figures must not make a measurement fail.
void ask(Launch const& launch, KernelUse& use) {
  auto const threads = static_cast<int>(use.team_threads);
  int device = 0;
  int held = 0;
#if defined(KOKKOS_ENABLE_CUDA)
  cudaFuncAttributes attributes{};
  bool const known = cudaFuncGetAttributes(&attributes, launch.kernel) == cudaSuccess &&
                     cudaOccupancyMaxActiveBlocksPerMultiprocessor(&use.teams_per_multiprocessor, launch.kernel,
                                                                   threads, launch.scratch) == cudaSuccess &&
                     cudaGetDevice(&device) == cudaSuccess &&
                     cudaDeviceGetAttribute(&held, cudaDevAttrMaxThreadsPerMultiProcessor, device) == cudaSuccess;
  if (!known) (void)cudaGetLastError();  // otherwise the next kernel would report the error
#else
  hipFuncAttributes attributes{};
  bool const known = hipFuncGetAttributes(&attributes, launch.kernel) == hipSuccess &&
                     hipOccupancyMaxActiveBlocksPerMultiprocessor(&use.teams_per_multiprocessor, launch.kernel, threads,
                                                                  launch.scratch) == hipSuccess &&
                     hipGetDevice(&device) == hipSuccess &&
                     hipDeviceGetAttribute(&held, hipDeviceAttributeMaxThreadsPerMultiProcessor, device) == hipSuccess;
  if (!known) (void)hipGetLastError();
#endif
  use.registers = attributes.numRegs;
  use.local_bytes = attributes.localSizeBytes;
  use.static_scratch_bytes = attributes.sharedSizeBytes;
  if (held > 0) use.occupancy = static_cast<double>(use.teams_per_multiprocessor) * threads / held;
}

}  // namespace

std::vector<KernelUse> kernels_of(std::function<void()> const& launch) {
  std::vector<Launch> launches;
  {
    struct Noting {
      explicit Noting(std::vector<Launch>& into) { noted = &into; }
      Noting(Noting const&) = delete;
      Noting& operator=(Noting const&) = delete;
      ~Noting() { noted = nullptr; }
    } const noting(launches);
    launch();
  }
  std::vector<KernelUse> uses;
  std::vector<Launch> kinds;
  for (Launch const& one : launches) {
    auto const known = std::ranges::find_if(kinds, [&](Launch const& kind) {
      return kind.kernel == one.kernel && count(kind.threads) == count(one.threads) && kind.scratch == one.scratch;
    });
    if (known != kinds.end()) {
      ++uses[static_cast<std::size_t>(known - kinds.begin())].launches;
      continue;
    }
    kinds.push_back(one);
    KernelUse use;
    use.launches = 1;
    use.teams = count(one.teams);
    use.team_threads = count(one.threads);
    use.dynamic_scratch_bytes = one.scratch;
    ask(one, use);
    uses.push_back(use);
  }
  return uses;
}

#else

std::vector<KernelUse> kernels_of(std::function<void()> const& launch) {
  launch();
  return {};
}

#endif

}  // namespace tessera

// NOLINTBEGIN(bugprone-reserved-identifier): the linker's names
extern "C" {
#if defined(KOKKOS_ENABLE_CUDA)

cudaError_t __real_cudaLaunchKernel(void const*, dim3, dim3, void**, std::size_t, cudaStream_t);
cudaError_t __wrap_cudaLaunchKernel(void const* kernel, dim3 teams, dim3 threads, void** arguments, std::size_t scratch,
                                    cudaStream_t stream) {
  tessera::Note const note(kernel, teams, threads, scratch);
  return __real_cudaLaunchKernel(kernel, teams, threads, arguments, scratch, stream);
}

// The target of <<<>>> in nvcc from CUDA 13 on. Its kernel is a cudaKernel_t, which the functions above also accept.
// Older libraries do not have it.
[[gnu::weak]] cudaError_t __real___cudaLaunchKernel(void const*, dim3, dim3, void**, std::size_t, cudaStream_t);
cudaError_t __wrap___cudaLaunchKernel(void const* kernel, dim3 teams, dim3 threads, void** arguments,
                                      std::size_t scratch, cudaStream_t stream) {
  tessera::Note const note(kernel, teams, threads, scratch);
  return __real___cudaLaunchKernel(kernel, teams, threads, arguments, scratch, stream);
}

// Launches in clusters. Libraries before CUDA 11.8 do not have it.
#if CUDART_VERSION >= 11080
cudaError_t __real_cudaLaunchKernelExC(cudaLaunchConfig_t const*, void const*, void**);
cudaError_t __wrap_cudaLaunchKernelExC(cudaLaunchConfig_t const* launch, void const* kernel, void** arguments) {
  tessera::Note const note(kernel, launch->gridDim, launch->blockDim, launch->dynamicSmemBytes);
  return __real_cudaLaunchKernelExC(launch, kernel, arguments);
}
#endif

#elif defined(KOKKOS_ENABLE_HIP)

hipError_t __real_hipLaunchKernel(void const*, dim3, dim3, void**, std::size_t, hipStream_t);
hipError_t __wrap_hipLaunchKernel(void const* kernel, dim3 teams, dim3 threads, void** arguments, std::size_t scratch,
                                  hipStream_t stream) {
  tessera::Note const note(kernel, teams, threads, scratch);
  return __real_hipLaunchKernel(kernel, teams, threads, arguments, scratch, stream);
}

#endif
}
// NOLINTEND(bugprone-reserved-identifier)
