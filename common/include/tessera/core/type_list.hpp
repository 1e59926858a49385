#pragma once
/// \file
/// A list of types and a loop over it.

#include <type_traits>

namespace tessera {

template <class... Types>
struct TypeList {};

/// The types of both lists; for decltype.
template <class... First, class... Second>
TypeList<First..., Second...> operator+(TypeList<First...>, TypeList<Second...>);

/// True if the list has the type.
template <class Type, class... Types>
[[nodiscard]] constexpr bool contains(TypeList<Types...>) {
  return (std::is_same_v<Type, Types> || ...);
}

/// Calls `body.template operator()<Type>()` for each type, in order.
template <class... Types, class Body>
constexpr void for_each_type(TypeList<Types...>, Body&& body) {
  (body.template operator()<Types>(), ...);
}

}  // namespace tessera
