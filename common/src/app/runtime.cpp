#include <tessera/app/runtime.hpp>

#include <Kokkos_Core.hpp>

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>

#include <tessera/app/build_facts.hpp>
#include <tessera/core/config.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>

namespace tessera {

namespace {

// The first line of `path` that starts with `key`, without the key and the white space and colon after it.
std::string value_in(char const* path, std::string const& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    std::size_t const begin = line.find_first_not_of(" \t:", key.size());
    return begin == std::string::npos ? std::string{} : line.substr(begin);
  }
  return {};
}

// A control group's number, or infinity where it says "max" or there is no such file.
double group_bytes(char const* path) {
  std::ifstream file(path);
  double bytes = 0;
  return file >> bytes ? bytes : std::numeric_limits<double>::infinity();
}

double free_host_bytes() {
  double available = std::numeric_limits<double>::infinity();
  std::istringstream(value_in("/proc/meminfo", "MemAvailable")) >> available;
  available *= 1024;  // the kernel counts in KiB
  double const v2 = group_bytes("/sys/fs/cgroup/memory.max") - group_bytes("/sys/fs/cgroup/memory.current");
  double const v1 = group_bytes("/sys/fs/cgroup/memory/memory.limit_in_bytes") -
                    group_bytes("/sys/fs/cgroup/memory/memory.usage_in_bytes");
  for (double const group : {v2, v1}) {
    if (group == group) available = std::min(available, group);  // inf - inf where there is no group
  }
  return available;
}

std::string host_name() {
  std::string const model = value_in("/proc/cpuinfo", "model name");
  return model.empty() ? "host processor" : model;
}

}  // namespace

Runtime::Runtime(int& argc, char** argv) : ranks_(argc, argv) { Kokkos::initialize(argc, argv); }

Runtime::~Runtime() { Kokkos::finalize(); }

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
