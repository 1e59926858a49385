#pragma once
/// \file
/// The spaces on which tests make mistakes.

#include <string_view>

#include <tessera/core/config.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/type_list.hpp>

namespace tessera::testing {

/// True if this build has rows for a host space with threads.
[[nodiscard]] constexpr bool has_host_threads() {
  bool found = false;
  for_each_type(EnabledSpaces{}, [&]<class Exec>() {
    constexpr std::string_view name = space_name<Exec>();
    if ((name == "openmp" || name == "threads") && is_chosen_space(name)) found = true;
  });
  return found;
}

/// True for the spaces on which tests make mistakes: Serial would run the same source once more, with one thread.
template <ExecutionSpace Exec>
inline constexpr bool shows_mistakes = space_name<Exec>() != "serial" || !has_host_threads();

}  // namespace tessera::testing
