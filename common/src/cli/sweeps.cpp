#include <tessera/cli/sweeps.hpp>

#include <cstdint>

namespace tessera {

std::vector<Sweep> const& sweeps() {
  auto const tile = [](std::int64_t elements) { return ParameterMap{{"tile", elements}}; };
  static std::vector<Sweep> const table{
      {.name = "dot_p22",
       .app = "dot",
       .summary = "P22's benchmark: 1, 4, 32, 256, 2048, 16384 and 65536 times 32 elements",
       .cases = {{32}, {128}, {1024}, {8192}, {65536}, {524288}, {2097152}}},
      {.name = "zip_p21",
       .app = "zip",
       .summary = "P21's benchmark: 16, 128 and 2^20 elements in tiles of 4, 16 and 1024",
       .cases = {{16, tile(4)}, {128, tile(16)}, {1048576, tile(1024)}}},
  };
  return table;
}

std::vector<Sweep> sweeps_of(std::string_view app) {
  std::vector<Sweep> found;
  for (Sweep const& sweep : sweeps()) {
    if (sweep.app == app) found.push_back(sweep);
  }
  return found;
}

}  // namespace tessera
