#pragma once
// A machine for the driver's tests: no Kokkos, and memory that a test can take away.

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <tessera/measure/roofs.hpp>
#include <tessera/table/kernel_use.hpp>

namespace tessera::fake {

struct Machine {
  std::vector<std::string> spaces{"cuda", "openmp"};
  std::vector<std::string> dtypes{"float", "double", "int32"};
  double host_bytes = 1e12;
  double device_bytes = 1e11;
  double cache_bytes = 0x1p25;  // of the host
  Roofs roofs{.copy_bytes_per_second = 1e11,
              .triad_bytes_per_second = 0.9e11,
              .read_bytes_per_second = 1.2e11,
              .peak_operations_per_second = {4e12, 2e12, 1e12},
              .launch_seconds = 2e-6,
              .launch_and_fence_seconds = 8e-6,
              .working_set_bytes = 1e9};
  std::string build_type = "Release";
  std::string start_error;        // not empty: Kokkos cannot start
  std::function<void()> on_copy;  // called when roofs are measured

  std::vector<KernelUse> kernels;  // of every row

  // What the driver did.
  std::vector<std::string> regions;  // begun
  std::string region;                // the one that is on
  int starts = 0;
  bool running = false;
  std::vector<std::string> kokkos_arguments;
  std::map<std::string, RoofLimits> measured;  // what roofs were measured with, by space
  int copy_measurements = 0;
};

/// The one machine; `machine() = {}` makes a new one.
Machine& machine();

}  // namespace tessera::fake
