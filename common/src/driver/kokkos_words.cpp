// Kokkos' options and environment variables.

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include <tessera/cli/nearest.hpp>
#include <tessera/cli/sizes.hpp>

#include "plan.hpp"

namespace tessera {

namespace {

// The largest number of threads that Kokkos' host back ends support (Kokkos_OpenMP_Instance.hpp, MAX_THREAD_COUNT).
constexpr int most_threads = 512;

void check_threads(std::string const& word, std::string const& value) {
  auto const threads = to_number<std::int64_t>(value);
  if (!threads || *threads < 1 || *threads > most_threads) {
    bad_value(word, value, "not a whole number of threads from 1 to " + std::to_string(most_threads),
              "write for example " + word + "=4");
  }
}

// Kokkos loads any library as a tool, and crashes if it is not one.
void check_libraries(std::string const& word, std::string const& value) {
  for (std::size_t begin = 0; begin < value.size();) {
    std::size_t const end = std::min(value.find(';', begin), value.size());
    std::string const name = value.substr(begin, end - begin);
    begin = end + 1;
    if (name.empty()) continue;
    void* const library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      char const* const why = ::dlerror();
      bad_value(word, value, why == nullptr ? "it is not a library" : why, "name a Kokkos tool, or leave it out");
    }
    bool is_tool = false;
    for (char const* const entry : {"kokkosp_init_library", "kokkosp_begin_parallel_for", "kokkosp_push_profile_region",
                                    "kokkosp_allocate_data", "kokkosp_parse_args", "kokkosp_request_tool_settings"}) {
      is_tool = is_tool || ::dlsym(library, entry) != nullptr;
    }
    ::dlclose(library);
    if (!is_tool) bad_value(word, value, name + " is not a Kokkos tool", "name one, or leave it out");
  }
}

void check_device(std::string const& word, std::string const& value) {
  auto const number = to_number<std::int64_t>(value);
  if (!number || *number < 0 || *number > 1'000'000) {
    bad_value(word, value, "not the number of a device", "write for example " + word + "=0");
  }
}

void check_choice(std::string const& word, std::string const& value) {
  if (value != "random" && value != "mpi_rank") {
    bad_value(word, value, "it may be random or mpi_rank", "write one of these");
  }
}

void check_truth(std::string const& word, std::string const& value) {
  std::string lower = value;
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (std::ranges::count(std::array<std::string_view, 6>{"true", "yes", "1", "false", "no", "0"}, lower) == 0) {
    bad_value(word, value, "not true or false", "write " + word + "=true or leave it out");
  }
}

struct Word {
  std::string_view name;  // "num-threads": --kokkos-num-threads=N and KOKKOS_NUM_THREADS
  void (*check)(std::string const& word, std::string const& value);
};

constexpr std::array words{Word{"num-threads", check_threads},       Word{"device-id", check_device},
                           Word{"map-device-id-by", check_choice},   Word{"disable-warnings", check_truth},
                           Word{"print-configuration", check_truth}, Word{"tune-internals", check_truth},
                           Word{"tools-libs", check_libraries}};

}  // namespace

void check_kokkos_words(std::vector<std::string> const& kokkos_arguments) {
  bool threads_given = false;
  for (Word const& word : words) {
    std::string const option = "--kokkos-" + std::string(word.name);
    for (std::string const& argument : kokkos_arguments) {
      if (argument.substr(0, argument.find('=')) != option) continue;
      threads_given = threads_given || word.check == check_threads;
      if (argument.size() > option.size()) {
        word.check(option, argument.substr(option.size() + 1));
      } else if (word.check != check_truth) {
        throw UserError("no value for " + option + " (it needs one); write " + option + "=...");
      }
    }
    std::string variable = "KOKKOS_" + std::string(word.name);
    std::ranges::transform(variable, variable.begin(),
                           [](unsigned char c) { return c == '-' ? '_' : static_cast<char>(std::toupper(c)); });
    char const* const value = std::getenv(variable.c_str());  // NOLINT(concurrency-mt-unsafe): nobody sets it
    if (value == nullptr) continue;
    threads_given = threads_given || word.check == check_threads;
    word.check(variable, value);
  }
  // OpenMP ignores text that is not a number. A number that is too large makes Kokkos crash, as above.
  char const* const openmp = std::getenv("OMP_NUM_THREADS");  // NOLINT(concurrency-mt-unsafe)
  if (openmp != nullptr && !threads_given) {
    std::string const value = openmp;
    if (auto const threads = to_number<std::int64_t>(value.substr(0, value.find(',')));
        threads && *threads > most_threads) {
      check_threads("OMP_NUM_THREADS", value);
    }
  }
}

}  // namespace tessera
