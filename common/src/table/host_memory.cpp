#include "host_memory.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>

namespace tessera {

namespace {

namespace fs = std::filesystem;

constexpr double infinity = std::numeric_limits<double>::infinity();

// A control group's number, or infinity where it says "max" or there is no such file.
double number_in(fs::path const& path) {
  std::ifstream file(path);
  double number = 0;
  return file >> number ? number : infinity;
}

double statistic(fs::path const& path, std::string const& wanted) {
  std::ifstream file(path);
  std::string name;
  for (double number = 0; file >> name >> number;) {
    if (name == wanted) return number;
  }
  return 0;
}

struct Names {
  char const* limit;
  char const* used;
  char const* reclaimable;
};

double free_up_to_root(fs::path const& mount, fs::path const& group, Names const& names) {
  double least = infinity;
  for (fs::path at = group.relative_path();; at = at.parent_path()) {
    fs::path const directory = mount / at;
    double const limit = number_in(directory / names.limit);
    double const used = number_in(directory / names.used);
    if (limit < infinity && used < infinity) {
      least = std::min(least, std::max(0.0, limit - used + statistic(directory / "memory.stat", names.reclaimable)));
    }
    if (at.empty()) return least;
  }
}

}  // namespace

double control_group_free_bytes(std::string const& groups, std::string const& mount) {
  double least = infinity;
  std::ifstream file(groups);
  // "0::/a/b" of version 2; "7:cpu,memory:/a/b" of version 1.
  for (std::string line; std::getline(file, line);) {
    std::size_t const first = line.find(':');
    std::size_t const second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::string const controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    fs::path const group = line.substr(second + 1);
    if (controllers == ",,") {
      least = std::min(least, free_up_to_root(mount, group, {"memory.max", "memory.current", "inactive_file"}));
    } else if (controllers.find(",memory,") != std::string::npos) {
      least =
          std::min(least, free_up_to_root(fs::path(mount) / "memory", group,
                                          {"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"}));
    }
  }
  return least;
}

}  // namespace tessera
