#pragma once
/// \file
/// What the driver must know of the machine, without seeing Kokkos: start and stop, spaces, memory, roofs, build facts.

#include <map>
#include <string>
#include <vector>

#include <tessera/table/kernel_use.hpp>

namespace tessera {

/// Kokkos from construction to destruction. Takes the --kokkos-* options out of argv. Throws
/// std::runtime_error when Kokkos cannot start (no GPU, bad options).
class Runtime {
 public:
  Runtime(int& argc, char** argv);
  ~Runtime();
  Runtime(Runtime const&) = delete;
  Runtime& operator=(Runtime const&) = delete;
};

/// Finds the processors of this process (host_processors()) if OpenMP's runtime has bound this thread to fewer. Runtime
/// does so itself. Needs no Runtime.
void find_processors();

/// A region for profilers (Kokkos Tools), from construction to destruction. Regions nest.
class Region {
 public:
  explicit Region(std::string const& name);
  ~Region();
  Region(Region const&) = delete;
  Region& operator=(Region const&) = delete;
};

/// Names of the execution spaces in this build, GPU first. Needs no Runtime.
[[nodiscard]] std::vector<std::string> enabled_spaces();
/// Names of the dtypes in this build. Needs no Runtime.
[[nodiscard]] std::vector<std::string> enabled_dtypes();

/// Free memory in bytes of the memory that a space uses by default, right now. For host spaces the smaller of what the
/// kernel says is available and what the control group allows.
[[nodiscard]] double free_memory_bytes(std::string const& space);
/// Bytes of all last-level caches of the host together; 0 if they are not known.
[[nodiscard]] double host_cache_bytes();
/// True if the space works in host memory.
[[nodiscard]] bool is_host_space(std::string const& space);
/// "NVIDIA H200", or the processor's model and the number of threads of the space.
[[nodiscard]] std::string device_name(std::string const& space);
/// What tells the GPU of a space from all others, on whatever node. Empty for host spaces.
[[nodiscard]] std::string device_identity(std::string const& space);
/// Number of threads that run at once (host spaces), or of multiprocessors' worth of threads (GPUs).
[[nodiscard]] int concurrency(std::string const& space);

/// Kokkos' version and configuration, compiler, flags, build type, git commit: for the report's `build` object.
[[nodiscard]] std::map<std::string, std::string> build_facts();

}  // namespace tessera
