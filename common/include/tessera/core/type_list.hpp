#pragma once
/// \file
/// A list of types and a loop over it.

namespace tessera {

template <class... Types>
struct TypeList {};

/// Calls `body.template operator()<Type>()` for each type, in order.
template <class... Types, class Body>
constexpr void for_each_type(TypeList<Types...>, Body&& body) {
  (body.template operator()<Types>(), ...);
}

}  // namespace tessera
