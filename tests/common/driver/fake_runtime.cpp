#include "fake_runtime.hpp"

#include <stdexcept>

#include <tessera/measure/roofs.hpp>
#include <tessera/table/runtime.hpp>

namespace tessera {

namespace fake {

Machine& machine() {
  static Machine the_machine;
  return the_machine;
}

}  // namespace fake

using fake::machine;

Runtime::Runtime(int& argc, char** argv) {
  if (!machine().start_error.empty()) throw std::runtime_error(machine().start_error);
  machine().kokkos_arguments.assign(argv + 1, argv + argc);
  ++machine().starts;
  machine().running = true;
}

Runtime::~Runtime() { machine().running = false; }

void find_processors() {}

Region::Region(std::string const& name) {
  machine().regions.push_back(name);
  machine().region = name;
}
Region::~Region() { machine().region.clear(); }

std::vector<KernelUse> kernels_of(std::function<void()> const& launch) {
  launch();
  return machine().kernels;
}

std::vector<std::string> enabled_spaces() { return machine().spaces; }
std::vector<std::string> enabled_dtypes() { return machine().dtypes; }

double free_memory_bytes(std::string const& space) {
  return is_host_space(space) ? machine().host_bytes : machine().device_bytes;
}

double host_cache_bytes() { return machine().cache_bytes; }

bool is_host_space(std::string const& space) { return space != "cuda"; }
std::string device_name(std::string const& space) { return "fake " + space; }
std::string device_identity(std::string const& space) { return is_host_space(space) ? "" : "fake"; }
std::string device_pci(std::string const& space) { return is_host_space(space) ? "" : "0000:65:00.0"; }
int concurrency(std::string const&) { return 2; }

Roofs measure_roofs(std::string const& space, RoofLimits const& limits, ranks::Ranks const&) {
  ++machine().copy_measurements;
  if (machine().on_copy) machine().on_copy();
  machine().measured[space] = limits;
  return machine().roofs;
}

std::map<std::string, std::string> build_facts() {
  return {{"version", "0.1.0"}, {"build_type", machine().build_type}, {"compiler", "fake 1.0"}};
}

}  // namespace tessera
