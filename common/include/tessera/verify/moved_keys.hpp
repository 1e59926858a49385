#pragma once
/// \file
/// What the references of mini-apps that sort share.

#include <cmath>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <tessera/core/types.hpp>

namespace tessera::verify {

/// Returns whether key a must come before key b: by value, NaN last.
template <class T>
[[nodiscard]] bool key_before(T a, T b, bool descending) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return !std::isnan(a) && std::isnan(b);
  }
  return descending ? b < a : a < b;
}

/// Returns a field of elements that were moved, not computed (ExpectedField::moved).
template <class T>
[[nodiscard]] ExpectedField moved(std::string const& name, std::vector<T> elements) {
  auto const owner = std::make_shared<std::vector<T>>(std::move(elements));
  ExpectedField field{.name = name, .shape = {owner->size()}, .value = {}, .scale = {}};
  if (!owner->empty()) field.moved = {name, dtype_of<T>, field.shape, {owner, owner->data()}};
  return field;
}

}  // namespace tessera::verify
