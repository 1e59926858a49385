#include "host_memory.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include <tessera/core/host_threads.hpp>

namespace tessera {

namespace {

namespace fs = std::filesystem;

constexpr double infinity = std::numeric_limits<double>::infinity();

// Returns a control group's number; infinity if it says "max", or if there is no such file.
double number_in(fs::path const& path) {
  std::ifstream file(path);
  double number = 0;
  return file >> number ? number : infinity;
}

// Returns the number in the line that begins with that word, or 0.
double statistic(fs::path const& path, std::string const& wanted) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    double number = 0;
    if (words >> name && name == wanted && words >> number) return number;
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

double process_free_bytes(std::string const& status) {
  double const stack = [] {
    struct rlimit limit{};
    bool const is_known = ::getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    return is_known ? static_cast<double>(limit.rlim_cur) : 0x1p23;
  }();
  // A reserve for the driver's threads, and for memory that libraries allocate in addition to the arrays.
  double const reserve = 0x1p26 + stack * static_cast<double>(host_threads());
  double least = infinity;
  auto const count = [&](auto which, std::string const& used) {
    struct rlimit limit{};
    if (::getrlimit(which, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
    least =
        std::min(least, std::max(0.0, static_cast<double>(limit.rlim_cur) - 1024 * statistic(status, used) - reserve));
  };
  count(RLIMIT_AS, "VmSize:");
  count(RLIMIT_DATA, "VmData:");
  return least;
}

double last_level_cache_bytes(std::string const& processors) {
  double total = 0;
  for (int number = 0;; ++number) {
    fs::path const caches = fs::path(processors) / ("cpu" + std::to_string(number)) / "cache";
    std::error_code error;
    if (!fs::exists(caches.parent_path(), error)) return total;
    int last = -1;
    while (fs::exists(caches / ("index" + std::to_string(last + 1)), error)) ++last;
    if (last < 0) continue;
    fs::path const cache = caches / ("index" + std::to_string(last));
    // "0-7,16-23": the processors that share the cache. The cache is counted for the first one.
    if (number_in(cache / "shared_cpu_list") != number) continue;
    if (double const kibibytes = number_in(cache / "size"); kibibytes < infinity)
      total += 1024 * kibibytes;  // "32768K"
  }
}

}  // namespace tessera
