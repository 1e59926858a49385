/// \file
/// Parameters of memory_access.

#include <string>
#include <variant>
#include <vector>

#include "problem.hpp"

#include <tessera/core/parameters.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::memory_access {

namespace {

// `sweep`: the result is the same for all values.
ParameterSpec number(std::string const& name, std::string const& help, std::int64_t value, double least, double most,
                     bool sweep = false) {
  return {.name = name,
          .help = help,
          .default_value = value,
          .choices = {},
          .minimum = least,
          .maximum = most,
          .sweep = sweep};
}

}  // namespace

std::vector<ParameterSpec> MemoryAccess::parameters() {
  return {
      number("stride", "strided: elements from an index to the next, 1 to 64", 8, 1, 64, true),
      number("bank-stride", "banks: elements of scratch from a lane to the next, 1 to 32; 0: the same for all", 32, 0,
             32),
      number("rounds", "banks: times that a tile goes through scratch, 1 to 1024", 8, 1, 1024),
      {.name = "branch",
       .help = "divergence: what decides which branch is taken",
       .default_value = std::string("lane"),
       .choices = {"lane", "warp", "element"}},
      number("branches", "divergence: different branches, 1 to 32", 4, 1, 32),
      number("iterations", "divergence: multiplications and additions of a branch, 0 to 65536", 64, 0, 65536),
      number("distance", "prefetch: steps from the prefetch to its use, 0 (none) to 256", 8, 0, 256, true),
      number("offset", "misaligned: elements from an aligned address, 0 to 15", 1, 0, 15, true),
      number("bytes", "off_boundary: bytes from a 16-byte boundary, 0 to 15", 4, 0, 15, true),
      team_parameter(),
  };
}

Parameters Parameters::from(ParameterMap const& map) {
  auto const value = [&](char const* name) { return std::get<std::int64_t>(map.find(name)->second); };
  std::string const& branch = std::get<std::string>(map.at("branch"));
  return {.stride = value("stride"),
          .spread = value("bank-stride"),
          .rounds = value("rounds"),
          .branch = branch == "lane"   ? Branch::lane
                    : branch == "warp" ? Branch::warp
                                       : Branch::element,
          .branches = value("branches"),
          .iterations = value("iterations"),
          .distance = value("distance"),
          .offset = value("offset"),
          .bytes = value("bytes"),
          .team = value("team")};
}

}  // namespace tessera::memory_access
