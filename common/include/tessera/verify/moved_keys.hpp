#pragma once
/// \file
/// What the references of mini-apps that sort share.

#include <cmath>
#include <cstddef>
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

/// Returns a field of `count` elements that were moved, not computed (ExpectedField::moved).
template <class T>
[[nodiscard]] ExpectedField moved(std::string const& name, std::shared_ptr<T> elements, std::size_t count) {
  ExpectedField field{.name = name, .shape = {count}, .value = {}, .scale = {}};
  if (count > 0) field.moved = {name, dtype_of<T>, field.shape, std::move(elements)};
  return field;
}
template <class T>
[[nodiscard]] ExpectedField moved(std::string const& name, std::vector<T> elements) {
  auto const owner = std::make_shared<std::vector<T>>(std::move(elements));
  return moved(name, std::shared_ptr<T>(owner, owner->data()), owner->size());
}

}  // namespace tessera::verify
