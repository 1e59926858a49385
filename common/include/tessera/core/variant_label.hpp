#pragma once
/// \file
/// The labels of a variant's launches.

#include <string>

namespace tessera {

/// Returns "tessera::<app>::<variant>", to which a launch adds its step.
template <class Problem, class Variant>
[[nodiscard]] std::string label_of() {
  return "tessera::" + std::string(Problem::info.name) + "::" + std::string(Variant::info.name);
}

}  // namespace tessera
