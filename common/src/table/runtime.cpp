#include <tessera/table/runtime.hpp>

#include <Kokkos_Core.hpp>

#include <sys/utsname.h>
#include <unistd.h>

#ifdef KOKKOS_ENABLE_OPENMP
#include <omp.h>
#endif

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <tessera/core/config.hpp>
#include <tessera/core/host_threads.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>
#include <tessera/table/build_facts.hpp>

#include "host_memory.hpp"

namespace tessera {

namespace {

// Returns the first line of `path` that starts with `key`, without the key and the following white space and colon.
std::string value_in(char const* path, std::string const& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    std::size_t const begin = line.find_first_not_of(" \t:", key.size());
    return begin == std::string::npos ? std::string{} : line.substr(begin);
  }
  return {};
}

double free_host_bytes() {
  double available = std::numeric_limits<double>::infinity();
  std::istringstream(value_in("/proc/meminfo", "MemAvailable")) >> available;
  available *= 1024;  // the kernel counts in KiB
  return std::min({available, control_group_free_bytes(), process_free_bytes()});
}

std::string host_name() {
  std::string const model = value_in("/proc/cpuinfo", "model name");
  return model.empty() ? "host processor" : model;
}

}  // namespace

// With OMP_PROC_BIND this thread was bound to one processor before main() began. OpenMP's places list the processors of
// the process.
void find_processors() {
#ifdef KOKKOS_ENABLE_OPENMP
  cpu_set_t processors;
  CPU_ZERO(&processors);
  for (int place = 0; place < omp_get_num_places(); ++place) {
    std::vector<int> ids(static_cast<std::size_t>(omp_get_place_num_procs(place)));
    omp_get_place_proc_ids(place, ids.data());
    for (int const id : ids) CPU_SET(id, &processors);
  }
  if (CPU_COUNT(&processors) > CPU_COUNT(&host_processors())) host_processors() = processors;
#endif
}

namespace {

[[maybe_unused]] std::string value_of(char const* variable) {
  char const* const value = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): nobody sets it
  return value == nullptr ? std::string() : std::string(value);
}

// Returns the values of an option that may stand several times.
[[maybe_unused]] std::vector<std::string> values_of(std::string const& option, int argc, char** argv) {
  std::vector<std::string> values;
  for (std::string const argument : std::span(argv, static_cast<std::size_t>(argc)).subspan(1)) {
    if (argument.starts_with(option + "=")) values.push_back(argument.substr(option.size() + 1));
  }
  return values;
}

// Kokkos aborts if the GPU with the requested number does not exist, or if there is no GPU.
void check_devices([[maybe_unused]] int argc, [[maybe_unused]] char** argv) {
#if defined(KOKKOS_ENABLE_CUDA) || defined(KOKKOS_ENABLE_HIP)
  int count = 0;
#if defined(KOKKOS_ENABLE_CUDA)
  if (cudaGetDeviceCount(&count) != cudaSuccess) count = 0;
#else
  if (hipGetDeviceCount(&count) != hipSuccess) count = 0;
#endif
  if (count == 0) throw std::runtime_error("no GPU is visible");
  auto const check = [&](std::string const& word, std::string const& value) {
    if (std::stol(value) >= count)
      throw std::runtime_error(word + "=" + value + " of " + std::to_string(count) + " GPUs");
  };
  std::string const option = "--kokkos-device-id";
  std::vector<std::string> const values = values_of(option, argc, argv);
  for (std::string const& value : values) check(option, value);
  std::string const variable = value_of("KOKKOS_DEVICE_ID");
  if (values.empty() && !variable.empty()) check("KOKKOS_DEVICE_ID", variable);
#endif
}

#ifdef KOKKOS_ENABLE_OPENMP

// Returns the number of threads that Kokkos will request from OpenMP; 0: Kokkos uses the number that OpenMP gives.
int threads_asked_for(int argc, char** argv) {
  std::vector<std::string> const values = values_of("--kokkos-num-threads", argc, argv);
  std::string const asked = values.empty() ? value_of("KOKKOS_NUM_THREADS") : values.back();
  return asked.empty() ? 0 : std::stoi(asked);
}

// OpenMP's runtime ends the program if it cannot start a thread. Therefore the same number of threads is started here
// first.
void check_that_threads_start(int count) {
  std::atomic<bool> over = false;
  std::vector<std::jthread> threads;
  std::string why;
  try {
    for (int t = 1; t < count; ++t) threads.emplace_back([&] { over.wait(false); });
  } catch (std::exception const& error) {  // a limit, or no memory
    why = error.what();
  }
  std::size_t const started = threads.size() + 1;
  over = true;
  over.notify_all();
  if (why.empty()) return;
  throw UserError("only " + std::to_string(started) + " of " + std::to_string(count) + " threads can be started (" +
                  why + "); allow more (ulimit -u, ulimit -v), or add --kokkos-num-threads=" +
                  std::to_string(std::max<std::size_t>(1, started / 2)));
}

