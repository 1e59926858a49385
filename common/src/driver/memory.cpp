// The memory that a case needs, compared with the free memory.

#include <algorithm>
#include <cmath>

#include <tessera/driver/driver.hpp>
#include <tessera/report/table.hpp>
#include <tessera/table/runtime.hpp>

#include "../table/host_memory.hpp"

namespace tessera {

MemoryNeed memory_need(Footprint const& footprint, bool has_expected) {
  double const held = footprint.input_bytes + footprint.reference_bytes + (has_expected ? footprint.output_bytes : 0.0);
  return {.held = held,
          .host = held + footprint.output_bytes,
          .device = footprint.input_bytes + 2 * footprint.output_bytes};
}

double free_host_bytes() {
  std::vector<std::string> const spaces = enabled_spaces();
  auto const host = std::ranges::find_if(spaces, is_host_space);
  return host == spaces.end() ? unknown : free_memory_bytes(*host);
}

void check_memory(std::string const& what, MemoryNeed const& need, std::vector<std::string> const& spaces,
                  std::string const& advice) {
  bool const is_limited = std::isfinite(process_free_bytes());
  auto const check = [&](std::string const& where, double needed, double free) {
    // An unknown amount (NaN) passes this comparison.
    if (needed > free) {
      throw UserError("not enough memory for " + what + " (it needs " + format_bytes(needed) + " of " + where +
                      " memory, " + format_bytes(free) + " are free); " + advice +
                      (is_limited && where == "host" ? ", or allow more (ulimit -v, ulimit -d)" : ""));
    }
  };
  check("host", need.host, free_host_bytes());
  for (std::string const& space : spaces) {
    if (!is_host_space(space)) check(space + " device", need.device, free_memory_bytes(space));
  }
}

}  // namespace tessera
