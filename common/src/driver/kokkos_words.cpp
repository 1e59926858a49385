#include "kokkos_words.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>

#include <tessera/core/types.hpp>

namespace tessera {

namespace {

enum class Kind : std::uint8_t { threads, device, choice, truth, libraries };

struct Word {
  std::string_view name;  // "num-threads": --kokkos-num-threads=N and KOKKOS_NUM_THREADS
  Kind kind;
};

constexpr std::array words{Word{"num-threads", Kind::threads},       Word{"device-id", Kind::device},
                           Word{"map-device-id-by", Kind::choice},   Word{"disable-warnings", Kind::truth},
                           Word{"print-configuration", Kind::truth}, Word{"tune-internals", Kind::truth},
                           Word{"tools-libs", Kind::libraries}};

// The largest number of threads that Kokkos' host back ends support (Kokkos_OpenMP_Instance.hpp, MAX_THREAD_COUNT).
constexpr int most_threads = 512;

[[noreturn]] void refuse(std::string const& word, std::string const& value, std::string const& why,
                         std::string const& what_to_do) {
  throw UserError("bad value `" + value + "` for " + word + " (" + why + "); " + what_to_do);
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

void check_threads(std::string const& word, std::string const& value) {
  auto const threads = whole_number(value);
  if (!threads || *threads < 1 || *threads > most_threads) {
    refuse(word, value, "not a whole number of threads from 1 to " + std::to_string(most_threads),
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
      refuse(word, value, why == nullptr ? "it is not a library" : why, "name a Kokkos tool, or leave it out");
    }
    bool is_tool = false;
    for (char const* const entry : {"kokkosp_init_library", "kokkosp_begin_parallel_for", "kokkosp_push_profile_region",
                                    "kokkosp_allocate_data", "kokkosp_parse_args", "kokkosp_request_tool_settings"}) {
      is_tool = is_tool || ::dlsym(library, entry) != nullptr;
    }
    ::dlclose(library);
    if (!is_tool) refuse(word, value, name + " is not a Kokkos tool", "name one, or leave it out");
  }
}

void check_value(Kind kind, std::string const& word, std::string const& value) {
  std::string lower = value;
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  switch (kind) {
    case Kind::threads: check_threads(word, value); break;
    case Kind::device: {
      auto const number = whole_number(value);
      if (!number || *number < 0 || *number > 1'000'000) {
        refuse(word, value, "not a device's number", "write for example " + word + "=0");
      }
      break;
    }
    case Kind::choice:
      if (value != "random" && value != "mpi_rank") {
        refuse(word, value, "it may be random or mpi_rank", "write one of these");
      }
      break;
    case Kind::truth:
      if (std::ranges::count(std::array<std::string_view, 6>{"true", "yes", "1", "false", "no", "0"}, lower) == 0) {
        refuse(word, value, "not true or false", "write " + word + "=true or leave it out");
      }
      break;
    case Kind::libraries: check_libraries(word, value); break;
  }
}

}  // namespace

void check_kokkos_words(std::vector<std::string> const& kokkos_arguments) {
  bool threads_given = false;
  for (Word const& word : words) {
    std::string const option = "--kokkos-" + std::string(word.name);
    for (std::string const& argument : kokkos_arguments) {
      if (argument.substr(0, argument.find('=')) != option) continue;
      threads_given = threads_given || word.kind == Kind::threads;
      if (argument.size() > option.size()) {
        check_value(word.kind, option, argument.substr(option.size() + 1));
      } else if (word.kind != Kind::truth) {
        throw UserError("no value for " + option + " (it needs one); write " + option + "=...");
      }
    }
    std::string variable = "KOKKOS_" + std::string(word.name);
    std::ranges::transform(variable, variable.begin(),
                           [](unsigned char c) { return c == '-' ? '_' : static_cast<char>(std::toupper(c)); });
    char const* const value = std::getenv(variable.c_str());  // NOLINT(concurrency-mt-unsafe): nobody sets it
    if (value == nullptr) continue;
    threads_given = threads_given || word.kind == Kind::threads;
    check_value(word.kind, variable, value);
  }
  // OpenMP ignores text that is not a number. A number that is too large makes Kokkos crash, as above.
  char const* const openmp = std::getenv("OMP_NUM_THREADS");  // NOLINT(concurrency-mt-unsafe)
  if (openmp != nullptr && !threads_given) {
    std::string const value = openmp;
    if (auto const threads = whole_number(value.substr(0, value.find(','))); threads && *threads > most_threads) {
      check_threads("OMP_NUM_THREADS", value);
    }
  }
}

}  // namespace tessera