// Kokkos' kernels divide their work among the number of threads that they request. With fewer threads they leave out
// work, or hang.
void check_openmp_threads(int asked) {
  int given = 0;
#pragma omp parallel num_threads(asked) reduction(+ : given)
  ++given;
  if (given == asked) return;
  std::string causes;
  for (char const* const variable :
       {"OMP_THREAD_LIMIT", "OMP_MAX_ACTIVE_LEVELS", "KMP_DEVICE_THREAD_LIMIT", "KMP_ALL_THREADS"}) {
    if (std::string const value = value_of(variable); !value.empty()) {
      causes += (causes.empty() ? "" : ", ") + std::string(variable) + "=" + value;
    }
  }
  throw UserError("OpenMP gives " + std::to_string(given) + " of the " + std::to_string(asked) +
                  " threads that Kokkos asks for (" + (causes.empty() ? "a limit of its runtime" : causes) + "); " +
                  (causes.empty() ? "" : "unset that, or ") + "add --kokkos-num-threads=" + std::to_string(given));
}

#endif

}  // namespace

Runtime::Runtime(int& argc, char** argv) {
  find_processors();
  check_devices(argc, argv);
#ifdef KOKKOS_ENABLE_OPENMP
  // With OMP_DYNAMIC on a busy machine, kernels would get fewer threads than Kokkos expects.
  omp_set_dynamic(0);
  int const asked = threads_asked_for(argc, argv);
  check_that_threads_start(asked > 0 ? asked : omp_get_max_threads());
  if (asked > 0) check_openmp_threads(asked);
#endif
  Kokkos::initialize(argc, argv);
}

Runtime::~Runtime() { Kokkos::finalize(); }

Region::Region(std::string const& name) { Kokkos::Profiling::pushRegion(name); }

Region::~Region() { Kokkos::Profiling::popRegion(); }

std::vector<std::string> enabled_spaces() {
  std::vector<std::string> names;
  for_each_type(EnabledSpaces{}, [&]<class Exec>() { names.emplace_back(space_name<Exec>()); });
  return names;
}

std::vector<std::string> enabled_dtypes() {
  std::vector<std::string> names;
  for_each_type(EnabledDTypes{}, [&]<class T>() { names.emplace_back(name_of(dtype_of<T>)); });
  return names;
}

bool is_host_space(std::string const& space) {
  bool host = true;
  with_space(space, [&]<class Exec>() { host = !is_gpu<Exec>; });
  return host;
}

double free_memory_bytes(std::string const& space) {
  if (is_host_space(space)) return free_host_bytes();
  std::size_t free = 0;
  std::size_t total = 0;
#if defined(KOKKOS_ENABLE_CUDA)
  if (cudaMemGetInfo(&free, &total) != cudaSuccess) throw std::runtime_error("cudaMemGetInfo failed");
#elif defined(KOKKOS_ENABLE_HIP)
  if (hipMemGetInfo(&free, &total) != hipSuccess) throw std::runtime_error("hipMemGetInfo failed");
#endif
  (void)total;
  return static_cast<double>(free);
}

double host_cache_bytes() { return last_level_cache_bytes(); }

std::string device_name(std::string const& space) {
  if (is_host_space(space)) return host_name() + ", " + std::to_string(concurrency(space)) + " threads";
#if defined(KOKKOS_ENABLE_CUDA)
  return Kokkos::Cuda().cuda_device_prop().name;
#elif defined(KOKKOS_ENABLE_HIP)
  return Kokkos::HIP::hip_device_prop().name;
#else
  return space;
#endif
}

std::string device_identity(std::string const& space) {
  if (is_host_space(space)) return {};
#if defined(KOKKOS_ENABLE_CUDA)
  cudaUUID_t const& id = Kokkos::Cuda().cuda_device_prop().uuid;
  return {id.bytes, sizeof(id.bytes)};
#elif defined(KOKKOS_ENABLE_HIP)
  auto const& gpu = Kokkos::HIP::hip_device_prop();
  struct utsname node{};
  (void)::uname(&node);
  return std::string(node.nodename) + " " + std::to_string(gpu.pciDomainID) + ":" + std::to_string(gpu.pciBusID) + ":" +
         std::to_string(gpu.pciDeviceID);
#else
  return {};
#endif
}

std::string device_pci(std::string const& space) {
#if defined(KOKKOS_ENABLE_CUDA)
  if (!is_host_space(space)) {
    char id[32] = {};
    if (cudaDeviceGetPCIBusId(id, sizeof id, Kokkos::Cuda().cuda_device()) != cudaSuccess) {
      (void)cudaGetLastError();  // otherwise the next kernel would report it
      return {};
    }
    return id;
  }
#endif
  (void)space;
  return {};
}

int concurrency(std::string const& space) {
  int result = 1;
  with_space(space, [&]<class Exec>() { result = Exec().concurrency(); });
  return result;
}

std::map<std::string, std::string> build_facts() {
  std::map<std::string, std::string> facts;
  facts["version"] = build::version;
  facts["git_commit"] = build::git_commit;
  facts["build_type"] = build::type;
  facts["compiler"] = build::compiler;
  facts["flags"] = build::flags;
  facts["kokkos_version"] = std::to_string(KOKKOS_VERSION / 10000) + "." + std::to_string(KOKKOS_VERSION / 100 % 100) +
                            "." + std::to_string(KOKKOS_VERSION % 100);
  if (Kokkos::is_initialized()) {
    std::ostringstream configuration;
    Kokkos::print_configuration(configuration);
    facts["kokkos_configuration"] = configuration.str();
  }
  return facts;
}

}  // namespace tessera
