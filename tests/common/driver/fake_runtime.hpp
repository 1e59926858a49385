#pragma once
// A fake machine for the driver's tests: no Kokkos, and a memory size that a test can reduce.

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

  std::vector<KernelUse> kernels;  // reported for every row

  // Records of what the driver did.
  std::vector<std::string> regions;  // regions that were begun
  std::string region;                // current region
  int starts = 0;
  bool running = false;
  std::vector<std::string> kokkos_arguments;
  std::map<std::string, RoofLimits> measured;  // limits of each roof measurement, by space
  int copy_measurements = 0;
};

/// Returns the only machine; `machine() = {}` resets it.
Machine& machine();

}  // namespace tessera::fake
