#pragma once
// A machine for the driver's tests: no Kokkos, and memory that a test can take away.

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace tessera::fake {

struct Machine {
  std::vector<std::string> spaces{"cuda", "openmp"};
  std::vector<std::string> dtypes{"float", "double", "int32"};
  double host_bytes = 1e12;
  double device_bytes = 1e11;
  double copy_bytes_per_second = 1e11;
  std::string build_type = "Release";
  std::string start_error;        // not empty: Kokkos cannot start
  std::function<void()> on_copy;  // called when copy bandwidth is measured

  // What the driver did.
  int starts = 0;
  bool running = false;
  std::vector<std::string> kokkos_arguments;
  std::map<std::string, std::size_t> copies;  // bytes asked for, by space
  int copy_measurements = 0;
};

/// The one machine; `machine() = {}` makes a new one.
Machine& machine();

}  // namespace tessera::fake
