#pragma once
/// \file
/// The driver's access to the machine without Kokkos: start and stop, spaces, memory, roofs, build facts.

#include <map>
#include <string>
#include <vector>

#include <tessera/table/kernel_use.hpp>

namespace tessera {

/// Initialises Kokkos in its constructor and finalises it in its destructor. Removes the --kokkos-* options from argv.
/// Throws std::runtime_error if Kokkos cannot start (no GPU, invalid options).
class Runtime {
 public:
  Runtime(int& argc, char** argv);
  ~Runtime();
  Runtime(Runtime const&) = delete;
  Runtime& operator=(Runtime const&) = delete;
};

/// Determines the processors of this process (host_processors()) if OpenMP's runtime has bound this thread to fewer.
/// Runtime calls it. Requires no Runtime.
void find_processors();

/// A region for profilers (Kokkos Tools), from construction to destruction. Regions may nest.
class Region {
 public:
  explicit Region(std::string const& name);
  ~Region();
  Region(Region const&) = delete;
  Region& operator=(Region const&) = delete;
};

/// Returns the names of the execution spaces in this build, GPU first. Requires no Runtime.
[[nodiscard]] std::vector<std::string> enabled_spaces();
/// Returns the names of the dtypes in this build. Requires no Runtime.
[[nodiscard]] std::vector<std::string> enabled_dtypes();

/// Returns the bytes of free memory of the kind that a space uses by default. For host spaces: the smaller of the
/// kernel's available memory and the limit of the control group.
[[nodiscard]] double free_memory_bytes(std::string const& space);
/// Returns the bytes of all last-level caches of the host together; 0 if unknown.
[[nodiscard]] double host_cache_bytes();
/// True if the space works in host memory.
[[nodiscard]] bool is_host_space(std::string const& space);
/// Returns "NVIDIA H200", or the processor's model and the space's number of threads.
[[nodiscard]] std::string device_name(std::string const& space);
/// Returns an identifier that distinguishes the GPU of a space from all other GPUs of all nodes. Empty for host spaces.
[[nodiscard]] std::string device_identity(std::string const& space);
/// Returns the PCI bus id of an NVIDIA GPU, "0000:65:00.0"; empty for other spaces.
[[nodiscard]] std::string device_pci(std::string const& space);
/// Returns the number of threads that run at once (host spaces), or of resident threads of all multiprocessors (GPUs).
[[nodiscard]] int concurrency(std::string const& space);

/// Returns Kokkos' version and configuration, compiler, flags, build type and git commit, for the report's `build`
/// object.
[[nodiscard]] std::map<std::string, std::string> build_facts();

}  // namespace tessera
