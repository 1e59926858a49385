#include "thread_facts.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <string_view>

#include <tessera/core/host_threads.hpp>

extern char** environ;  // NOLINT(readability-redundant-declaration): not every unistd.h declares it

namespace tessera::report {

namespace {

bool is_of_openmp(std::string_view name) {
  static constexpr std::array<std::string_view, 3> prefixes{"OMP_", "GOMP_", "KMP_"};
  return std::ranges::any_of(prefixes, [&](std::string_view prefix) { return name.starts_with(prefix); });
}

// "0-3,8", as taskset and the kernel write it.
std::string list_of(cpu_set_t const& processors) {
  std::string text;
  for (int first = 0; first < CPU_SETSIZE; ++first) {
    if (!CPU_ISSET(first, &processors)) continue;
    int last = first;
    while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &processors)) ++last;
    text += (text.empty() ? "" : ",") + std::to_string(first);
    if (last > first) text += "-" + std::to_string(last);
    first = last;
  }
  return text;
}

}  // namespace

Facts thread_facts() {
  Facts facts;
  facts["processors"] = list_of(host_processors());
  for (char** entry = environ; *entry != nullptr; ++entry) {
    std::string_view const text = *entry;
    std::size_t const equals = text.find('=');
    if (equals == std::string_view::npos || !is_of_openmp(text)) continue;
    facts[std::string(text.substr(0, equals))] = text.substr(equals + 1);
  }
  return facts;
}

std::string thread_text(Facts const& facts) {
  std::string text;
  if (auto const processors = facts.find("processors"); processors != facts.end()) {
    text = "processors " + processors->second + ",";
  }
  for (auto const& [name, value] : facts) {
    if (is_of_openmp(name)) text += (text.empty() ? "" : " ") + name + "=" + value;
  }
  if (text.ends_with(",")) text.pop_back();
  return text;
}

std::string threads_of_device(std::string const& device) {
  if (!device.ends_with(" threads")) return "";
  return device.substr(device.rfind(", ") + 2);
}

}  // namespace tessera::report
